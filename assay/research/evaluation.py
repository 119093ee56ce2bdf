"""Qrels and runs from files or memory, and their scores: by run, by topic, and by class of topics."""

import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple, get_args
from typing import Protocol as Protocolled

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, InputWarning, plural
from assay.formats.compression import names_of_files
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.qrels.reader import GradeScale, QrelsForm, read_qrels
from assay.formats.runs.columns import RunColumns
from assay.formats.runs.reader import read_run
from assay.formats.text import listed
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import (
    VISUAL_IDS,
    RunScores,
    Scored,
    ScoreRow,
    TopicClass,
    Units,
    are_words,
    classes_of,
    judged_documents,
    prepare,
    read_units,
    score_prepared,
)
from assay.measures.ties import TieRange, check_measures, tie_range
from assay.plots import Interval, groups, intervals
from assay.processes import map_forked, processors
from assay.protocols.loader import load_protocol
from assay.protocols.measures import FAMILIES, Measure, QrelsKind, parse_measures, qrels_of
from assay.protocols.schema import Average, Protocol, RunFormat
from assay.random_draws import stream_starts
from assay.research.results import Figure, Result
from assay.tables import Table

SMALL = 2 << 20  # bytes; starting a second process takes longer than reading fewer bytes
Labels = Mapping[str, Mapping[str, str]]  # by topic, then by label
MOST_BARS = 5  # runs whose bars have a color each
DEEPEST = 10**9  # ranks per topic of a run without a protocol
FORMATS: tuple[RunFormat, ...] = ("trec-6", "arqmath-5")

PathLike = str | Path


class NamedColumns(Protocolled):
    """A table whose columns have names, as those of pandas, polars and Arrow."""

    def __getitem__(self, name: object, /) -> Any: ...


# A path, `{topic: {docno: number}}`, a table, named tuples, or a run or qrels of ranx
Values = PathLike | Mapping[Any, Any] | Iterable[Any] | NamedColumns
# The values of a run, a list of paths, or values by the name of the run
Runs = Values | Sequence[PathLike] | Mapping[str, Values]
Names = str | Measure | Iterable[str | Measure]


@cache
def without_protocol() -> Protocol:
    """The rules for files if no protocol is named: runs in lines of any depth, and any grade."""
    adhoc = load_protocol("trec-adhoc")
    return replace(adhoc, slug="", runs=replace(adhoc.runs, formats=FORMATS, max_ranks=DEEPEST))


def protocol_of(protocol: str | Path | Protocol | None) -> Protocol:
    """A protocol by its slug, or by the path of its file; without one, the usual files are read."""
    if protocol is None:
        return without_protocol()
    return protocol if isinstance(protocol, Protocol) else load_protocol(str(protocol))


def measures_of(names: Names, protocol: Protocol) -> list[Measure]:
    """The measures with some names, or those of the protocol.

    Raises:
        InputError: A name is not a measure, or there are no names and no protocol.
    """
    given = [names] if isinstance(names, (str, Measure)) else list(names)
    if not given and not protocol.slug:
        raise InputError("name the measures, such as nDCG@10, or a protocol, which has its own")
    return list(parse_measures(map(str, given) if given else protocol.scoring.measures))


def qrels_from_any(
    qrels: Values, protocol: Protocol, *, scale: int = 1, kind: QrelsKind = "grades"
) -> QrelsColumns:
    """Qrels of a file or from memory, with every grade multiplied by `scale`; `kind` is that of the measures.

    Raises:
        InputError: They cannot be read, or have errors; the message has the first ones.
    """
    has_scale = bool(protocol.slug)
    if isinstance(qrels, (str, Path)):
        return read_qrels(str(qrels), protocol, scale=scale, kind=kind, has_scale=has_scale)
    from assay.formats.values import qrels_from, subtopics_from  # noqa: PLC0415 -- commands only read files

    if kind == "subtopics":
        return subtopics_from(qrels)
    if kind != "grades":
        columns = QrelsForm.for_kind(kind).title
        raise InputError(
            f"these measures need qrels with {kind}, which only files have; give a file of {columns}"
        )
    return qrels_from(qrels, grades=GradeScale.of(protocol, scale) if has_scale else None, scale=scale)


def named_runs(runs: Runs) -> dict[str, Any]:
    """The values of each run by its name.

    Files are named by `names_of_files`, and a single run from memory is called run.

    Raises:
        InputError: There are no runs, or they have no names.
    """
    named: dict[str, Any] = {"run": runs}
    if isinstance(runs, (str, Path)):
        runs = [runs]
    if isinstance(runs, Mapping):
        from assay.formats.values import is_nested  # noqa: PLC0415 -- commands only read files

        if not is_nested(runs):
            named = {str(name): run for name, run in runs.items()}
    elif (
        isinstance(runs, Sequence)
        and not hasattr(runs, "_fields")
        and (not runs or not hasattr(runs[0], "_fields"))
    ):
        named = named_files(
            runs, "a run of a list is a {}, which has no name; give runs from memory as {{name: run}}"
        )
        paths = list(map(str, runs))
        if repeated := {path for path in paths if paths.count(path) > 1}:
            raise InputError(f"{min(repeated)}: the run is given twice; give each run once")
    if not named:
        raise InputError("there are no runs; give at least one")
    return named


def named_files(paths: Sequence[Values], refusal: str) -> dict[str, Values]:
    """The paths of a list by the names of their files; other values are refused, with their class in the message."""
    for path in paths:
        if not isinstance(path, (str, Path)):
            raise InputError(refusal.format(type(path).__name__))
    return {name: path for path, name in names_of_files(list(map(str, paths))).items()}


def run_from_any(run: Values, name: str, protocol: Protocol, formats: Sequence[RunFormat] = ()) -> RunColumns:
    """A run of a file or from memory. `formats` of files are accepted instead of those of the protocol.

    Raises:
        InputError: It cannot be read, or has errors; the message has the first one.
    """
    if isinstance(run, (str, Path)):
        return read_run(str(run), protocol, formats)
    from assay.formats.values import run_from  # noqa: PLC0415 -- commands only read files

    return run_from(run, protocol, name=name)


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """The way of scoring runs; the fields are options of commands and arguments of functions.

    Args:
        protocol: slug of a shipped protocol or path of a TOML file; None: usual files, and measures must be named.
        average: topics to average over: "judged", all of the qrels; or "common", those that every run has.
        level: the lowest grade that counts as relevant.
        units: "distinct", "instances" or "visual-ids".
        formulas: formula indexes and maps of visual ids.
        duplicates: path of a file of near-duplicates.
        ignore_topic_documents: leave out documents with the id of their topic.
    """

    protocol: str | Path | Protocol | None = None
    average: Average | None = None
    level: int | None = None
    units: str | None = None
    formulas: Sequence[PathLike] = ()
    duplicates: PathLike | None = None
    ignore_topic_documents: bool = False

    def __post_init__(self) -> None:
        for name, value, accepted in (
            ("average", self.average, get_args(Average)),
            ("units", self.units, ("distinct", "instances", VISUAL_IDS)),
        ):
            if value is not None and value not in accepted:
                raise InputError(f"{name} {value!r}: use {' or '.join(accepted)}")

    @property
    def rules(self) -> Protocol:
        """The protocol with what the other fields change in it."""
        rules = protocol_of(self.protocol)
        if self.ignore_topic_documents:
            rules = replace(rules, runs=replace(rules.runs, topic_documents="ignore"))
        return rules

    def read_units(self, protocol: Protocol) -> Units:
        """The units that runs are scored by."""
        return read_units(protocol, self.units, [Path(path) for path in self.formulas])

    @property
    def duplicates_path(self) -> str | None:
        return None if self.duplicates is None else str(self.duplicates)


class Request(NamedTuple):
    """The rules and qrels by which a run is scored."""

    protocol: Protocol
    judged: JudgedDocuments
    measures: list[Measure]
    units: Units
    ties: bool = False

    def score(self, named: tuple[str, Values]) -> tuple[Scored, TieRange | None]:
        """The scores of the values of a run, which come with its name, and, if wanted, over the orders of its ties."""
        name, values = named
        run = run_from_any(values, name, self.protocol, self.units.formats)
        prepared = prepare(run, self.units.formulas)
        scored = score_prepared(prepared, self.judged, self.measures)
        if not self.ties:
            return scored, None
        return scored, tie_range(self.judged.hits(prepared.ranking), self.judged, self.measures)


def measure_names() -> list[str]:
    """The names of all measures, as `assay.evaluate` takes them; parameters are in the reference of measures.

    >>> [name for name in measure_names() if name.startswith("nDCG")]
    ['nDCG']
    """
    return list(FAMILIES)


def evaluate(
    qrels: Values,
    runs: Runs,
    measures: Names = (),
    *,
    protocol: PathLike | Protocol | None = None,
    average: Average | None = None,
    units: str | None = None,
    formulas: Sequence[PathLike] = (),
    scale: int = 1,
    duplicates: PathLike | None = None,
    ignore_topic_documents: bool = False,
    labels: PathLike | Labels | None = None,
    label: Sequence[str] = (),
    folds: int | None = None,
    seed: int = 1,
    ties: bool = False,
    processes: int | None = None,
    progress: Callable[[int], None] = lambda n: None,
) -> "Evaluation":
    """Score runs with qrels, as `assay evaluate` does.

    Args:
        qrels: a path, `{topic: {docno: grade}}`, a table with columns such as query_id, doc_id and relevance, or named
            tuples.
        runs: a path or a list of them; or `{name: run}`, where a run is a path, `{topic: {docno: score}}`, a table or
            named tuples; or the values of a single run.
        measures: names such as "nDCG@10"; by default, those of the protocol.
        protocol: slug of a shipped protocol or path of a TOML file. None: runs in the columns of TREC or ARQMath, and
            any grade; then the measures must be named.
        average: "judged", over all topics of the qrels, where a missing topic counts 0; or "common", over the topics
            that the run has. By default as the protocol says, or "judged".
        units: "distinct", "instances" or "visual-ids", for formulas; `formulas` are the indexes that identify them.
        scale: every grade is multiplied by it, so that fractions become whole numbers.
        duplicates: a file of near-duplicates of judged documents.
        ignore_topic_documents: leave out documents with the id of their topic, as BEIR does for ArguAna and Quora.
        labels, label: labels of topics, as a file or `{topic: {label: value}}`, and those that give means of classes.
        folds, seed: split the topics at random into so many folds, which are classes, and so are the topics outside of
            each. The same seed gives the same folds.
        ties: also give the lowest, the expected and the highest value over the orders of documents with equal scores.
        processes: by default, one for each processor if files are large and this process has no other threads.
        progress: called with the number of runs that are begun.

    Raises:
        InputError: Something cannot be used: the message says what, and what is accepted.
    """
    if scale < 1:
        raise InputError(f"scale {scale}: use a whole number from 1")
    scoring = Scoring(
        protocol=protocol,
        average=average,
        units=units,
        formulas=formulas,
        duplicates=duplicates,
        ignore_topic_documents=ignore_topic_documents,
    )
    rules = scoring.rules
    parsed, named = measures_of(measures, rules), named_runs(runs)
    scored_units = scoring.read_units(rules)
    if ties:
        check_measures(parsed)
    columns = qrels_from_any(qrels, rules, scale=scale, kind=qrels_of(parsed))
    request = Request(rules, judged_documents(columns, scoring.duplicates_path), parsed, scored_units, ties)
    topics = request.judged.topics.tolist()
    classes = [] if labels is None else _classes(labels, label, topics, rules)
    if folds is not None:
        classes = [*classes, *_folds(topics, folds, seed)]
    if len(named) > 1:
        _ = request.judged.table  # made once, for all processes
    results = map_forked(
        request.score,
        list(named.items()),
        processes=processes or processes_for(named.values()),
        refusals=InputError,
        started=progress,
    )
    scored = [result for result, _ in results]
    for name, result in zip(named, scored, strict=True):
        if result.problem:
            warnings.warn(f"{name}: {result.problem}", InputWarning, stacklevel=2)
    counted = average or rules.scoring.average
    warn_of_missing(topics, [result.scores for result in scored], counted)
    return Evaluation(
        list(named),
        parsed,
        counted,
        request.judged,
        scored,
        classes,
        needs_duplicates=rules.scoring.duplicates_are_false_alarms and duplicates is None,
        ranges=[tie for _, tie in results if tie is not None],
    )


def processes_for(runs: Iterable[Values]) -> int:
    """The number of processes for some runs: one for each processor if their files are large."""
    files = [Path(values) for values in runs if isinstance(values, (str, Path))]
    size = sum(file.stat().st_size for file in files if file.is_file())
    is_parallel = size > SMALL and threading.active_count() == 1  # a notebook's threads must not be copied
    return processors() if is_parallel else 1


def warn_of_missing(topics: Sequence[str], scored: Sequence[RunScores], average: Average) -> None:
    """Warn of topics of the qrels that are in none of the runs, such as a misspelled one, if they count as 0."""
    has_topic = np.any([scores.has_topic for scores in scored], axis=0)
    missing = [topic for topic, is_there in zip(topics, has_topic.tolist(), strict=True) if not is_there]
    if missing and len(missing) < len(topics) and average == "judged":
        n_missing = plural(len(missing), "topic of the qrels is,topics of the qrels are")
        warnings.warn(
            f"{n_missing} in no run and counted as 0: {listed(missing)}", InputWarning, stacklevel=3
        )


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Result):
    """The scores of some runs. Its tables are `runs`, `topics`, with labels or folds `classes`, and `ties`.

    Args:
        names: of the runs.
        measures: their names are `str(measure)`.
        scored: of each run.
        needs_duplicates: the protocol counts near-duplicates as not relevant, but no file names them.
        ranges: of each run, the scores over the orders of its ties, if they are wanted.
    """

    names: list[str]
    measures: list[Measure]
    average: Average
    judged: JudgedDocuments
    scored: list[Scored]
    of_classes: list[TopicClass]
    needs_duplicates: bool = False
    ranges: Sequence[TieRange] = ()

    @property
    def topics(self) -> list[str]:
        """The codes of the topics of the qrels."""
        codes: list[str] = self.judged.topics.tolist()
        return codes

    @property
    def values(self) -> NDArray[np.float64]:
        """(runs, topics, measures) values; 0.0 for topics that are missing from a run."""
        return np.array([run.scores.values for run in self.scored])

    @property
    def means(self) -> NDArray[np.float64]:
        """(runs, measures) means, or other summaries, over the topics that count."""
        return np.array([run.scores.means(self.average) for run in self.scored])

    @property
    def notes(self) -> list[str]:
        """(runs,) the topics that the means of each run are taken over, in words."""
        notes = []
        for run in self.scored:
            n_averaged = int(run.scores.averaged(self.average).sum())
            n_common = int(run.scores.has_topic.sum())
            n_missing, n_extra = run.scores.n_missing, run.n_topics - n_common
            text = (
                f"averaged over {plural(n_averaged, 'topic')}; {n_missing} of the qrels missing from the run"
            )
            if n_missing:
                text += ", counted as 0" if self.average == "judged" else ", left out"
            if n_extra:
                text += f"; {n_extra} of the run not in the qrels, ignored"
            notes.append(text + (f"; {run.note}" if run.note else ""))
        return notes

    def rows(self, *, per_topic: bool) -> list[ScoreRow]:
        """One row for each value: of topics if wanted, then means, then means of classes; run by run.

        Those over the orders of ties follow, with the measure as `AP[lowest]`.
        """
        rows: list[ScoreRow] = []
        for place, (name, run) in enumerate(zip(self.names, self.scored, strict=True)):
            ranges = self.ranges[place]._asdict() if self.ranges else {}
            for which, scores in {"": run.scores, **ranges}.items():
                of_run = scores.rows(
                    self.judged,
                    self.measures,
                    self.average,
                    per_topic=per_topic,
                    run=name,
                    classes=self.of_classes,
                )
                rows += (
                    [row._replace(measure=f"{row.measure}[{which}]") for row in of_run] if which else of_run
                )
        return rows

    @cached_property
    def tables(self) -> list[Table]:
        """Means of each run; values of each run and topic; and means of each run and class."""
        columns = tuple(map(str, self.measures))
        average = "all topics of the qrels" if self.average == "judged" else "the topics that the run has"
        means = [
            (name, int(run.scores.averaged(self.average).sum()), run.scores.n_missing, *row)
            for name, run, row in zip(self.names, self.scored, self.means.tolist(), strict=True)
        ]
        topics = [
            (name, topic, *row)
            for name, run in zip(self.names, self.scored, strict=True)
            for topic, row, counts in zip(
                self.topics,
                run.scores.values.tolist(),
                run.scores.averaged(self.average).tolist(),
                strict=True,
            )
            if counts
        ]
        classes = [
            (name, group.name, group.n_topics, *run.scores.means_over(group, self.average).tolist())
            for name, run in zip(self.names, self.scored, strict=True)
            for group in self.of_classes
        ]
        tables = [
            Table(
                "runs",
                f"means over {average}; missing are topics of the qrels that the run lacks",
                ("run", "topics", "missing", *columns),
                means,
            ),
            Table("topics", "values by topic", ("run", "topic", *columns), topics),
        ]
        if classes:
            tables.append(
                Table("classes", "means by class of topics", ("run", "class", "topics", *columns), classes)
            )
        if self.ranges:
            means = [
                (name, column, *(float(scores.means(self.average)[place]) for scores in tie))
                for name, tie in zip(self.names, self.ranges, strict=True)
                for place, column in enumerate(columns)
            ]
            title = "means over the orders of documents with equal scores"
            tables.append(Table("ties", title, ("run", "measure", *TieRange._fields), means))
        return tables

    def plot(self, measure: str | None = None) -> Figure:
        """The mean of each run: one group of bars for each measure, or a row for each run, best first.

        Args:
            measure: the name of the measure of the rows. By default, groups of bars for up to five runs, and the first
                measure for more, whose bars would be too many to have colors of their own.

        Raises:
            InputError: The runs were not scored by this measure.
        """
        if measure is not None or len(self.names) > MOST_BARS:
            return self._rows_of_runs(measure)
        series = list(zip(self.names, self.means.tolist(), strict=True))
        return Figure(
            groups(
                "runs",
                "Means of the runs",
                list(map(str, self.measures)),
                series,
                across="Measure",
                up="Mean",
            )
        )

    def _rows_of_runs(self, measure: str | None) -> Figure:
        names = list(map(str, self.measures))
        if measure is not None and measure not in names:
            raise InputError(f"there is no measure {measure!r}; use {', '.join(names)}")
        place = 0 if measure is None else names.index(measure)
        means = sorted(zip(self.means[:, place].tolist(), self.names, strict=True), key=lambda row: -row[0])
        rows = [Interval(name, mean, None, None) for mean, name in means]
        return Figure(intervals("runs", f"{names[place]} of the runs", rows, across=names[place]))


def _folds(topics: Sequence[str], n: int, seed: int) -> list[TopicClass]:
    """The topics of each fold, and those outside of it."""
    if len(topics) < 2:
        raise InputError(f"folds need at least 2 topics, got {len(topics)}")
    if not 2 <= n <= len(topics):
        raise InputError(f"folds {n}: use a number from 2 to {len(topics)}, the number of topics")
    start = stream_starts(seed, [(code.encode(), b"fold") for code in topics])
    fold = np.empty(len(topics), dtype=np.int64)
    fold[np.argsort(start, kind="stable")] = np.arange(len(topics)) % n
    pairs = [(str(number + 1), fold == number) for number in range(n)]
    return [
        *(TopicClass("fold", number, is_in) for number, is_in in pairs),
        *(TopicClass("not-fold", number, ~is_in) for number, is_in in pairs),
    ]


def _classes(
    labels: PathLike | Labels, chosen: Sequence[str], topics: Sequence[str], protocol: Protocol
) -> list[TopicClass]:
    """The classes of topics by the chosen labels of a file, or else by the topic classes of the protocol.

    If the topics have none of these labels, by all labels with a few values that are words.
    """
    place, of_topics = "labels", labels
    if isinstance(of_topics, (str, Path)):
        from assay.formats.topics.reader import read_labels  # noqa: PLC0415 -- slow to import, and rarely needed

        place = str(of_topics)
        of_topics = read_labels(Path(place).read_bytes(), Path(place).name)
    known = {code: of_topics[code] for code in topics if code in of_topics}
    if not known:
        raise InputError(
            f"{place}: no label is for a topic of the qrels; the labels are for {listed(list(of_topics), 2)}, the "
            f"qrels have {listed(topics, 2)}"
        )
    names = dict.fromkeys(name for of_topic in known.values() for name in of_topic)
    missing = [name for name in chosen if name not in names]
    if missing:
        raise InputError(f"{place}: no label {missing[0]!r}; the labels are {', '.join(names)}")
    values = {name: {code: of_topic.get(name, "") for code, of_topic in known.items()} for name in names}
    by_class = {name.casefold(): name for name in values}
    kept = chosen or [by_class[name] for name in protocol.scoring.topic_classes if name in by_class]
    kept = kept or [name for name in names if are_words(set(values[name].values()) - {""})]
    return classes_of(topics, {name: values[name] for name in kept})
