"""The submitted instances of the formulas that are pooled, and which of them are shown to be judged."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.pools import random_draws, sampling
from assay.pools.depth import PooledUnits, numbers_in
from assay.pools.distinct import CodedRuns, topics_and_ranks
from assay.pools.members import Members
from assay.protocols.schema import InstanceRules


class Found(NamedTuple):
    """Rows of a run that hold pooled formulas: entry, row in the formulas, rank, and whether it was pooled.

    They stand in the order of the run; those of topic t are the ones from borders[t] up to borders[t + 1].
    """

    run: int
    entry: NDArray[np.int32]
    row: NDArray[np.int32]
    rank: NDArray[np.int32]
    is_pooled: NDArray[np.bool_]
    borders: list[int]


@dataclass(frozen=True, slots=True)
class Gathered:
    """All submitted instances of the pooled formulas, none shown yet, and (m,) which of them are in a pooled row."""

    members: Members
    is_pooled: NDArray[np.bool_]


def gather(coded: CodedRuns, units: PooledUnits, reach: NDArray[np.int32], depths: Sequence[int]) -> Gathered:
    """The instances, at any rank, that runs of a depth above 0 submitted of each pooled formula in its topic."""
    table, column = _entry_table(coded, units)
    found = [_found(coded, i, table, column, reach) for i, depth in enumerate(depths) if depth > 0]
    scratch = _Scratch.of(len(coded.formulas))
    posts = _posts(coded)
    parts = [_gather_topic(found, topic, scratch) for topic in range(len(coded.topics))]
    starts = np.cumsum([0, *(len(part.row) for part in parts)])
    row = np.concatenate([part.row for part in parts])
    members = Members(
        entry=np.concatenate([part.entry for part in parts]),
        docno=coded.formulas.formula[row],
        post=posts[row],
        thread=coded.formulas.thread[row],
        position=np.zeros(len(row), dtype=np.int32),
        member=np.concatenate(
            [part.member + start for part, start in zip(parts, starts[:-1].astype(np.int32), strict=True)]
        ),
        run=np.concatenate([part.run for part in parts]),
        rank=np.concatenate([part.rank for part in parts]),
    )
    return Gathered(members, np.concatenate([part.is_pooled for part in parts]))


class _Part(NamedTuple):
    """The members of one topic, (m,) entry, row and whether pooled; and its contributions, (c,) member, run, rank."""

    entry: NDArray[np.int32]
    row: NDArray[np.int32]
    is_pooled: NDArray[np.bool_]
    member: NDArray[np.int32]
    run: NDArray[np.int32]
    rank: NDArray[np.int32]


class _Scratch(NamedTuple):
    """Room to number a topic's instances by their rows in the formulas, without sorting what runs submitted."""

    is_there: NDArray[np.bool_]
    entry: NDArray[np.int32]
    number: NDArray[np.int32]

    @classmethod
    def of(cls, n: int) -> "_Scratch":
        return cls(np.zeros(n, dtype=np.bool_), np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32))


def _gather_topic(found: Sequence[Found], topic: int, scratch: _Scratch) -> _Part:
    spans = [slice(one.borders[topic], one.borders[topic + 1]) for one in found]
    row = np.concatenate([one.row[span] for one, span in zip(found, spans, strict=True)])
    rank = np.concatenate([one.rank[span] for one, span in zip(found, spans, strict=True)])
    pooled = np.concatenate([one.is_pooled[span] for one, span in zip(found, spans, strict=True)])
    run = np.repeat(
        np.array([one.run for one in found], dtype=np.int32), [span.stop - span.start for span in spans]
    )
    scratch.entry[row] = np.concatenate([one.entry[span] for one, span in zip(found, spans, strict=True)])
    scratch.is_there[row] = True
    rows = np.flatnonzero(scratch.is_there).astype(np.int32)
    scratch.is_there[rows] = False
    rows = rows[np.argsort(scratch.entry[rows], kind="stable")]
    scratch.number[rows] = np.arange(len(rows), dtype=np.int32)
    member: NDArray[np.int32] = scratch.number[row]
    is_pooled = np.zeros(len(rows), dtype=np.bool_)
    is_pooled[member[pooled]] = True
    # 16-bit numbers are sorted in linear time; the runs of one instance stay in their order
    order = np.argsort(member.astype(np.uint16) if len(rows) <= 1 << 16 else member, kind="stable")
    return _Part(scratch.entry[rows], rows, is_pooled, member[order], run[order], rank[order])


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
    borders = np.searchsorted(topic_index, np.arange(len(coded.topics) + 1)).tolist()
    return Found(i, entry[rows], one.row[rows], rank, rank <= reach[i, topic_index], borders)


def _posts(coded: CodedRuns) -> NDArray[np.bytes_]:
    """(formulas,) the post of each formula; where the formulas do not say it, the one that a run names."""
    said = coded.formulas.post
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
    candidates = sampling.Candidates.of(members, gathered.is_pooled, random_draws.starts(seed, keys))
    is_shown = sampling.choose(candidates, rules)
    return replace(members, position=sampling.positions(candidates, is_shown))
