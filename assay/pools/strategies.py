"""How runs become a pool: the strategies that a protocol may name, and the one function that follows it.

top-k              the first k ranks of each run.
distinct-units     each run down to the first instance of its k-th visually distinct formula.
round-robin-until  one rank at a time from every run, until a topic has as many units as the protocol asks.
top-k-by-score     the first k ranks of each run; of near-duplicates one is judged, and the rest are its members.
known-item         nothing is judged: the pool is the item of each topic that is known to be relevant.

A new strategy is a function of the same signature, entered in `STRATEGIES` under its name in `assay.protocols.schema`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from assay.formats.runs.columns import RunColumns
from assay.formulas.columns import Formulas
from assay.pools.depth import (
    PooledUnits,
    check_depths,
    reach_of_rows,
    round_robin_reach,
    top_k,
    topics_of,
    within,
)
from assay.pools.distinct import CodedRuns, code_runs, passed_over, pool_distinct, reach_of_distinct
from assay.pools.instances import gather, show
from assay.pools.known_items import pool_known_items
from assay.pools.members import Members
from assay.pools.near_duplicates import join_duplicates
from assay.pools.order import ORDERS
from assay.pools.sampling import CHOOSERS
from assay.protocols.schema import PoolRules, Protocol

ByTopic = Mapping[str, Collection[str]]  # docnos by topic


class PoolError(ValueError):
    """Runs that cannot be pooled as the protocol says."""


@dataclass(frozen=True, slots=True)
class PoolInput:
    """A run that goes into a pool. `pooled_as` is for baselines; empty: as the protocol says."""

    columns: RunColumns
    team: str
    tag: str
    kind: str
    pooled_as: str = ""


@dataclass(frozen=True, slots=True)
class BuiltPool:
    """A pool, in an order of presentation.

    Attributes
    ----------
    units : the entries (topic, docno), and which run brought each; for distinct formulas a docno is a visual id, and a
        rank that of its first instance.
    position : (n,) place of each entry within its topic, from 1.
    depths : the depth of each run.
    members : what belongs to each entry, where units have members; else None.
    reach : (runs, topics) the rank down to which each run was taken in each topic of `units.topics`.
    passed_over : (runs,) instances without a visual id down to there, which belong to no formula.
    n_already : units that the same runs bring too, but that an earlier pool has.
    """

    units: PooledUnits
    position: NDArray[np.int32]
    depths: tuple[int, ...]
    members: Members | None = None
    reach: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int32))
    passed_over: tuple[int, ...] = ()
    n_already: int = 0


@dataclass(frozen=True, slots=True)
class Material:
    """What strategies may ask for besides runs and depths; the fields are parameters of `build_pool`."""

    protocol: Protocol
    seed: int
    formulas: Formulas | None = None
    known: ByTopic = field(default_factory=dict)
    already: ByTopic = field(default_factory=dict)
    tied: ByTopic = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Selected:
    """What a strategy gives back; the fields are those of `BuiltPool`."""

    units: PooledUnits
    reach: NDArray[np.int32]
    members: Members | None = None
    passed_over: tuple[int, ...] = ()


Strategy = Callable[[Sequence[RunColumns], Sequence[int], Material], Selected]


def has_members(protocol: Protocol) -> bool:
    """Whether the units of a protocol are visually distinct formulas, of which instances are submitted."""
    return protocol.unit == "visually-distinct-formula"


def _top_k(runs: Sequence[RunColumns], depths: Sequence[int], material: Material) -> Selected:
    check_depths(runs, depths)
    reach = reach_of_rows(runs, depths, topics_of(runs))
    if has_members(material.protocol):
        coded = coded_runs(runs, material.formulas, material.protocol)
        return _formulas(coded, reach, depths, material)
    return Selected(top_k(runs, depths), reach)


def _distinct_units(runs: Sequence[RunColumns], depths: Sequence[int], material: Material) -> Selected:
    coded = coded_runs(runs, material.formulas, material.protocol)
    return _formulas(coded, reach_of_distinct(coded, depths), depths, material)


def _round_robin_until(runs: Sequence[RunColumns], depths: Sequence[int], material: Material) -> Selected:
    target = material.protocol.pool.target or 0
    rows = reach_of_rows(runs, depths, topics_of(runs))
    if not has_members(material.protocol):
        units = top_k(runs, depths)
        reach = round_robin_reach(units, target)
        return Selected(within(units, reach), np.minimum(rows, reach).astype(np.int32))
    coded = coded_runs(runs, material.formulas, material.protocol)
    reach = round_robin_reach(pool_distinct(coded, rows), target)
    return _formulas(coded, np.minimum(rows, reach).astype(np.int32), depths, material)


def _top_k_by_score(runs: Sequence[RunColumns], depths: Sequence[int], material: Material) -> Selected:
    selected = _top_k(runs, depths, material)
    overlap = material.protocol.pool.near_duplicate_overlap
    if overlap is None:
        return selected
    check_passages(runs, depths)
    units = selected.units
    is_old = are_among(units, units.topic_index, units.docno, material.already)
    units, members = join_duplicates(units, runs, overlap=overlap, first=is_old)
    return replace(selected, units=units, members=members)


def check_passages(runs: Sequence[RunColumns], depths: Sequence[int]) -> None:
    """Make sure that the runs that are pooled have passages, by which near-duplicates are told, or raise PoolError."""
    lacking = [i for i, run in enumerate(runs) if depths[i] and run.passage is None and len(run)]
    if lacking:
        raise PoolError(
            f"near-duplicates are told by the passages that runs cite; {len(lacking)} of {len(runs)} runs have none"
        )


def _known_item(runs: Sequence[RunColumns], depths: Sequence[int], material: Material) -> Selected:
    units = pool_known_items(runs, depths, material.known)
    lacking = [code for code, n in zip(units.topics.tolist(), units.sizes.tolist(), strict=True) if n == 0]
    if lacking:
        raise PoolError(
            f"the known item of {len(lacking)} topics is not known, such as {', '.join(lacking[:5])}; "
            "each topic needs the one that its query was made from"
        )
    return Selected(units, reach_of_rows(runs, depths, units.topics))


def coded_runs(runs: Sequence[RunColumns], formulas: Formulas | None, protocol: Protocol) -> CodedRuns:
    """Runs beside the formulas, without which no distinct formula is known; PoolError if there are none."""
    if formulas is None or not len(formulas):
        raise PoolError(
            f"{protocol.slug} pools visually distinct formulas: the formulas with their visual ids are needed"
        )
    return code_runs(runs, formulas)


def _formulas(
    coded: CodedRuns, reach: NDArray[np.int32], depths: Sequence[int], material: Material
) -> Selected:
    """Distinct formulas down to a rank of each run and topic, and the instances of them."""
    units = pool_distinct(coded, reach)
    if not len(units):
        raise PoolError("no formula of the runs has a visual id: there is nothing to pool")
    gathered, rules = gather(coded, units, reach, depths), material.protocol.instances
    members = gathered.members
    if rules.strategy == "thread-random" and ((members.thread == b"") | (members.post == b"")).any():
        raise PoolError("thread-random needs the post and the thread of each formula; some are not known")
    shown = show(gathered, units, rules=rules, seed=material.seed)
    return Selected(units, reach, shown, tuple(passed_over(coded, reach)))


STRATEGIES: dict[str, Strategy] = {
    "top-k": _top_k,
    "distinct-units": _distinct_units,
    "round-robin-until": _round_robin_until,
    "top-k-by-score": _top_k_by_score,
    "known-item": _known_item,
}


def depths_of(
    inputs: Sequence[PoolInput], rules: PoolRules, depth: Mapping[str, int] | None = None
) -> list[int]:
    """The depth of each run: the protocol's by its kind, or that of `depth` for the kinds named there."""
    rules = with_depth(rules, depth or {})
    return [rules.depth_of(one.kind, one.tag, one.pooled_as) for one in inputs]


def with_depth(rules: PoolRules, depth: Mapping[str, int]) -> PoolRules:
    """The rules with other depths for some kinds of run.

    Raises
    ------
    PoolError
        A kind that the protocol does not pool, or a depth below 0.
    """
    for kind, k in depth.items():
        if kind not in rules.depth:
            known = (
                f"use {', '.join(rules.depth)}" if rules.depth else "this protocol pools to no fixed depth"
            )
            raise PoolError(f"there is no depth for the kind {kind}; {known}")
        if k < 0:
            raise PoolError(f"the depth {k} for {kind} is below 0")
    return replace(rules, depth={**rules.depth, **depth})


def check_strategies(protocol: Protocol) -> None:
    """Make sure that everything that the protocol names for its pool is there, and fits together.

    Raises
    ------
    PoolError
        It names a strategy or an order that this version does not have, or two that do not fit.
    """
    pool, instances = protocol.pool, protocol.instances
    for key, name, known in (
        ("pool.strategy", pool.strategy, STRATEGIES),
        ("pool.order", pool.order, ORDERS),
        ("instances.strategy", instances.strategy, {None, *CHOOSERS}),
    ):
        if name not in known:
            there_is = ", ".join(sorted(filter(None, known)))
            raise PoolError(f"{protocol.slug}: {key}: {name} is not available; there is {there_is}")
    if pool.near_duplicate_overlap is not None and pool.strategy != "top-k-by-score":
        raise PoolError(
            f"{protocol.slug}: pool.near_duplicate_overlap: {pool.strategy} joins no near-duplicates"
        )
    if pool.strategy == "distinct-units" and not has_members(protocol):
        raise PoolError(
            f"{protocol.slug}: pool.strategy: distinct-units pools visually distinct formulas alone"
        )


def build_pool(
    inputs: Sequence[PoolInput],
    *,
    protocol: Protocol,
    seed: int,
    depth: Mapping[str, int] | None = None,
    formulas: Formulas | None = None,
    known: ByTopic | None = None,
    already: ByTopic | None = None,
    tied: ByTopic | None = None,
) -> BuiltPool:
    """Pool runs as the protocol says. The same inputs in the same order give the same pool.

    Parameters
    ----------
    depth : depths that replace the protocol's, by kind of run.
    formulas : for visually distinct formulas: every instance that the runs submit, with its visual id.
    known : for known-item tasks: the relevant docnos by topic.
    already : docnos by topic of the units of an earlier pool, which this one tops up: it holds only what is new.
    tied : docnos by topic of the near-duplicates that the earlier pool ties to its units. A unit of that pool of which
        there are new ones is kept, so that they inherit its judgment.

    Raises
    ------
    PoolError
        The protocol cannot be followed, or no run is pooled to any depth.
    ValueError
        The seed is negative or too large.
    """
    check_strategies(protocol)
    depths = depths_of(inputs, protocol.pool, depth)
    if not any(depths):
        raise PoolError("there is no run of a kind that is pooled to a depth above 0")
    material = Material(protocol, seed, formulas, known or {}, already or {}, tied or {})
    selected = STRATEGIES[protocol.pool.strategy]([one.columns for one in inputs], depths, material)
    selected, n_already = _only_new(selected, material)
    position = ORDERS[protocol.pool.order](selected.units, seed)
    return BuiltPool(
        units=selected.units,
        position=position,
        depths=tuple(depths),
        members=selected.members,
        reach=selected.reach,
        passed_over=selected.passed_over,
        n_already=n_already,
    )


def are_among(
    units: PooledUnits, topic_index: NDArray[np.int32], docno: NDArray[np.bytes_], given: ByTopic
) -> NDArray[np.bool_]:
    """(n,) whether docnos, sorted by their topics, are among given ones."""
    found = np.zeros(len(docno), dtype=np.bool_)
    borders = np.searchsorted(topic_index, np.arange(len(units.topics) + 1))
    for code, start, end in zip(units.topics.tolist(), borders[:-1], borders[1:], strict=True):
        had = np.array([one.encode() for one in given.get(code, ())], dtype=np.bytes_)
        if len(had):
            found[start:end] = np.isin(docno[start:end], had)
    return found


def _only_new(selected: Selected, material: Material) -> tuple[Selected, int]:
    """What an earlier pool does not have, and how many units it has; old ones with new near-duplicates stay."""
    units, members = selected.units, selected.members
    is_old = are_among(units, units.topic_index, units.docno, material.already)
    if not is_old.any():
        return selected, 0
    kept = ~is_old
    if members is None:
        return replace(selected, units=units.of_entries(kept)), int(is_old.sum())
    if material.protocol.pool.near_duplicate_overlap is not None:
        topic_index = units.topic_index[members.entry]
        had = [are_among(units, topic_index, members.docno, one) for one in (material.already, material.tied)]
        kept[members.entry[~(had[0] | had[1])]] = True
    only_new = replace(selected, units=units.of_entries(kept), members=members.of_entries(kept))
    return only_new, int(is_old.sum())
