"""What a pool would cost before it is built: its size at every depth at once, by topic, and the hours of judging.

A depth is that of the kind of run that the protocol pools deepest; the other kinds follow in the protocol's proportion,
rounded up (20 : 10 at depth 15 is 15 : 8). One pass over the runs finds for each unit the least depth at which it is
pooled. For near-duplicates that is exact where all kinds are pooled to one depth; for `round-robin-until` a depth is
the last rank that is taken from every run, and no topic goes further than the protocol's target lets it.

Where the published papers give a time for a judgment, it is this: 83.3 s an answer, 39.5 s a formula.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.formats.runs.columns import RunColumns
from assay.formulas.columns import Formulas
from assay.pools.depth import PooledUnits, reach_of_rows, round_robin_reach, top_k, within
from assay.pools.distinct import pool_distinct, reach_of_distinct
from assay.pools.near_duplicates import join_duplicates
from assay.pools.strategies import (
    ByTopic,
    PoolError,
    PoolInput,
    are_among,
    check_passages,
    coded_runs,
    has_members,
)
from assay.protocols.schema import PoolRules, Protocol

SECONDS_OF_AN_ANSWER, SECONDS_OF_A_FORMULA = 83.3, 39.5
DEEPEST = 100  # how far a curve goes if nobody says, or the protocol's depth goes further
FARTHEST = 100_000  # how far any curve goes: each depth has a size for each topic


@dataclass(frozen=True, slots=True)
class Preview:
    """The sizes of a pool at depths from 1 on.

    Attributes
    ----------
    topics : (t,) codes, sorted by bytes.
    sizes : (depths, t) units of each topic at depth i + 1.
    depths : the protocol's depth of each kind of run that is pooled; empty where it has none.
    judges : how many judgments a unit gets, on the average.
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
        """(depths,) hours of judging, at some seconds a judgment."""
        return self.totals.astype(np.float64) * (self.judges * seconds / 3600)

    def deepest_within(self, hours: float, seconds: float) -> int:
        """The greatest depth whose pool is judged within some hours; 0 if not even the first one is."""
        return int(np.searchsorted(self.hours(seconds), hours, side="right"))

    def depth_by_kind(self, depth: int) -> dict[str, int]:
        """What `build_pool` takes as `depth` for the pool of one of the depths."""
        return depth_by_kind(self.depths, depth)


def usual_seconds(protocol: Protocol) -> float:
    """The published time of one judgment of a unit like this protocol's."""
    return SECONDS_OF_A_FORMULA if "formula" in protocol.unit else SECONDS_OF_AN_ANSWER


def judgments_a_unit(protocol: Protocol) -> float:
    """How many judgments a unit gets: one of each judge, and those of the topics that are judged twice."""
    return protocol.judging.judges + protocol.judging.dual_share


def depth_by_kind(depths: Mapping[str, int], depth: int) -> dict[str, int]:
    """The depth of each kind of run where the deepest kind has a depth, in the protocol's proportion, rounded up."""
    deepest = max(depths.values(), default=0)
    return {kind: -(-depth * k // deepest) for kind, k in depths.items()} if deepest else {}


def preview_pool(
    inputs: Sequence[PoolInput],
    *,
    protocol: Protocol,
    deepest: int | None = None,
    formulas: Formulas | None = None,
    already: ByTopic | None = None,
) -> Preview:
    """The size of the pool at each depth up to the deepest one (by default the protocol's, or 100 if that is less).

    Parameters
    ----------
    formulas, already : as for `build_pool`.

    Raises
    ------
    PoolError
        Nothing is judged by the protocol; there is no run that it pools; or formulas or passages are missing.
    """
    rules = protocol.pool
    if rules.strategy == "known-item":
        raise PoolError(f"{protocol.slug}: nothing is judged: the pool is the known item of each topic")
    shares = [rules.depth_of(one.kind, one.tag, one.pooled_as) if rules.depth else 1 for one in inputs]
    if not any(shares):
        raise PoolError("there is no run of a kind that is pooled to a depth above 0")
    most = max(rules.depth.values(), default=1)
    last = deepest or min(max(DEEPEST, most), FARTHEST)
    runs = [one.columns for one in inputs]
    depths = [-(-last * share // most) for share in shares]
    if rules.near_duplicate_overlap is not None:
        check_passages(runs, depths)
    units = _brought(runs, depths, protocol, formulas)
    units = _judged(units, runs, rules, already or {})
    # What is at place p of a run of depth k is pooled from the first depth d on with ceil(d * k / most) >= p.
    share = np.array(shares, dtype=np.int64)[units.run]
    least = np.full(len(units), last, dtype=np.int64)
    np.minimum.at(least, units.entry, (units.rank.astype(np.int64) - 1) * most // share + 1)
    n_topics = len(units.topics)
    cell = (least - 1) * n_topics + units.topic_index
    size = np.bincount(cell, minlength=last * n_topics).reshape(last, n_topics)
    return Preview(units.topics, np.cumsum(size, axis=0), dict(rules.depth), judgments_a_unit(protocol))


def _brought(
    runs: Sequence[RunColumns], depths: Sequence[int], protocol: Protocol, formulas: Formulas | None
) -> PooledUnits:
    """Units with, in place of ranks, what the depth of the protocol's strategy counts."""
    if not has_members(protocol):
        return top_k(runs, depths)
    coded = coded_runs(runs, formulas, protocol)
    if protocol.pool.strategy == "distinct-units":
        return pool_distinct(coded, reach_of_distinct(coded, depths), by_nth=True)
    return pool_distinct(coded, reach_of_rows(runs, depths, coded.topics))


def _judged(
    units: PooledUnits, runs: Sequence[RunColumns], rules: PoolRules, already: ByTopic
) -> PooledUnits:
    """The units that are to be judged: one of each class of near-duplicates, none of an earlier pool."""
    if rules.strategy == "round-robin-until":
        units = within(units, round_robin_reach(units, rules.target or 0))
    if rules.near_duplicate_overlap is not None:
        is_old = are_among(units, units.topic_index, units.docno, already)
        units, _ = join_duplicates(units, runs, overlap=rules.near_duplicate_overlap, first=is_old)
    return units.of_entries(~are_among(units, units.topic_index, units.docno, already))
