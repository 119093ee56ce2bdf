"""Pooling of runs of formula instances by visually distinct formula.

The depth k of a run counts distinct formulas: the run is taken to the rank of the first instance of its k-th distinct
formula, and every formula up to that rank is pooled. Instances without a visual id are skipped, but keep their ranks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.formats.runs.columns import RunColumns, byte_keys
from assay.formulas.columns import Formulas
from assay.pools.depth import PooledUnits, Top, begins, numbers_in, topics_of, union
from assay.random_draws import random_numbers

NONE = -1


@dataclass(frozen=True, slots=True)
class CodedRun:
    """The rows of one run, looked up in the formulas.

    Args:
        row: (n,) row of each instance in the formulas; -1 if it is not there.
        code: (n,) number of its visually distinct formula; -1 if it has no visual id.
        nth: (n,) position of the formula among the distinct formulas of its topic, from 1, at its first instance; 0 at
            other instances, and at instances without a visual id.
    """

    row: NDArray[np.int32]
    code: NDArray[np.int32]
    nth: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class CodedRuns:
    """Runs of formula instances with the formulas; `visual` (v,) has the visual id of each code, sorted by bytes."""

    runs: Sequence[RunColumns]
    topics: NDArray[np.str_]
    formulas: Formulas
    visual: NDArray[np.bytes_]
    coded: Sequence[CodedRun]


def code_runs(runs: Sequence[RunColumns], formulas: Formulas) -> CodedRuns:
    """Look up every row of the runs, and number the distinct formulas of each topic."""
    visual, code_of = _coded_visual_ids(formulas)
    table = _Lookup(formulas.formula)
    coded = []
    for run in runs:
        row = table.rows(run.docno)
        code = code_of[row]  # the last element, for the row -1, is NONE
        coded.append(CodedRun(row, code, _nth_distinct(code, run.offsets, len(visual))))
    return CodedRuns(runs, topics_of(runs), formulas, visual, coded)


def _coded_visual_ids(formulas: Formulas) -> tuple[NDArray[np.bytes_], NDArray[np.int32]]:
    """The distinct visual ids, and the code of each formula, followed by NONE."""
    keys = byte_keys(formulas.visual)
    order = np.argsort(keys[0], kind="stable") if len(keys) == 1 else np.lexsort(keys[::-1])
    ordered = formulas.visual[order]
    is_new = begins(ordered)
    visual = ordered[is_new]
    code = np.full(len(order) + 1, NONE, dtype=np.int32)
    code[order] = np.cumsum(is_new) - 1
    if len(visual) and not visual[0]:  # the empty id sorts first, and is not an id
        code[:-1] -= 1
        return visual[1:], code
    return visual, code


class _Lookup:
    """Finds ids in a sorted array. Ids of up to eight bytes, as most are, are found in a hash table."""

    def __init__(self, ids: NDArray[np.bytes_]) -> None:
        self.ids = ids
        self.keys = byte_keys(ids)[0] if ids.dtype.itemsize <= 8 and len(ids) else None
        # the row of each key at the slot of the key or, if that is occupied, at one of the next slots
        self.table = np.full(1 << (2 * len(ids)).bit_length(), NONE, dtype=np.int32)
        if self.keys is None:
            return
        row, slot = np.arange(len(ids), dtype=np.int32), _slots(self.keys, len(self.table))
        while len(row):
            is_free = self.table[slot] == NONE
            self.table[slot[is_free]] = row[is_free]
            is_open = self.table[slot] != row  # also rows whose slot another row took in this pass
            row, slot = row[is_open], (slot[is_open] + 1) & (len(self.table) - 1)

    def rows(self, wanted: NDArray[np.bytes_]) -> NDArray[np.int32]:
        """(n,) the row of each wanted id; NONE if it is not there."""
        if not len(self.ids):
            return np.full(len(wanted), NONE, dtype=np.int32)
        if self.keys is None:
            at = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
            return np.where(self.ids[at] == wanted, at, NONE).astype(np.int32)
        key, *longer = byte_keys(wanted)
        pending = np.flatnonzero(~np.any(longer, axis=0)) if longer else np.arange(len(key))
        key = key[pending]
        rows: NDArray[np.int32] = np.full(len(wanted), NONE, dtype=np.int32)
        slot = _slots(key, len(self.table))
        while len(pending):
            row = self.table[slot]
            is_free = row == NONE
            is_hit = (self.keys[row] == key) & ~is_free
            rows[pending[is_hit]] = row[is_hit]
            is_open = ~(is_hit | is_free)
            pending, key = pending[is_open], key[is_open]
            slot = (slot[is_open] + 1) & (len(self.table) - 1)
        return rows


def _slots(keys: NDArray[np.uint64], size: int) -> NDArray[np.int64]:
    return (random_numbers(keys, np.zeros(1, dtype=np.uint64)) & np.uint64(size - 1)).astype(np.int64)


def _nth_distinct(code: NDArray[np.int32], offsets: NDArray[np.int64], n_codes: int) -> NDArray[np.int32]:
    """(n,) `CodedRun.nth` of the rows of a run."""
    nth = np.zeros(len(code), dtype=np.int32)
    seen_at = np.empty(n_codes + 1, dtype=np.int32)  # the last element is that of NONE
    for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        part = code[start:end]
        rows = np.arange(end - start, dtype=np.int32)
        seen_at[part[::-1]] = rows[::-1]  # the last write remains: the first row of each code
        is_first = (seen_at[part] == rows) & (part != NONE)
        nth[start:end] = np.where(is_first, np.cumsum(is_first), 0)
    return nth


def reach_of_distinct(coded: CodedRuns, depths: Sequence[int]) -> NDArray[np.int32]:
    """(runs, t) rank of the first instance of the k-th distinct formula; all rows if there are fewer than k."""
    reach = np.zeros((len(coded.runs), len(coded.topics)), dtype=np.int32)
    for of_run, run, rows, depth in zip(reach, coded.runs, coded.coded, depths, strict=True):
        if depth == 0:
            continue
        numbers, start = numbers_in(run, coded.topics), run.offsets[:-1]
        of_run[numbers] = np.diff(run.offsets)
        kth = np.flatnonzero(rows.nth == depth)
        topic = run.topic_index[kth]
        of_run[numbers[topic]] = kth - start[topic] + 1
    return reach


def pool_distinct(coded: CodedRuns, reach: NDArray[np.int32], *, by_nth: bool = False) -> PooledUnits:
    """The distinct formulas of the runs at ranks up to `reach` (runs, t).

    The rank of a formula is that of its first instance or, with `by_nth`, its position among the distinct formulas of
    the run and topic.
    """
    tops = []
    for run, rows, of_run in zip(coded.runs, coded.coded, reach, strict=True):
        first = np.flatnonzero(rows.nth)
        topic_index, rank = topics_and_ranks(coded, run, first)
        is_pooled = rank <= of_run[topic_index]
        rank = rows.nth[first] if by_nth else rank
        tops.append(Top(topic_index[is_pooled], coded.visual[rows.code[first[is_pooled]]], rank[is_pooled]))
    return union(tops, coded.topics)


def topics_and_ranks(
    coded: CodedRuns, run: RunColumns, rows: NDArray[np.intp]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Number of the topic, and rank, of rows of a run."""
    topic = run.topic_index[rows]
    return numbers_in(run, coded.topics)[topic], (rows - run.offsets[topic] + 1).astype(np.int32)


def count_skipped(coded: CodedRuns, reach: NDArray[np.int32]) -> list[int]:
    """(runs,) number of instances without a visual id at ranks up to `reach` (runs, t)."""
    counts = []
    for run, rows, of_run in zip(coded.runs, coded.coded, reach, strict=True):
        topic_index, rank = topics_and_ranks(coded, run, np.flatnonzero(rows.code == NONE))
        counts.append(int((rank <= of_run[topic_index]).sum()))
    return counts
