"""The submitted instances of the formulae that are pooled, and which of them are shown to be judged."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pooling import lots, sampling
from pooling.depth import PooledUnits, numbers_in
from pooling.distinct import CodedRuns, topics_and_ranks
from pooling.members import Members
from protocols.schema import InstanceRules


class Found(NamedTuple):
    """Rows of runs that hold pooled formulae: entry, row in the formulae, run, rank, and whether it was pooled."""

    entry: NDArray[np.int32]
    row: NDArray[np.int32]
    run: NDArray[np.int32]
    rank: NDArray[np.int32]
    is_pooled: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Gathered:
    """All submitted instances of the pooled formulae, none shown yet, and (m,) which of them are in a pooled row."""

    members: Members
    is_pooled: NDArray[np.bool_]


def gather(coded: CodedRuns, units: PooledUnits, reach: NDArray[np.int32], depths: Sequence[int]) -> Gathered:
    """The instances, at any rank, that runs of a depth above 0 submitted of each pooled formula in its topic."""
    table, column = _entry_table(coded, units)
    parts = [_found(coded, i, table, column, reach) for i, depth in enumerate(depths) if depth > 0]
    found = _joined(parts)
    key = found.entry.astype(np.int64) * max(1, len(coded.formulae)) + found.row
    order = np.argsort(key, kind="stable")  # the runs of one instance stay in their order
    key = key[order]
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = key[1:] != key[:-1]
    member = (np.cumsum(is_first) - 1).astype(np.int32)
    is_pooled = np.zeros(int(is_first.sum()), dtype=np.bool_)
    is_pooled[member[found.is_pooled[order]]] = True
    row = found.row[order][is_first]
    members = Members(
        entry=found.entry[order][is_first],
        docno=coded.formulae.formula[row],
        post=_posts(coded)[row],
        thread=coded.formulae.thread[row],
        position=np.zeros(len(row), dtype=np.int32),
        member=member,
        run=found.run[order],
        rank=found.rank[order],
    )
    return Gathered(members, is_pooled)


def _joined(parts: Sequence[Found]) -> Found:
    none, flags = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.bool_)
    return Found(
        np.concatenate([none, *(part.entry for part in parts)]),
        np.concatenate([none, *(part.row for part in parts)]),
        np.concatenate([none, *(part.run for part in parts)]),
        np.concatenate([none, *(part.rank for part in parts)]),
        np.concatenate([flags, *(part.is_pooled for part in parts)]),
    )


def _entry_table(coded: CodedRuns, units: PooledUnits) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(topics, columns) the entry of a formula in a topic or -1, and (codes + 1,) the column of each code."""
    code = np.searchsorted(coded.visual, units.docno)
    pooled = np.unique(code)
    column = np.full(len(coded.visual) + 1, len(pooled), dtype=np.int32)
    column[pooled] = np.arange(len(pooled))
    table = np.full((len(coded.topics), len(pooled) + 1), -1, dtype=np.int32)
    table[units.topic_index, column[code]] = np.arange(len(units))
    return table, column


def _found(
    coded: CodedRuns, i: int, table: NDArray[np.int32], column: NDArray[np.int32], reach: NDArray[np.int32]
) -> Found:
    run, one = coded.runs[i], coded.coded[i]
    entry = table[numbers_in(run, coded.topics)[run.topic_index], column[one.code]]
    rows = np.flatnonzero(entry >= 0)
    topic_index, rank = topics_and_ranks(coded, run, rows)
    of_run = np.full(len(rows), i, dtype=np.int32)
    return Found(entry[rows], one.row[rows], of_run, rank, rank <= reach[i, topic_index])


def _posts(coded: CodedRuns) -> NDArray[np.bytes_]:
    """(formulae,) the post of each formula; where the formulae do not say it, the one that a run names."""
    said = coded.formulae.post
    named = [
        (run.post, one) for run, one in zip(coded.runs, coded.coded, strict=True) if run.post is not None
    ]
    if not named or (said != b"").all():
        return said
    width = max(said.dtype.itemsize, *(post.dtype.itemsize for post, _ in named))
    found = np.zeros(len(said), dtype=f"S{width}")
    for post, one in reversed(named):  # of runs that disagree, the first one counts
        is_known = one.row >= 0
        found[one.row[is_known]] = post[is_known]
    return np.where(said == b"", found, said)


def show(gathered: Gathered, units: PooledUnits, *, rules: InstanceRules, seed: int) -> Members:
    """The members with positions: as many of each entry as the rules allow, chosen and ordered by the seed."""
    members = gathered.members
    codes = [code.encode() for code in units.topics.tolist()]
    keys = (
        (codes[t], docno) for t, docno in zip(units.topic_index.tolist(), units.docno.tolist(), strict=True)
    )
    candidates = sampling.Candidates.of(members, gathered.is_pooled, lots.starts(seed, keys))
    is_shown = sampling.choose(candidates, rules)
    return replace(members, position=sampling.positions(candidates, is_shown))
