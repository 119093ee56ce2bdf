"""Read the files and compute the measures, by topic."""

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.measures.matching import JudgedDocuments
from assay.trec_eval.catalog import MEASURES, Relevance, TrecMeasure
from assay.trec_eval.files import BYTES, TrecRun, read_grouped_qrels, read_qrels, read_run
from assay.trec_eval.options import NOT_COMPUTED, Options, TrecEvalError
from assay.trec_eval.parameters import Parameters, parse_parameters
from assay.trec_eval.ranked import View

RELEVANCE: dict[str, Relevance] = {
    "qrels": "qrels",
    "qrels_jg": "groups",
    "prefs": "preferences",
    "qrels_prefs": "preferences",
}
FORMAT_OF = {"qrels": "qrels", "groups": "-R qrels_jg", "preferences": "-R prefs or -R qrels_prefs"}
# The values of a measure for all topics, by its name and parameters.
Compute = Callable[[str, Parameters], list[Any]]
Reading = tuple[Sequence[str], TrecRun, Compute]  # topics of the first file, sorted by bytes


class Column(NamedTuple):
    """The values of a measure by topic: numbers or text. None for a measure without values of topics."""

    name: str
    measure: TrecMeasure
    values: NDArray[np.float64] | list[str] | None


class Evaluation(NamedTuple):
    """The values of all measures.

    Args:
        topics: the evaluated topics, sorted by bytes.
        tag: the run's tag.
        n_left_out: number of topics of the qrels that are left out because the run does not have them.
    """

    topics: list[str]
    columns: list[Column]
    tag: bytes
    n_left_out: int


def evaluate(options: Options, measures: dict[str, str | None]) -> Evaluation:
    """Read the files and compute the measures, given as names with their parameters.

    Raises TrecEvalError: a file cannot be used, a measure cannot be computed from it, or a parameter is not accepted.
    """
    for name in measures:
        relevance = MEASURES[name].relevance
        if relevance not in ("any", RELEVANCE[options.format]):
            raise TrecEvalError(
                f"measure {name} is computed from {FORMAT_OF[relevance]}, not from -R {options.format}",
                status=NOT_COMPUTED,
            )
    parameters = {
        name: parse_parameters(name, MEASURES[name].kind, MEASURES[name].default, text)
        for name, text in measures.items()
    }
    if RELEVANCE[options.format] == "preferences":
        # not imported with this module: it takes a tenth of a short evaluation
        from assay.trec_eval.preferences import read  # noqa: PLC0415

        all_topics, run, compute = read(options)
    else:
        all_topics, run, compute = _read(options)
    is_counted = (
        np.ones(len(all_topics), dtype=np.bool_) if options.is_complete else run.n_lines(all_topics) > 0
    )
    if options.topic is not None:
        is_counted &= np.array(all_topics) == options.topic.encode(errors="surrogateescape").decode(BYTES)
    columns: list[Column] = []
    for name in measures:
        measure, names = MEASURES[name], parameters[name].names
        if measure.relevance == "any":
            columns.append(Column(name, measure, None))
            continue
        values = compute(name, parameters[name])
        if measure.summary == "none":
            columns.append(Column(names[0], measure, list(compress(values, is_counted.tolist()))))
        else:
            by_topic = zip(names, values, strict=True)
            columns += [Column(of_measure, measure, each[is_counted]) for of_measure, each in by_topic]
    topics = list(compress(all_topics, is_counted.tolist()))
    n_left_out = 0 if options.topic is not None else len(all_topics) - len(topics)
    return Evaluation(topics, columns, run.tag, n_left_out)


def _read(options: Options) -> Reading:
    """A run with the qrels of each group; measures are means over the groups that judged the topic."""
    is_grouped, path = RELEVANCE[options.format] == "groups", options.files[0]
    qrels = read_grouped_qrels(path).values() if is_grouped else [read_qrels(path)]
    groups = [JudgedDocuments(columns) for columns in qrels]
    topics = sorted({code for judged in groups for code in judged.topics.tolist()})
    run = read_run(options.files[1], set(topics))
    views = [View.of(run.columns, judged, options) for judged in groups]
    places = [np.searchsorted(topics, judged.topics) for judged in groups]

    def compute(name: str, parameters: Parameters) -> list[Any]:
        kernel = MEASURES[name].compute
        assert kernel is not None
        if len(views) == 1:
            values: list[Any] = kernel(views[0], parameters)
            return values
        n_groups, totals = np.zeros(len(topics)), [np.zeros(len(topics)) for _ in parameters.names]
        for view, place in zip(views, places, strict=True):
            n_groups[place] += 1
            for total, of_group in zip(totals, kernel(view, parameters), strict=True):
                total[place] += of_group
        return [total / n_groups for total in totals]

    return topics, run, compute
