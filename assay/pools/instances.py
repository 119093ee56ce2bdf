"""The submitted instances of the pooled formulas, and which of them are shown to the assessor."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import random_draws
from assay.pools import sampling
from assay.pools.depth import Members, PooledUnits, numbers_in
from assay.pools.distinct_formulas import CodedRuns, topics_and_ranks
from assay.protocols.schema import InstanceRules


class RunInstances(NamedTuple):
    """Rows of a run with instances of pooled formulas, in the order of the run.

    Args:
        entry, row, rank: (n,) entry of the pool, row in the formulas, and rank.
        is_pooled: (n,) whether the row is within the depth of the run.
        borders: the rows of topic t are those from borders[t] to borders[t + 1].
    """

    run: int
    entry: NDArray[np.int32]
    row: NDArray[np.int32]
    rank: NDArray[np.int32]
    is_pooled: NDArray[np.bool_]
    borders: list[int]


def gather(
    coded: CodedRuns, units: PooledUnits, reach: NDArray[np.int32], depths: Sequence[int]
) -> tuple[Members, NDArray[np.bool_]]:
    """Collect the instances of each pooled formula in its topic, at any rank, from all runs of a depth above 0.

    Args:
        reach: (runs, t) rank to which each run is pooled in each topic.
        depths: (runs,) depth of each run.

    Returns:
        The instances, not yet chosen, and (m,) whether each is in a pooled row.
    """
    # the entry of a formula in a topic, or -1, by topic and column; and the column of each code
    code_of_entry = np.searchsorted(coded.visual, units.docno)
    pooled = np.unique(code_of_entry)
    column = np.full(len(coded.visual) + 1, len(pooled), dtype=np.int32)
    column[pooled] = np.arange(len(pooled))
    table = np.full((len(coded.topics), len(pooled) + 1), -1, dtype=np.int32)
    table[units.topic_index, column[code_of_entry]] = np.arange(len(units))
    runs = []
    for i in np.flatnonzero(depths).tolist():
        run, coded_rows = coded.runs[i], coded.coded[i]
        entry = table[numbers_in(run, coded.topics)[run.topic_index], column[coded_rows.code]]
        rows = np.flatnonzero(entry >= 0)
        topic, rank = topics_and_ranks(coded, run, rows)
        borders = np.searchsorted(topic, np.arange(len(coded.topics) + 1)).tolist()
        runs.append(
            RunInstances(i, entry[rows], coded_rows.row[rows], rank, rank <= reach[i, topic], borders)
        )
    n = len(coded.formulas)
    scratch = _Scratch(np.zeros(n, np.bool_), np.empty(n, np.int32), np.empty(n, np.int32))
    posts = _posts(coded)
    parts = [_gather_topic(runs, topic, scratch) for topic in range(len(coded.topics))]
    starts = np.cumsum([0, *(len(row) for _, row, *_ in parts)]).astype(np.int32)
    entry, row, is_pooled, member, of_run, rank = (np.concatenate(part) for part in zip(*parts, strict=True))
    members = Members(
        entry=entry,
        docno=coded.formulas.formula[row],
        post=posts[row],
        thread=coded.formulas.thread[row],
        position=np.zeros(len(row), dtype=np.int32),
        member=member + np.repeat(starts[:-1], [len(part[3]) for part in parts]),
        run=of_run,
        rank=rank,
    )
    return members, is_pooled


class _Scratch(NamedTuple):
    """Arrays over all formulas, to number the instances of a topic without sorting; used again for each topic."""

    is_there: NDArray[np.bool_]
    entry: NDArray[np.int32]
    number: NDArray[np.int32]


def _gather_topic(runs: Sequence[RunInstances], topic: int, scratch: _Scratch) -> tuple[NDArray[Any], ...]:
    """Entry, row and is_pooled (m,) of the members of a topic; member, run and rank (c,) of its contributions."""
    spans = [slice(rows.borders[topic], rows.borders[topic + 1]) for rows in runs]
    row = np.concatenate([rows.row[span] for rows, span in zip(runs, spans, strict=True)])
    rank = np.concatenate([rows.rank[span] for rows, span in zip(runs, spans, strict=True)])
    pooled = np.concatenate([rows.is_pooled[span] for rows, span in zip(runs, spans, strict=True)])
    run = np.repeat(
        np.array([rows.run for rows in runs], dtype=np.int32), [span.stop - span.start for span in spans]
    )
    scratch.entry[row] = np.concatenate([rows.entry[span] for rows, span in zip(runs, spans, strict=True)])
    scratch.is_there[row] = True
    rows = np.flatnonzero(scratch.is_there).astype(np.int32)
    scratch.is_there[rows] = False
    rows = rows[np.argsort(scratch.entry[rows], kind="stable")]
    scratch.number[rows] = np.arange(len(rows), dtype=np.int32)
    member: NDArray[np.int32] = scratch.number[row]
    is_pooled = np.zeros(len(rows), dtype=np.bool_)
    is_pooled[member[pooled]] = True
    # 16-bit numbers are sorted in linear time; the runs of an instance keep their order
    order = np.argsort(member.astype(np.uint16) if len(rows) <= 1 << 16 else member, kind="stable")
    return scratch.entry[rows], rows, is_pooled, member[order], run[order], rank[order]


def _posts(coded: CodedRuns) -> NDArray[np.bytes_]:
    """(formulas,) the post of each formula: that of the formulas or, if they do not have it, that of a run."""
    known = coded.formulas.post
    in_runs = [
        (run.post, rows.row)
        for run, rows in zip(coded.runs, coded.coded, strict=True)
        if run.post is not None
    ]
    if not in_runs or (known != b"").all():
        return known
    width = max(known.dtype.itemsize, *(post.dtype.itemsize for post, _ in in_runs))
    submitted = np.zeros(len(known), dtype=f"S{width}")
    for post, row in reversed(in_runs):  # if runs disagree, the first run counts
        is_known = row >= 0
        submitted[row[is_known]] = post[is_known]
    return np.where(known == b"", submitted, known)


def show(
    members: Members, is_pooled: NDArray[np.bool_], units: PooledUnits, *, rules: InstanceRules, seed: int
) -> Members:
    """The members with positions: as many of each entry as the rules allow, chosen and ordered with the seed."""
    codes = [code.encode() for code in units.topics.tolist()]
    keys = (
        (codes[t], docno) for t, docno in zip(units.topic_index.tolist(), units.docno.tolist(), strict=True)
    )
    candidates = sampling.Candidates.of(members, is_pooled, random_draws.stream_starts(seed, keys))
    is_shown = sampling.choose(candidates, rules)
    return replace(members, position=sampling.positions(candidates, is_shown))
