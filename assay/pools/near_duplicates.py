"""Pools of passages: near-duplicates become members of the one passage that is judged for them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from assay.formats.runs.columns import RunColumns
from assay.passages import leaders
from assay.pools.depth import Members, PooledUnits, begins


def join_duplicates(
    units: PooledUnits, runs: Sequence[RunColumns], *, overlap: float, first: NDArray[np.bool_]
) -> tuple[PooledUnits, Members]:
    """Group near-duplicates, and keep one unit of each group: the leader, which is judged.

    The leader is the unit with the best rank in any run, then the one that most runs have, then the one with the first
    docno; but units of an earlier pool come first. The rank of a group in a run is that of its first member there.

    Args:
        runs: runs with the passages of their citations.
        overlap: smallest overlap of two near-duplicates (see `assay.passages`).
        first: (n,) whether a unit is in an earlier pool.

    Returns:
        The leaders as units, and all units as their members; a leader has position 1, the others 0.
    """
    texts = _passages(units, runs)
    n_runs = np.bincount(units.entry, minlength=len(units))
    order = np.lexsort((np.arange(len(units)), -n_runs, units.best_rank, ~first, units.topic_index))
    leader = np.arange(len(units))
    for rows in np.split(order, np.cumsum(units.sizes)[:-1]):
        leader[rows] = rows[leaders([texts[row] for row in rows.tolist()], overlap)]
    is_leader = leader == np.arange(len(units))
    # one entry for each leader, with the best rank of its group in each run
    key = leader[units.entry] * units.n_runs + units.run
    order = np.lexsort((units.rank, key))
    best = order[begins(key[order])]
    joined = replace(
        units, entry=leader[units.entry][best].astype(np.int32), run=units.run[best], rank=units.rank[best]
    )
    return joined.keep_entries(is_leader), _members(units, leader, is_leader)


def passages_of(units: PooledUnits, members: Members | None, runs: Sequence[RunColumns]) -> list[str]:
    """(n,) the text of each judged citation in the first run that has it; empty for a unit without a text.

    Args:
        units, members: of a pool; the judged citation of a group of near-duplicates is the member at position 1.
    """
    if members is None:
        return _passages(units, runs)
    texts = [""] * len(units)
    judged = np.flatnonzero(members.position == 1)
    starts = np.searchsorted(members.member, judged)
    for member, at in zip(judged.tolist(), starts.tolist(), strict=True):
        entry = int(members.entry[member])
        code = str(units.topics[units.topic_index[entry]])
        texts[entry] = _passage(runs[members.run[at]], code, int(members.rank[at]))
    return texts


def _passages(units: PooledUnits, runs: Sequence[RunColumns]) -> list[str]:
    """The text of each unit in the first run that has it."""
    starts = np.searchsorted(units.entry, np.arange(len(units))).tolist()
    codes = units.topics[units.topic_index].tolist()
    firsts = zip(starts, codes, strict=True)
    return [_passage(runs[units.run[at]], code, int(units.rank[at])) for at, code in firsts]


def _passage(run: RunColumns, topic: str, rank: int) -> str:
    """The text of the citation at a rank, from 1."""
    if run.passage is None:
        return ""
    first = run.offsets[int(np.searchsorted(run.topics, topic))]
    return str(run.passage[first + rank - 1].decode())


def _members(units: PooledUnits, leader: NDArray[np.intp], is_leader: NDArray[np.bool_]) -> Members:
    entry = (np.cumsum(is_leader) - 1)[leader]
    order = np.argsort(entry, kind="stable")  # units are sorted by docno within a topic
    place = np.empty(len(units), dtype=np.int32)
    place[order] = np.arange(len(units))
    by_member = np.argsort(place[units.entry], kind="stable")
    nothing = np.zeros(len(units), dtype="S1")
    return Members(
        entry=entry[order].astype(np.int32),
        docno=units.docno[order],
        post=nothing,
        thread=nothing,
        position=is_leader[order].astype(np.int32),
        member=place[units.entry][by_member],
        run=units.run[by_member],
        rank=units.rank[by_member],
    )
