"""Scores of a run: by topic, their means over topics and over classes of topics, and rows of a table of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, plural
from assay.formats.compression import read_file
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.runs.columns import Ranked, RunColumns
from assay.formulas.columns import Formulas
from assay.measures.kernels import Values
from assay.measures.matching import Hits, JudgedDocuments
from assay.measures.pooled import Counts
from assay.measures.units import (
    DuplicatesError,
    check_units,
    collapse_instances,
    parse_duplicates,
    read_formulas,
    with_duplicates,
)
from assay.protocols.measures import FAMILIES, Measure, MeasureFamily, Summary
from assay.tables import shown

if TYPE_CHECKING:
    from assay.protocols.schema import Average, Protocol, RunFormat  # importing it takes 10 ms

ALL = "all"  # the topic of means
HEADER = ("run", "topic", "measure", "value")
# Values of labels in this order; others follow by name.
MOST_VALUES = 12  # a label with more values does not group topics
STEPS = ("low", "easy", "medium", "middle", "high", "hard")
# Smaller values count as this, as in trec_eval; a single 0 would make the mean 0.
MIN_OF_GEOMETRIC_MEAN = 1e-5


VISUAL_IDS = "visual-ids"  # runs that name formulas by their visual ids, in any form of lines


class ScoreRow(NamedTuple):
    """One value of a run; `topic` is `all` for the mean."""

    run: str
    topic: str
    measure: str
    value: float

    def cells(self) -> tuple[str, ...]:
        return (self.run, self.topic, self.measure, shown(self.value))


class TopicClass(NamedTuple):
    """The topics that share a value of a label, such as all hard ones; `is_in` is (topics of the qrels,)."""

    label: str
    value: str
    is_in: NDArray[np.bool_]

    @property
    def name(self) -> str:
        """The class in the column of topics of a table of scores."""
        return f"{self.label}={self.value}"

    @property
    def n_topics(self) -> int:
        return int(self.is_in.sum())


class RunScores(NamedTuple):
    """The scores of a run.

    Args:
        values: (topics, measures) in the order of the topics of the qrels, and of the measures.
        has_topic: (topics,) whether the run has the topic.
        summaries: how the values of each measure are summarized over topics; if empty, by their mean.
        pooled: by column, of measures that are ratios of sums: the counts of each topic, and the value of their sums.
    """

    values: NDArray[np.float64]
    has_topic: NDArray[np.bool_]
    summaries: tuple[Summary, ...] = ()
    pooled: Mapping[int, tuple[Counts, Callable[[Counts], Values]]] = {}

    @property
    def n_missing(self) -> int:
        """Number of topics of the qrels that are missing from the run."""
        return int((~self.has_topic).sum())

    def averaged(self, average: "Average") -> NDArray[np.bool_]:
        """(topics,) whether a topic counts in means: all topics ("judged"), or those that the run has ("common")."""
        return self.has_topic if average == "common" else np.ones_like(self.has_topic)

    def means(self, average: "Average") -> Values:
        """(measures,) mean of each measure, or its other summary; 0.0 if no topic counts."""
        values = self.values[self.averaged(average)]
        if not len(values):
            return np.zeros(values.shape[1])
        summaries = self.summaries or ("mean",) * values.shape[1]
        is_geometric = np.array([summary == "geometric mean" for summary in summaries], dtype=np.bool_)
        is_sum = np.array([summary == "sum" for summary in summaries], dtype=np.bool_)
        values = np.where(is_geometric, np.log(np.maximum(values, MIN_OF_GEOMETRIC_MEAN)), values)
        # Added one by one, as in trec_eval, and not pairwise.
        total: Values = np.cumsum(values, axis=0)[-1]
        means = np.where(is_sum, total, total / len(values))
        means = np.where(is_geometric, np.exp(means, where=is_geometric, out=np.zeros_like(means)), means)
        for column, (counts, value_of) in self.pooled.items():
            means[column] = value_of(counts[self.averaged(average)].sum(axis=0)[np.newaxis])[0]
        return means

    def means_over(self, topics: TopicClass, average: "Average") -> Values:
        """(measures,) the summary of each measure over the topics of a class; 0.0 if none of them counts."""
        return RunScores(
            self.values[topics.is_in],
            self.has_topic[topics.is_in],
            self.summaries,
            {column: (counts[topics.is_in], value_of) for column, (counts, value_of) in self.pooled.items()},
        ).means(average)

    def rows(
        self,
        judged: JudgedDocuments,
        measures: Sequence[Measure],
        average: "Average",
        *,
        per_topic: bool,
        run: str = "",
        classes: Sequence[TopicClass] = (),
    ) -> list[ScoreRow]:
        """With `per_topic`, the values of each topic that counts in the means; then all means."""
        values = [(ALL, self.means(average))]
        if per_topic:
            is_averaged = self.averaged(average)
            topics = judged.topics[is_averaged].tolist()
            values = [*zip(topics, self.values[is_averaged], strict=True), *values]
        values += [(topics.name, self.means_over(topics, average)) for topics in classes]
        names = [str(measure) for measure in measures]
        return [
            ScoreRow(run, topic, name, value)
            for topic, of_topic in values
            for name, value in zip(names, of_topic.tolist(), strict=True)
        ]


class Units(NamedTuple):
    """The units that rows of runs count as. With `formulas`, each instance counts as its visually distinct formula."""

    formulas: Formulas | None = None
    formats: Sequence["RunFormat"] = ()  # that runs may have; empty: those of the protocol


class Prepared(NamedTuple):
    """A run ready for scoring, a note on what was changed, and what is probably wrong."""

    ranking: Ranked
    note: str = ""
    problem: str = ""
    n_instances: int = 0  # of formulas
    n_identified: int = 0  # those that have a visual id


class Scored(NamedTuple):
    """The scores of a run, how many topics it has, a note on its units, and why nothing is judged, if so."""

    scores: RunScores
    n_topics: int
    note: str
    problem: str


def score_run(run: Ranked, judged: JudgedDocuments, measures: Sequence[Measure]) -> RunScores:
    """Score a run for each topic of the qrels and each measure.

    Args:
        run: topics that are not in the qrels are ignored.


    Returns:
        RunScores; values are 0.0 for topics that are missing from the run.
    """
    return score_hits(judged.hits(run), judged, measures)


def score_hits(hits: Hits, judged: JudgedDocuments, measures: Sequence[Measure]) -> RunScores:
    """Score the judged documents of a run, as `score_run` does."""
    primed = hits.judged_only()
    values, pooled = np.empty((judged.n_topics, len(measures))), {}
    for column, measure in enumerate(measures):
        ranked = primed if measure.judged_only else hits
        family = FAMILIES[measure.family]
        compute = FAMILIES.function(family.name, family.compute)
        if family.counts:
            counts = FAMILIES.function(family.name, family.counts)(ranked, judged, measure)
            pooled[column] = _of_topics(counts, judged, family, family.counts, "row of numbers"), compute
            result = compute(counts)
        else:
            result = compute(ranked, judged, measure)
        values[:, column] = _of_topics(result, judged, family, family.compute, "number")
    summaries = tuple(FAMILIES[measure.family].summary for measure in measures)
    return RunScores(values, hits.n_returned > 0, summaries, pooled)


def _of_topics(
    result: object, judged: JudgedDocuments, family: MeasureFamily, reference: str, of_each: str
) -> NDArray[np.float64]:
    """Return the result of a kernel, which must have a number, or a row of numbers, for each topic.

    Raises ExtensionError: the result is something else.
    """
    if isinstance(result, np.ndarray) and result.dtype.kind in "biuf":
        if result.ndim == (1 if of_each == "number" else 2) and len(result) == judged.n_topics:
            return result
        got = f"shape {result.shape}"
    else:
        got = repr(result)
    expected = f"an array with a {of_each} for each of the {judged.n_topics} topics of the qrels"
    raise FAMILIES.error(family.name, f"{reference} must return {expected}, got {got}")


def classes_of(topics: Sequence[str], labels: Mapping[str, Mapping[str, str]]) -> list[TopicClass]:
    """The classes of some topics, label by label. Topics without a value are in no class of the label.

    Args:
        labels: by label, the value of each topic.
    """
    classes = []
    for label, values in labels.items():
        of_topics = np.array([values.get(code, "") for code in topics], dtype=np.str_)
        names = sorted(set(of_topics.tolist()) - {""}, key=step_or_name)
        classes += [TopicClass(label, name, of_topics == name) for name in names]
    return classes


def read_units(protocol: "Protocol", units: str | None, paths: Sequence[Path]) -> Units:
    """The units that runs are scored by.

    Args:
        units: "distinct", "instances" or "visual-ids"; None for the units of the protocol.
        paths: formula indexes and id maps.

    Raises InputError: an index cannot be used, or distinct formulas need one and none is given.
    """
    if units == VISUAL_IDS:
        own: Sequence[RunFormat] = () if protocol.runs.columns is None else ("columns",)
        return Units(formats=(*own, "arqmath-5", "arqmath-6", "trec-6"))
    if units == "instances" or not (units or protocol.scoring.collapse_instances):
        return Units()
    how = "name the formula index or id map with --formulas, or use --units instances or --units visual-ids"
    check_units(protocol, has_formulas=bool(paths), how=how)
    if not paths:
        raise InputError(f"--units distinct: {how}")
    return Units(read_formulas(paths))


EVERY = "every value is 0"


def prepare(run: RunColumns, formulas: Formulas | None) -> Prepared:
    """The run with its instances replaced by distinct formulas; as it is, without formulas."""
    if formulas is None:
        return Prepared(run)
    columns, n_skipped = collapse_instances(run, formulas)
    note = f"{plural(len(run), 'instance')}, {plural(len(columns), 'distinct formula')}"
    if n_skipped:
        note += f", {plural(n_skipped, 'instance')} without a visual id skipped"
    problem = ""
    if n_skipped == len(run) > 0:
        problem = (
            f"none of its formulas, such as {run.docno[0].decode()}, has a visual id, {EVERY}; "
            "if the run has visual ids, use --units visual-ids"
        )
    return Prepared(columns, note, problem, len(run), len(run) - n_skipped)


def score_prepared(run: Prepared, judged: JudgedDocuments, measures: Sequence[Measure]) -> Scored:
    """Score a run that is read from a file, and find out why none of its documents is judged, if so."""
    hits = judged.hits(run.ranking)
    scores = score_hits(hits, judged, measures)
    problem = ""
    # Nuggets are judged in answers, and the other measures of answers count judged citations.
    zero = [
        str(measure)
        for measure, values in zip(measures, scores.values.T, strict=True)
        if FAMILIES[measure.family].qrels != "nuggets" and not values.any()
    ]
    if zero and not len(hits.topic):
        problem = run.problem or _why_unjudged(run, judged)
        if len(zero) < len(measures):
            problem = problem.replace(EVERY, f"every value of {', '.join(zero)} is 0")
    return Scored(scores, len(run.ranking.topics), run.note, problem)


def _why_unjudged(run: Prepared, judged: JudgedDocuments) -> str:
    """Return why nothing of a run is judged, with an id of each side; empty if one side is empty.

    For distinct formulas, it also says how many ids each side has: maps of different years number formulas differently.
    """
    ranking = run.ranking
    if not len(ranking.docno) or not len(judged.topic):
        return ""
    in_run = {code: n for n, code in enumerate(ranking.topics.tolist())}
    common = [code for code in judged.topics.tolist() if code in in_run]
    if not common:
        reason = (
            f"none of its topics is in the qrels, {EVERY}; "
            f"the run has {ranking.topics[0]}, the qrels have {judged.topics[0]}"
        )
    else:
        mine = ranking.docno[ranking.offsets[in_run[common[0]]]].decode()
        other = judged.docno[np.searchsorted(judged.topic, judged.topics.tolist().index(common[0]))].decode()
        reason = (
            f"none of its documents is judged, {EVERY}; for topic {common[0]}, "
            f"the run has {mine}, the qrels have {other}"
        )
    if not run.n_identified:
        return reason
    ours, theirs = np.unique(ranking.docno), np.unique(judged.docno)
    n_common = len(np.intersect1d(ours, theirs))
    return (
        f"{reason}; {run.n_identified:,} of its {run.n_instances:,} formulas have a visual id: "
        f"{plural(len(ours), 'different id')}; the qrels have {len(theirs):,}, of which {n_common:,} are in the run, "
        "for other topics; check that both number formulas alike"
    )


def judged_documents(qrels: QrelsColumns, path: str | None) -> JudgedDocuments:
    """The qrels for scoring, with the near-duplicates of a file if there is one.

    Raises InputError: the file cannot be used.
    """
    group = None
    if path:
        try:
            qrels, group = with_duplicates(qrels, parse_duplicates(read_file(path)))
        except DuplicatesError as error:
            raise InputError(f"{path}: {error}") from None
    return JudgedDocuments(qrels, group)


def are_words(values: Set[str]) -> bool:
    """Return True if the values of a label group topics: a few words, and not numbers."""
    return 1 < len(values) <= MOST_VALUES and not all(value.replace(".", "").isdecimal() for value in values)


def step_or_name(value: str) -> tuple[int, str]:
    """Sorts the values of a label: steps such as low and high in their order, others after them by name."""
    step = value.casefold()
    return (STEPS.index(step) if step in STEPS else len(STEPS), value)


def as_json(rows: Iterable[ScoreRow]) -> str:
    """A list of objects, one per line; values have all their digits."""
    import json  # noqa: PLC0415 - tables do not need it

    lines = [json.dumps(row._asdict(), ensure_ascii=False) for row in rows]
    return "[\n" + ",\n".join(lines) + "\n]\n"
