"""The cost of a pool before it is built: its size at every depth, by topic, and the hours of judging.

A depth is that of the kind of run that is pooled deepest. The depths of the other kinds are in the proportion of the
protocol, or of the depths that are asked for, rounded up: 20 and 10 become 15 and 8 at depth 15. One pass over the runs
finds the smallest depth at which each unit is pooled. For near-duplicates this is exact if all kinds have the same
depth. For `round-robin-until`, a depth is the last rank that is taken from every run, and no topic is taken further
than the target of the protocol.

The default times per judgment are the published ones: 83.3 s for an answer, 39.5 s for a formula.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.formats.runs.columns import RunColumns
from assay.formulas.columns import Formulas
from assay.pools.answers import pool_answers
from assay.pools.depth import PooledUnits, reach_of_rows, round_robin_reach, top_k, within
from assay.pools.distinct_formulas import pool_distinct, reach_of_distinct
from assay.pools.near_duplicates import join_duplicates
from assay.pools.strategies import (
    ByTopic,
    Material,
    PoolError,
    PoolInput,
    are_among,
    check_passages,
    coded_runs,
    depths_of,
    has_members,
    with_depth,
)
from assay.protocols.pair_rules import figures_of
from assay.protocols.schema import PairRules, Protocol
from assay.protocols.strategies import POOL_STRATEGIES

SECONDS_PER_ANSWER, SECONDS_PER_FORMULA = 83.3, 39.5
DEFAULT_DEPTH = 100  # of a curve, unless the protocol's depth is larger
MAX_DEPTH = 100_000  # of any curve: each depth has a size for each topic


@dataclass(frozen=True, slots=True)
class Preview:
    """The sizes of a pool at depths from 1.

    Args:
        topics: (t,) codes, sorted by bytes.
        sizes: (depths, t) units of each topic at depth i + 1.
        depths: the depth of each kind of run that is pooled, of the protocol or as asked; empty if it has none.
        judges: mean number of judgments per unit.
    """

    topics: NDArray[np.str_]
    sizes: NDArray[np.int64]
    depths: Mapping[str, int]
    judges: float

    @property
    def totals(self) -> NDArray[np.int64]:
        """(depths,) units of all topics."""
        total: NDArray[np.int64] = self.sizes.sum(axis=1)
        return total

    def hours(self, seconds: float) -> NDArray[np.float64]:
        """(depths,) hours of judging, with that many seconds per judgment."""
        return self.totals.astype(np.float64) * (self.judges * seconds / 3600)

    def deepest_within(self, hours: float, seconds: float) -> int:
        """The greatest depth whose pool can be judged in that many hours; 0 if there is none."""
        return int(np.searchsorted(self.hours(seconds), hours, side="right"))

    def depth_by_kind(self, depth: int) -> dict[str, int]:
        """The argument `depth` of `build_pool` for the pool of one of the depths."""
        return depth_by_kind(self.depths, depth)


def usual_seconds(protocol: Protocol) -> float:
    """The published time per judgment of this kind of unit."""
    return SECONDS_PER_FORMULA if "formula" in protocol.unit else SECONDS_PER_ANSWER


def judgments_per_unit(protocol: Protocol) -> float:
    """Mean number of judgments per unit: one of each judge, and those of the topics that are judged twice."""
    return protocol.judging.judges + protocol.judging.dual_share


def depth_by_kind(depths: Mapping[str, int], depth: int) -> dict[str, int]:
    """The depth of each kind of run if the deepest kind has depth `depth`: in proportion, rounded up.

    >>> depth_by_kind({"primary": 20, "alternate": 10}, 15)
    {'primary': 15, 'alternate': 8}
    """
    deepest = max(depths.values(), default=0)
    return {kind: -(-depth * k // deepest) for kind, k in depths.items()} if deepest else {}


def preview_pool(
    inputs: Sequence[PoolInput],
    *,
    protocol: Protocol,
    depth: Mapping[str, int] | None = None,
    deepest: int | None = None,
    formulas: Formulas | None = None,
    already: ByTopic | None = None,
    nuggets: ByTopic | None = None,
) -> Preview:
    """The size of the pool at each depth.

    Args:
        depth: as in `build_pool`. The other depths are in the proportion of these.
        deepest: the last depth; by default the protocol's or 100 if that is more, but not below the last rank of runs.
        formulas, already, nuggets: as in `build_pool`. Answers are pooled whole, so they have one depth.

    Raises PoolError: nothing is judged in the protocol, it pools none of the runs, or formulas, passages or nuggets are
        missing.
    """
    rules = protocol.pool
    if refusal := why_no_preview(protocol):
        raise PoolError(refusal)
    if protocol.is_of_answers and nuggets is None:
        raise PoolError(
            f"{protocol.slug}: whole answers are pooled, to no depth; the pool itself shows its size"
        )
    if rules.pairs is not None and already:
        raise PoolError("the size of a further round depends on the judgments so far: build its pool")
    of_kinds = with_depth(protocol.runs, depth or {})
    most = max(of_kinds.values(), default=1)
    shares = [min(share, most) for share in depths_of(inputs, protocol.runs, of_kinds)]
    if not any(shares):
        raise PoolError("there is no run of a kind that is pooled to a depth above 0")
    if nuggets is not None and protocol.is_of_answers:
        return _answers_preview(inputs, shares, protocol, already or {}, nuggets)
    last = deepest or min(max(DEFAULT_DEPTH, most), protocol.runs.max_ranks, MAX_DEPTH)
    runs = [run.columns for run in inputs]
    depths = [-(-last * share // most) for share in shares]
    if rules.near_duplicate_overlap is not None:
        check_passages(runs, depths)
    material = Material(protocol, 0, formulas, already=already or {})
    units = _units_to_judge(runs, depths, material, POOL_STRATEGIES[rules.strategy].sizes)
    # The unit at rank p of a run of depth k is pooled from the smallest depth d with ceil(d * k / most) >= p.
    share = np.array(shares, dtype=np.int64)[units.run]
    least = np.full(len(units), last, dtype=np.int64)
    np.minimum.at(least, units.entry, (units.rank.astype(np.int64) - 1) * most // share + 1)
    n_topics = len(units.topics)
    cell = (least - 1) * n_topics + units.topic_index
    size = np.bincount(cell, minlength=last * n_topics).reshape(last, n_topics)
    sizes = n_pairs(np.cumsum(size, axis=0), rules.pairs) if rules.pairs else np.cumsum(size, axis=0)
    return Preview(units.topics, sizes, of_kinds, judgments_per_unit(protocol))


def why_no_preview(protocol: Protocol) -> str:
    """Return why no pool of a protocol has a preview; empty if it has one."""
    strategy = protocol.pool.strategy
    if strategy == "known-item":
        return f"{protocol.slug}: nothing is judged; the pool is the known item of each topic"
    if protocol.judged.has_nuggets or POOL_STRATEGIES[strategy].sizes:
        return ""
    return f"{protocol.slug}: {strategy} has no preview; the pool itself shows its size"


def n_pairs(n: NDArray[np.int64], rules: PairRules) -> NDArray[np.int64]:
    """The pairs to judge for so many documents of each topic: all of them, or those of the first round.

    Rounds that follow depend on what is judged. The best documents of all runs meet the winner one by one, so that
    there are about as many pairs as documents.

    >>> n_pairs(np.array([0, 4, 20]), PairRules()).tolist()
    [0, 6, 190]
    >>> n_pairs(np.array([0, 4, 20]), PairRules("tournament")).tolist()
    [0, 6, 70]
    """
    every = n * (n - 1) // 2
    if rules.selection == "pooled-best":
        return np.maximum(n - 1, 0)
    if rules.selection == "all":
        return every
    figures = figures_of(rules)
    return np.where(n > figures["few"], -(-n * np.minimum(figures["partners"], n - 1) // 2), every)


def _answers_preview(
    inputs: Sequence[PoolInput],
    shares: Sequence[int],
    protocol: Protocol,
    already: ByTopic,
    nuggets: ByTopic,
) -> Preview:
    """The size of a pool of answers, which has one depth: that of whole runs."""
    most = protocol.runs.answers.citations
    units = pool_answers([run.columns for run in inputs], shares, nuggets, citations=most)
    is_old = are_among(units, units.topic_index, units.docno, already)
    size = np.bincount(units.topic_index[~is_old], minlength=len(units.topics)).astype(np.int64)
    depths = dict.fromkeys(protocol.runs.depths, 1)
    return Preview(units.topics, size[np.newaxis], depths, judgments_per_unit(protocol))


def _units_to_judge(
    runs: Sequence[RunColumns], depths: Sequence[int], material: Material, reference: str
) -> PooledUnits:
    """One unit of each group of near-duplicates, none of an earlier pool."""
    strategy = material.protocol.pool.strategy
    units = POOL_STRATEGIES.function(strategy, reference)(runs, depths, material)
    if not isinstance(units, PooledUnits):
        raise POOL_STRATEGIES.error(strategy, f"{reference} must return PooledUnits, got {units!r}")
    overlap = material.protocol.pool.near_duplicate_overlap
    is_old = are_among(units, units.topic_index, units.docno, material.already)
    if overlap is not None:
        units, _ = join_duplicates(units, runs, overlap=overlap, first=is_old)
        is_old = are_among(units, units.topic_index, units.docno, material.already)
    return units.keep_entries(~is_old)


def by_rank(runs: Sequence[RunColumns], depths: Sequence[int], material: Material) -> PooledUnits:
    if not has_members(material.protocol):
        return top_k(runs, depths)
    coded = coded_runs(runs, material.formulas, material.protocol)
    return pool_distinct(coded, reach_of_rows(runs, depths, coded.topics))


def by_distinct_unit(runs: Sequence[RunColumns], depths: Sequence[int], material: Material) -> PooledUnits:
    coded = coded_runs(runs, material.formulas, material.protocol)
    return pool_distinct(coded, reach_of_distinct(coded, depths), by_nth=True)


def by_round(runs: Sequence[RunColumns], depths: Sequence[int], material: Material) -> PooledUnits:
    units = by_rank(runs, depths, material)
    return within(units, round_robin_reach(units, material.protocol.pool.target or 0))
