"""Values of the measures that were asked for, by topic."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pooling.columns import RunColumns
from scoring.matching import JudgedDocuments
from scoring.trec_eval.catalogue import MEASURES, Relevance, TrecMeasure
from scoring.trec_eval.errors import NOT_COMPUTED, TrecEvalError
from scoring.trec_eval.files import (
    BYTES,
    Preference,
    TrecRun,
    read_grouped_qrels,
    read_preferences,
    read_qrels,
    read_qrels_as_preferences,
    read_run,
)
from scoring.trec_eval.grouped import GroupedView, mean_over_groups
from scoring.trec_eval.options import Options
from scoring.trec_eval.parameters import Parameters, parameters
from scoring.trec_eval.preferences import Preferences, preferences_of
from scoring.trec_eval.view import View

WANTED: dict[str, Relevance] = {
    "qrels": "qrels",
    "qrels_jg": "groups",
    "prefs": "preferences",
    "qrels_prefs": "preferences",
}
SAID = {"qrels": "qrels", "groups": "-R qrels_jg", "preferences": "-R prefs or -R qrels_prefs"}


class Column(NamedTuple):
    """A value of a measure for each topic: a number, or text. None for what has no value of a topic."""

    name: str
    measure: TrecMeasure
    values: NDArray[np.float64] | list[str] | None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What was computed.

    topics : those evaluated, sorted by bytes.
    n_left_out : topics of the qrels that the run has not, and that were left out.
    """

    topics: list[str]
    columns: list[Column]
    tag: bytes
    n_left_out: int


class _Reading(NamedTuple):
    """Topics with relevance, how many documents of each the run has, and a way to compute a measure for all."""

    topics: Sequence[str]
    n_returned: NDArray[np.int64]
    compute: Callable[[TrecMeasure, Parameters], list[Any]]
    run: TrecRun


def evaluate(options: Options, asked: dict[str, str | None]) -> Evaluation:
    """Read the files, and compute the measures.

    Raises
    ------
    TrecEvalError
        A file cannot be used, a measure cannot be computed from it, or a parameter is not accepted.
    """
    relevance = WANTED[options.format]
    for name in asked:
        wanted = MEASURES[name].relevance
        if wanted not in ("any", relevance):
            raise TrecEvalError(
                f"measure {name} is computed from {SAID[wanted]}, and not from -R {options.format}",
                status=NOT_COMPUTED,
            )
    taken = {
        name: parameters(name, MEASURES[name].kind, MEASURES[name].default, text)
        for name, text in asked.items()
    }
    reading = {"qrels": _qrels, "groups": _groups, "preferences": _preferences}[relevance](options)
    is_taken = np.ones(len(reading.topics), dtype=np.bool_) if options.is_complete else reading.n_returned > 0
    if options.topic is not None:
        is_taken &= np.array(reading.topics) == options.topic.encode(errors="surrogateescape").decode(BYTES)
    columns = [
        column for name in taken for column in _columns(reading, MEASURES[name], taken[name], is_taken)
    ]
    topics = [topic for topic, taken_too in zip(reading.topics, is_taken.tolist(), strict=True) if taken_too]
    n_left_out = 0 if options.topic is not None else len(reading.topics) - len(topics)
    return Evaluation(topics, columns, reading.run.tag, n_left_out)


def _columns(
    reading: _Reading, measure: TrecMeasure, given: Parameters, is_taken: NDArray[np.bool_]
) -> list[Column]:
    if measure.compute is None:
        return [Column(given.names[0], measure, None)]
    if measure.summary == "none":
        texts = reading.compute(measure, given)
        return [
            Column(given.names[0], measure, [texts[topic] for topic in np.flatnonzero(is_taken).tolist()])
        ]
    values = reading.compute(measure, given)
    return [Column(name, measure, of[is_taken]) for name, of in zip(given.names, values, strict=True)]


def _qrels(options: Options) -> _Reading:
    judged = JudgedDocuments(read_qrels(options.files[0]))
    run = read_run(options.files[1], set(judged.topics.tolist()))
    view = _view(run.columns, judged, options)

    def compute(measure: TrecMeasure, given: Parameters) -> list[Any]:
        assert measure.compute is not None
        values: list[Any] = measure.compute(view, given)
        return values

    return _Reading(judged.topics.tolist(), _n_lines(run.columns, judged.topics.tolist()), compute, run)


def _view(run: RunColumns, judged: JudgedDocuments, options: Options) -> View:
    return View.of(
        run,
        judged,
        level=options.level,
        depth=options.depth,
        is_judged_only=options.is_judged_only,
        n_documents=options.n_documents,
    )


def _n_lines(run: RunColumns, topics: Sequence[str]) -> NDArray[np.int64]:
    """Lines that the run has of each topic, whatever is cut from them or removed."""
    n_lines = dict(zip(run.topics.tolist(), np.diff(run.offsets).tolist(), strict=True))
    return np.array([n_lines.get(topic, 0) for topic in topics], dtype=np.int64)


def _groups(options: Options) -> _Reading:
    groups = [JudgedDocuments(qrels) for qrels in read_grouped_qrels(options.files[0]).values()]
    run = read_run(options.files[1], {code for judged in groups for code in judged.topics.tolist()})
    view = GroupedView([_view(run.columns, judged, options) for judged in groups])

    def compute(measure: TrecMeasure, given: Parameters) -> list[Any]:
        assert measure.compute is not None
        return mean_over_groups(view, measure.compute, given)

    topics = view.topics.tolist()
    return _Reading(topics, _n_lines(run.columns, topics), compute, run)


def _preferences(options: Options) -> _Reading:
    read = read_preferences if options.format == "prefs" else read_qrels_as_preferences
    rated = {topic.decode(BYTES): preferences for topic, preferences in read(options.files[0]).items()}
    run = read_run(options.files[1], rated)
    topics = list(rated)
    n_lines = _n_lines(run.columns, topics)
    rankings = _rankings(run.columns, options.depth)
    compared = [
        _compared(topic, rated[topic], rankings.get(topic, []), is_taken=bool(n or options.is_complete))
        for topic, n in zip(topics, n_lines.tolist(), strict=True)
    ]

    def compute(measure: TrecMeasure, given: Parameters) -> list[Any]:
        assert measure.compute is not None
        values: list[Any] = measure.compute(compared, given)
        return values

    return _Reading(topics, n_lines, compute, run)


def _compared(
    topic: str, rated: Sequence[Preference], ranking: Sequence[bytes], *, is_taken: bool
) -> Preferences:
    """A topic that is left out is not looked at."""
    return preferences_of(topic, rated, ranking) if is_taken else Preferences([], 0)


def _rankings(run: RunColumns, depth: int | None) -> dict[str, list[bytes]]:
    """The documents of each topic. Among preferences, trec_eval puts tied documents in ascending order."""
    offsets = run.offsets.tolist()
    rankings = {}
    for n, topic in enumerate(run.topics.tolist()):
        docno = run.docno[offsets[n] : offsets[n + 1]].tolist()
        score = run.score[offsets[n] : offsets[n + 1]].tolist()
        ordered = sorted(zip(score, docno, strict=True), key=lambda line: (-line[0], line[1]))
        rankings[topic] = [name for _, name in ordered[:depth]]
    return rankings
