"""A run's values by topic, and their means."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pooling.columns import RunColumns
from protocols.measure_names import Measure
from protocols.schema import Average
from scoring.matching import JudgedDocuments
from scoring.measures.registry import KERNELS, Values


class RunScores(NamedTuple):
    """What a run scores against qrels.

    values : (topics, measures) in the order of the qrels' topics and of the measures asked for.
    has_topic : (topics,) whether the run has the topic.
    """

    values: NDArray[np.float64]
    has_topic: NDArray[np.bool_]

    @property
    def n_missing(self) -> int:
        """Topics of the qrels that the run has not."""
        return int((~self.has_topic).sum())

    def averaged(self, average: Average) -> NDArray[np.bool_]:
        """Which topics a mean is taken over: all of the qrels, or those that the run has as well. Shape (topics,)."""
        return self.has_topic if average == "common" else np.ones_like(self.has_topic)

    def means(self, average: Average) -> Values:
        """Mean of each measure; 0.0 if it is over no topic at all. Shape (measures,)."""
        values = self.values[self.averaged(average)]
        # One by one, as trec_eval adds, and not pairwise.
        return np.cumsum(values, axis=0)[-1] / len(values) if len(values) else np.zeros(values.shape[1])


def score_run(
    run: RunColumns, judged: JudgedDocuments, measures: Sequence[Measure], *, depth: int | None = None
) -> RunScores:
    """Score a run, for each topic of the qrels and each measure; 0.0 for a topic that the run has not.

    `depth` cuts every topic of the run before anything is removed.
    """
    hits = judged.hits(run, depth=depth)
    primed = hits.judged_only()
    values = np.empty((judged.n_topics, len(measures)))
    for column, measure in enumerate(measures):
        values[:, column] = KERNELS[measure.family](primed if measure.judged_only else hits, judged, measure)
    return RunScores(values, hits.n_returned > 0)
