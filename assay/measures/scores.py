"""A run's values by topic, and their means."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.formats.runs.columns import Ranked
from assay.measures.matching import JudgedDocuments
from assay.measures.registry import Values, kernel_of
from assay.protocols.measures import FAMILIES, Measure, Summary

if TYPE_CHECKING:
    from assay.protocols.schema import Average  # a hundredth of a second of a command's start

LEAST_OF_GEOMETRIC_MEAN = 1e-5  # a value below counts as this, as in trec_eval: one 0 would make it all 0


class RunScores(NamedTuple):
    """What a run scores against qrels.

    values : (topics, measures) in the order of the qrels' topics and of the measures asked for.
    has_topic : (topics,) whether the run has the topic.
    summaries : how the values of each measure are summed up; by their mean if nothing is said.
    """

    values: NDArray[np.float64]
    has_topic: NDArray[np.bool_]
    summaries: tuple[Summary, ...] = ()

    @property
    def n_missing(self) -> int:
        """Topics of the qrels that the run has not."""
        return int((~self.has_topic).sum())

    def averaged(self, average: "Average") -> NDArray[np.bool_]:
        """Which topics a mean is taken over: all of the qrels, or those that the run has as well. Shape (topics,)."""
        return self.has_topic if average == "common" else np.ones_like(self.has_topic)

    def means(self, average: "Average") -> Values:
        """Mean of each measure, or what stands for it; 0.0 if it is over no topic at all. Shape (measures,)."""
        values = self.values[self.averaged(average)]
        if not len(values):
            return np.zeros(values.shape[1])
        summaries = self.summaries or ("mean",) * values.shape[1]
        is_geometric = np.array([summary == "geometric mean" for summary in summaries], dtype=np.bool_)
        is_sum = np.array([summary == "sum" for summary in summaries], dtype=np.bool_)
        values = np.where(is_geometric, np.log(np.maximum(values, LEAST_OF_GEOMETRIC_MEAN)), values)
        # One by one, as trec_eval adds, and not pairwise.
        total: Values = np.cumsum(values, axis=0)[-1]
        means = np.where(is_sum, total, total / len(values))
        return np.where(is_geometric, np.exp(means, where=is_geometric, out=np.zeros_like(means)), means)


def score_run(
    run: Ranked, judged: JudgedDocuments, measures: Sequence[Measure], *, depth: int | None = None
) -> RunScores:
    """Score a run, for each topic of the qrels and each measure; 0.0 for a topic that the run has not.

    `depth` cuts every topic of the run before anything is removed.
    """
    hits = judged.hits(run, depth=depth)
    primed = hits.judged_only()
    values = np.empty((judged.n_topics, len(measures)))
    for column, measure in enumerate(measures):
        values[:, column] = kernel_of(measure.family)(
            primed if measure.judged_only else hits, judged, measure
        )
    summaries = tuple(FAMILIES[measure.family].summary for measure in measures)
    return RunScores(values, hits.n_returned > 0, summaries)
