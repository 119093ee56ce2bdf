"""The measures: one kernel for each family of `protocols.measure_names`, per topic, before any mean.

Layout: a kernel takes the hits of a run (flat, ordered by topic and rank), the judged documents of the qrels, and
the `Measure` with its level and cutoff; it gives one float64 per topic of the qrels, 0.0 for a topic that the run
has not or that has nothing relevant. A primed measure gets hits that are ranked among themselves; no kernel asks.
A document is relevant from the measure's level; its gain is its grade. Sums run in rank order, as trec_eval's do,
so that values are equal to its last digit; where nothing else is said, a value equals that of trec_eval 10.0.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pooling.columns import RunColumns
from protocols.measure_names import FAMILIES, Measure
from protocols.schema import Average
from scoring.matching import Hits, JudgedDocuments, position_in_topic

Values = NDArray[np.float64]
Kernel = Callable[[Hits, JudgedDocuments, Measure], Values]

KERNELS: dict[str, Kernel] = {}


def kernel(family: str) -> Callable[[Kernel], Kernel]:
    """Register the function that computes a family."""
    if family not in FAMILIES:
        raise ValueError(f"{family} has no line in protocols.measure_names.FAMILIES")

    def register(function: Kernel) -> Kernel:
        KERNELS[family] = function
        return function

    return register


@kernel("nDCG")
def ndcg(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Normalised discounted cumulative gain, of the top k ranks where k is given.

    The discount is log2(rank + 1); the ideal is over all judged documents, the same for a primed measure. The level
    has no part in it.

    Source
    ------
    Järvelin & Kekäläinen (2002), doi:10.1145/582415.582418; equals trec_eval's ndcg and ndcg_cut.
    """
    best = judged.remember(("ideal dcg", measure.k), lambda: _dcg(_top(judged.ideal, measure.k)))
    return _share(_dcg(_top(hits, measure.k)), best)


def _dcg(hits: Hits) -> Values:
    gains = hits.grade / _discounts(int(hits.rank.max(initial=1)))[hits.rank]
    return _sums(hits, gains)


@lru_cache(maxsize=8)
def _discounts(depth: int) -> Values:
    """log2(rank + 1) for ranks up to `depth`; index 0 stands for no rank.

    From the C library, as in trec_eval: NumPy's own log2 differs in the last bit for some ranks.
    """
    return np.array([1.0, *(math.log2(rank + 1) for rank in range(1, depth + 1))])


@kernel("AP")
def average_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Mean over all relevant documents of the precision at the rank of each; one not found counts 0.

    Source
    ------
    Equals trec_eval's map and map_cut.
    """
    relevant = _relevant(_top(hits, measure.k), measure.level)
    n_found = position_in_topic(relevant.topic, judged.n_topics) + 1
    return _share(_sums(relevant, n_found / relevant.rank), judged.n_graded(measure.level))


@kernel("P")
def precision(hits: Hits, _: JudgedDocuments, measure: Measure) -> Values:
    """Relevant documents among the top k, divided by k however few the run has.

    Source
    ------
    Equals trec_eval's P.
    """
    return _counts(_relevant(_top(hits, measure.k), measure.level)) / float(measure.k or 1)


@kernel("R")
def recall(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Share of the relevant documents that stand among the top k.

    Source
    ------
    Equals trec_eval's recall.
    """
    return _share(_counts(_relevant(_top(hits, measure.k), measure.level)), judged.n_graded(measure.level))


@kernel("Rprec")
def r_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Precision at rank R, where R is the number of the topic's relevant documents, however few the run has.

    Source
    ------
    Equals trec_eval's Rprec.
    """
    n_relevant = judged.n_graded(measure.level)
    found = _relevant(_kept(hits, hits.rank <= n_relevant[hits.topic]), measure.level)
    return _share(_counts(found), n_relevant)


@kernel("RR")
def reciprocal_rank(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """1 / rank of the first relevant document, among the top k where k is given.

    Source
    ------
    Equals trec_eval's recip_rank.
    """
    relevant = _relevant(_top(hits, measure.k), measure.level)
    is_first = position_in_topic(relevant.topic, judged.n_topics) == 0
    return _sums(relevant, np.where(is_first, 1.0 / relevant.rank, 0.0))


@kernel("bpref")
def bpref(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Mean over all relevant documents of 1 - min(n, R) / min(N, R), where n judged nonrelevant ones stand above.

    R and N are the topic's relevant and judged nonrelevant documents. Unjudged ones have no part in it, so that the
    primed measure has the same value.

    Source
    ------
    Buckley & Voorhees (2004), doi:10.1145/1008992.1009000, as trec_eval computes bpref.
    """
    is_relevant = hits.grade >= measure.level
    n_relevant, n_nonrelevant = judged.n_graded(measure.level), judged.n_graded(0, measure.level)
    n_above = _running_count(hits, ~is_relevant)
    most = np.minimum(n_relevant, n_nonrelevant)[hits.topic]
    capped = np.minimum(n_above, n_relevant[hits.topic])
    lost = np.divide(capped, most, out=np.zeros(len(hits.topic)), where=is_relevant & (n_above > 0))
    return _share(_sums(hits, np.where(is_relevant, 1.0 - lost, 0.0)), n_relevant)


@kernel("judged")
def judged_share(hits: Hits, _: JudgedDocuments, measure: Measure) -> Values:
    """Judged documents among the top k, divided by k or by what the run has, if that is less.

    Source
    ------
    Equals ir_measures' Judged. trec_eval has no such measure.
    """
    return _share(_counts(_top(hits, measure.k)), np.minimum(hits.n_returned, measure.k or 1))


def _top(hits: Hits, k: int | None) -> Hits:
    """The hits of the top k ranks; all if k is None."""
    return hits if k is None else _kept(hits, hits.rank <= k)


def _relevant(hits: Hits, level: int) -> Hits:
    return _kept(hits, hits.grade >= level)


def _kept(hits: Hits, is_kept: NDArray[np.bool_]) -> Hits:
    return Hits(hits.topic[is_kept], hits.rank[is_kept], hits.grade[is_kept], hits.n_returned)


def _counts(hits: Hits) -> NDArray[np.intp]:
    return np.bincount(hits.topic, minlength=len(hits.n_returned))


def _sums(hits: Hits, terms: Values) -> Values:
    """Sum of the terms of each topic, one by one in rank order. Shape (topics,)."""
    return np.bincount(hits.topic, weights=terms, minlength=len(hits.n_returned)).astype(
        np.float64, copy=False
    )


def _running_count(hits: Hits, is_counted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many counted hits of the topic stand above each hit. Shape (hits,)."""
    above: NDArray[np.int64] = np.cumsum(is_counted) - is_counted
    row = np.arange(len(hits.topic))
    first_row = row - position_in_topic(hits.topic, len(hits.n_returned))
    count: NDArray[np.int64] = above - above[first_row]
    return count


def _share(
    part: NDArray[np.float64] | NDArray[np.int64], whole: NDArray[np.float64] | NDArray[np.int64]
) -> Values:
    """Part by whole for each topic, 0.0 where the whole is nothing."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


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
