"""Building a pool: `build_pool` applies the strategy that a protocol names.

`assay.protocols.strategies` names the functions of the strategies, which have the same parameters: the runs, the depth
of each, and other input. They raise PoolError if the runs cannot be pooled.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, plural
from assay.formats.runs.columns import RunColumns
from assay.formulas.columns import Formulas
from assay.pools.answers import pool_answers
from assay.pools.depth import (
    Members,
    PooledUnits,
    pool_known_items,
    reach_of_rows,
    round_robin_reach,
    top_k,
    topics_of,
    within,
)
from assay.pools.distinct_formulas import (
    CodedRuns,
    code_runs,
    count_skipped,
    pool_distinct,
    reach_of_distinct,
)
from assay.pools.instances import gather, show
from assay.pools.near_duplicates import join_duplicates
from assay.pools.order import ORDERS
from assay.pools.pairs import pool_pairs
from assay.pools.sampling import CHOOSERS
from assay.preferences.votes import Vote
from assay.protocols.schema import PairRules, Protocol, RunRules
from assay.protocols.strategies import POOL_STRATEGIES

ByTopic = Mapping[str, Collection[str]]  # docnos by topic


class PoolError(InputError):
    """The runs cannot be pooled as the protocol specifies."""


@dataclass(frozen=True, slots=True)
class PoolInput:
    """A run to pool. `pooled_as` is the kind whose depth it has if its own has none; empty: the protocol decides."""

    columns: RunColumns
    team: str
    tag: str
    kind: str
    pooled_as: str = ""


@dataclass(frozen=True, slots=True)
class BuiltPool:
    """A pool in the order of presentation. A strategy leaves position, depths and n_already to `build_pool`.

    Args:
        units: the entries (topic, docno) and their contributions; for distinct formulas, a docno is a visual id, and a
            rank is that of the first instance.
        position: (n,) place of each entry within its topic, from 1.
        depths: (runs,) depth of each run.
        members: members of the entries; None if units have no members.
        reach: (runs, topics) rank to which each run was taken in each topic of `units.topics`.
        skipped: (runs,) number of instances up to that rank that have no visual id; empty if units are not formulas.
        n_already: number of units of these runs that are in an earlier pool.
    """

    units: PooledUnits
    reach: NDArray[np.int32]
    members: Members | None = None
    skipped: tuple[int, ...] = ()
    position: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    depths: tuple[int, ...] = ()
    n_already: int = 0


@dataclass(frozen=True, slots=True)
class Material:
    """Other input of the strategies; the fields are parameters of `build_pool`."""

    protocol: Protocol
    seed: int
    formulas: Formulas | None = None
    known: ByTopic = field(default_factory=dict)
    already: ByTopic = field(default_factory=dict)
    tied: ByTopic = field(default_factory=dict)
    nuggets: ByTopic = field(default_factory=dict)
    votes: Sequence[Vote] = ()


def has_members(protocol: Protocol) -> bool:
    """Return whether the units of a protocol are visually distinct formulas, and runs submit instances of them."""
    return protocol.unit == "visually-distinct-formula"


def first_ranks(runs: Sequence[RunColumns], depths: Sequence[int], material: Material) -> BuiltPool:
    reach = reach_of_rows(runs, depths, topics_of(runs))
    if has_members(material.protocol):
        coded = coded_runs(runs, material.formulas, material.protocol)
        return _formulas(coded, reach, depths, material)
    return BuiltPool(top_k(runs, depths), reach)


def distinct_units(runs: Sequence[RunColumns], depths: Sequence[int], material: Material) -> BuiltPool:
    coded = coded_runs(runs, material.formulas, material.protocol)
    return _formulas(coded, reach_of_distinct(coded, depths), depths, material)


def round_robin_until(runs: Sequence[RunColumns], depths: Sequence[int], material: Material) -> BuiltPool:
    target = material.protocol.pool.target or 0
    rows = reach_of_rows(runs, depths, topics_of(runs))
    if not has_members(material.protocol):
        units = top_k(runs, depths)
        reach = round_robin_reach(units, target)
        return BuiltPool(within(units, reach), np.minimum(rows, reach).astype(np.int32))
    coded = coded_runs(runs, material.formulas, material.protocol)
    reach = round_robin_reach(pool_distinct(coded, rows), target)
    return _formulas(coded, np.minimum(rows, reach).astype(np.int32), depths, material)


def highest_scores(runs: Sequence[RunColumns], depths: Sequence[int], material: Material) -> BuiltPool:
    selected = first_ranks(runs, depths, material)
    overlap = material.protocol.pool.near_duplicate_overlap
    if overlap is None:
        return selected
    check_passages(runs, depths)
    units = selected.units
    is_old = are_among(units, units.topic_index, units.docno, material.already)
    units, members = join_duplicates(units, runs, overlap=overlap, first=is_old)
    return replace(selected, units=units, members=members)


def check_passages(runs: Sequence[RunColumns], depths: Sequence[int]) -> None:
    """Raise PoolError if a run of a depth above 0 has no passages, which identify near-duplicates."""
    lacking = [i for i, run in enumerate(runs) if depths[i] and run.passage is None and len(run)]
    if lacking:
        raise PoolError(
            "near-duplicates are detected in the passages that runs cite; there are none in "
            f"{len(lacking)} of {plural(len(runs), 'run')}"
        )


def known_items(runs: Sequence[RunColumns], depths: Sequence[int], material: Material) -> BuiltPool:
    units = pool_known_items(runs, depths, material.known)
    lacking = [code for code, n in zip(units.topics.tolist(), units.sizes.tolist(), strict=True) if n == 0]
    if lacking:
        raise PoolError(
            f"{plural(len(lacking), 'topic has,topics have')} no known item, such as "
            f"{', '.join(lacking[:5])}; import the known items: each topic needs the item that it was made from"
        )
    return BuiltPool(units, reach_of_rows(runs, depths, units.topics))


def answers(runs: Sequence[RunColumns], depths: Sequence[int], material: Material) -> BuiltPool:
    most = material.protocol.runs.answers.citations
    units = pool_answers(runs, depths, material.nuggets, citations=most)
    return BuiltPool(units, np.minimum(reach_of_rows(runs, depths, units.topics), 1).astype(np.int32))


def rows(runs: Sequence[RunColumns], depths: Sequence[int], material: Material) -> BuiltPool:
    units = pool_known_items([], [], material.known)
    if not len(units):
        raise PoolError("there are no rows; import a table")
    return BuiltPool(units, reach_of_rows([], [], units.topics))


def coded_runs(runs: Sequence[RunColumns], formulas: Formulas | None, protocol: Protocol) -> CodedRuns:
    """The runs with the formulas looked up; PoolError if there are no formulas."""
    if formulas is None or not len(formulas):
        raise PoolError(
            f"{protocol.slug} pools visually distinct formulas; add the formulas with their visual ids"
        )
    return code_runs(runs, formulas)


def _formulas(
    coded: CodedRuns, reach: NDArray[np.int32], depths: Sequence[int], material: Material
) -> BuiltPool:
    """Distinct formulas up to a rank of each run and topic, and their instances."""
    units = pool_distinct(coded, reach)
    if not len(units):
        raise PoolError("there is nothing to pool: no formula of the runs has a visual id")
    (members, is_pooled), rules = gather(coded, units, reach, depths), material.protocol.instances
    if rules.strategy == "thread-random" and ((members.thread == b"") | (members.post == b"")).any():
        raise PoolError(
            "thread-random needs the post and the thread of each formula; some formulas have none"
        )
    shown = show(members, is_pooled, units, rules=rules, seed=material.seed)
    return BuiltPool(units, reach, shown, tuple(count_skipped(coded, reach)))


def ranks_read(
    protocol: Protocol, kind: str, tag: str, pooled_as: str, depth: Mapping[str, int] | None = None
) -> int | None:
    """The number of ranks of a run that its pool reads in each topic; None: all. `depth` as in `build_pool`.

    Raises PoolError: as `with_depth`.
    """
    if has_members(protocol) or not POOL_STRATEGIES[protocol.pool.strategy].stops_at_depth:
        return None
    return protocol.runs.depth_of(kind, tag, pooled_as, with_depth(protocol.runs, depth or {}))


def as_pooled(run: PoolInput, protocol: Protocol, depth: Mapping[str, int] | None = None) -> PoolInput:
    """The run with only the ranks that its pool reads, so that many runs fit into memory; as `ranks_read`."""
    most = ranks_read(protocol, run.kind, run.tag, run.pooled_as, depth)
    return run if most is None else replace(run, columns=run.columns.cut(most))


def depths_of(
    inputs: Sequence[PoolInput], rules: RunRules, depth: Mapping[str, int] | None = None
) -> list[int]:
    """(runs,) the depth of each run: that of `depth` for its kind, or else the protocol's."""
    depths = with_depth(rules, depth or {})
    return [rules.depth_of(run.kind, run.tag, run.pooled_as, depths) for run in inputs]


def with_depth(rules: RunRules, depth: Mapping[str, int]) -> dict[str, int]:
    """The depths of a protocol by kind of run, with other depths for some kinds.

    Raises PoolError: the protocol does not pool one of the kinds, or a depth is below 0.
    """
    depths = rules.depths
    for kind, k in depth.items():
        if kind not in depths:
            accepted = f"use {', '.join(depths)}" if depths else "this protocol has no depths"
            raise PoolError(f"there is no depth for the kind {kind}; {accepted}")
        if k < 0:
            raise PoolError(f"the depth of {kind} is {k}; use a number from 0")
    return {**depths, **depth}


def beyond_limit(
    teams: Sequence[str], is_baseline: Sequence[bool], depths: Sequence[int], *, most: int | None
) -> list[bool]:
    """(runs,) whether each run comes after the first `most` runs of its team that would be pooled.

    Runs of depth 0 do not count. Baselines neither count nor are left out.

    Args:
        teams, is_baseline, depths: (runs,) in the order of each team's priorities.
        most: the limit; None: no run is left out.

    Raises ValueError: the limit is below 1.

    >>> beyond_limit(["A", "A", "B"], [False, False, False], [20, 10, 20], most=1)
    [False, True, False]
    """
    if most is None:
        return [False] * len(teams)
    if most < 1:
        raise InputError(f"the limit of runs per team must be at least 1, got {most}")
    n_of: Counter[str] = Counter()
    beyond = []
    for team, is_outside, depth in zip(teams, is_baseline, depths, strict=True):
        is_counted = depth > 0 and not is_outside
        n_of[team] += is_counted
        beyond.append(is_counted and n_of[team] > most)
    return beyond


def check_strategies(protocol: Protocol) -> None:
    """Check the strategies and the order that a protocol names.

    Raises PoolError: this version does not have one of them, or two of them cannot be combined.
    """
    pool, instances = protocol.pool, protocol.instances
    for key, name, available in (
        ("pool.strategy", pool.strategy, POOL_STRATEGIES),
        ("pool.order", pool.order, ORDERS),
        ("instances.strategy", instances.strategy, {None, *CHOOSERS}),
    ):
        if name not in available:
            accepted = ", ".join(sorted(filter(None, available)))
            raise PoolError(f"{protocol.slug}: {key}: {name} is not available; use {accepted}")
    if pool.near_duplicate_overlap is not None and pool.strategy != "top-k-by-score":
        raise PoolError(
            f"{protocol.slug}: pool.near_duplicate_overlap: {pool.strategy} does not detect near-duplicates"
        )
    if pool.pairs is not None and pool.order == "move-to-front":
        raise PoolError(
            f"{protocol.slug}: pool.order: move-to-front follows relevant units; a pair has no relevance"
        )
    if pool.strategy == "distinct-units" and not has_members(protocol):
        raise PoolError(
            f"{protocol.slug}: pool.strategy: distinct-units pools visually distinct formulas only"
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
    nuggets: ByTopic | None = None,
    votes: Sequence[Vote] = (),
) -> BuiltPool:
    """Pool runs as the protocol specifies. The same inputs in the same order give the same pool.

    Args:
        inputs: the runs, each with its team, tag and kind.
        depth: depths that replace the protocol's, by kind of run; of no effect on rows.
        formulas: for visually distinct formulas: every instance that the runs submit, with its visual id.
        known: docnos by topic: the relevant ones of known-item tasks, and those of the rows of a table.
        already: docnos by topic of the units of an earlier pool that this pool tops up; it has only units that are new.
        tied: docnos by topic of the near-duplicates of units of the earlier pool. A unit of that pool that has new
            near-duplicates is kept, so that they inherit its judgment.
        nuggets: for generated answers: the keys of the nuggets of each topic, in the order of its list.
        votes: if pairs are judged: the votes so far, which decide the pairs of the next round.

    Raises:
        PoolError: The runs cannot be pooled as the protocol specifies, or no run has a depth above 0.
        ValueError: The seed is negative or too large.
    """
    check_strategies(protocol)
    depths = [] if protocol.pool.strategy == "rows" else depths_of(inputs, protocol.runs, depth)
    if not any(depths) and protocol.pool.strategy != "rows":
        raise PoolError("there is no run of a kind that is pooled to a depth above 0")
    material = Material(
        protocol, seed, formulas, known or {}, already or {}, tied or {}, nuggets or {}, votes
    )
    strategy = POOL_STRATEGIES[protocol.pool.strategy]
    build = POOL_STRATEGIES.function(strategy.name, strategy.build)
    selected = build([run.columns for run in inputs], depths, material)
    if not isinstance(selected, BuiltPool):
        raise POOL_STRATEGIES.error(
            strategy.name, f"{strategy.build} must return a BuiltPool, got {selected!r}"
        )
    if protocol.pool.pairs is not None:
        selected = _pairs(selected, protocol.pool.pairs, material)
    selected, n_already = _only_new(selected, material)
    position = ORDERS[protocol.pool.order](selected.units, seed)
    return replace(selected, position=position, depths=tuple(depths), n_already=n_already)


def _pairs(selected: BuiltPool, rules: PairRules, material: Material) -> BuiltPool:
    """The pairs of the documents of a pool.

    Raises PoolError: no pair is left to judge.
    """
    try:
        units = pool_pairs(selected.units, material.votes, rules, material.seed)
    except InputError as error:
        raise PoolError(str(error)) from None
    is_old = are_among(units, units.topic_index, units.docno, material.already)
    if is_old.all():
        n = len(units)
        left = f"the {n} of this round are in the earlier pool; judge them first" if n else "all are judged"
        raise PoolError(f"there is no new pair to judge: {left}")
    return replace(selected, units=units)


def are_among(
    units: PooledUnits, topic_index: NDArray[np.int32], docno: NDArray[np.bytes_], by_topic: ByTopic
) -> NDArray[np.bool_]:
    """(n,) whether each document, sorted by topic, is in `by_topic`."""
    is_among = np.zeros(len(docno), dtype=np.bool_)
    borders = np.searchsorted(topic_index, np.arange(len(units.topics) + 1))
    for code, start, end in zip(units.topics.tolist(), borders[:-1], borders[1:], strict=True):
        of_topic = np.array([name.encode() for name in by_topic.get(code, ())], dtype=np.bytes_)
        if len(of_topic):
            is_among[start:end] = np.isin(docno[start:end], of_topic)
    return is_among


def _only_new(selected: BuiltPool, material: Material) -> tuple[BuiltPool, int]:
    """The units that an earlier pool does not have, or whose near-duplicates are new; and the number of old units."""
    units, members = selected.units, selected.members
    is_old = are_among(units, units.topic_index, units.docno, material.already)
    if not is_old.any():
        return selected, 0
    kept = ~is_old
    if members is None:
        return replace(selected, units=units.keep_entries(kept)), int(is_old.sum())
    if material.protocol.pool.near_duplicate_overlap is not None:
        topic_index = units.topic_index[members.entry]
        is_old_member = are_among(units, topic_index, members.docno, material.already)
        is_old_member |= are_among(units, topic_index, members.docno, material.tied)
        kept[members.entry[~is_old_member]] = True
    only_new = replace(selected, units=units.keep_entries(kept), members=members.keep_entries(kept))
    return only_new, int(is_old.sum())
