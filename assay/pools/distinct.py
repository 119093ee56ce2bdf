"""Runs of formula instances, pooled by visually distinct formula.

The depth of a run in a topic is the rank of the first instance of its k-th distinct formula; every formula down to that
rank is pooled. Instances without a visual id belong to no formula: they take a rank and are passed over.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.formats.runs.columns import RunColumns, byte_keys
from assay.formulas.columns import Formulas
from assay.pools.depth import PooledUnits, Top, numbers_in, topics_of, union
from assay.pools.random_draws import drawn

NONE = -1


@dataclass(frozen=True, slots=True)
class CodedRun:
    """What is known of the rows of one run.

    Attributes
    ----------
    row : (n,) row of each instance in the formulas; -1: not there.
    code : (n,) which visually distinct formula it is; -1: it has no visual id.
    nth : (n,) as how many-th distinct formula of its topic it comes, from 1; 0 where it repeats one, or has none.
    """

    row: NDArray[np.int32]
    code: NDArray[np.int32]
    nth: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class CodedRuns:
    """Runs of formula instances beside the formulas; `visual` (v,) has the visual id of each code, sorted by bytes."""

    runs: Sequence[RunColumns]
    topics: NDArray[np.str_]
    formulas: Formulas
    visual: NDArray[np.bytes_]
    coded: Sequence[CodedRun]


def code_runs(runs: Sequence[RunColumns], formulas: Formulas) -> CodedRuns:
    """Look up every row of runs, and count down each topic's distinct formulas."""
    visual, code_of = _coded_visual_ids(formulas)
    table = _Lookup(formulas.formula)
    coded = []
    for run in runs:
        row = table.rows(run.docno)
        code = code_of[row]  # the last one, for the row -1, is NONE
        coded.append(CodedRun(row, code, _nth_distinct(code, run.offsets, len(visual))))
    return CodedRuns(runs, topics_of(runs), formulas, visual, coded)


def _coded_visual_ids(formulas: Formulas) -> tuple[NDArray[np.bytes_], NDArray[np.int32]]:
    """The distinct visual ids, and the code of each formula, with NONE behind them all."""
    keys = byte_keys(formulas.visual)
    order = np.argsort(keys[0], kind="stable") if len(keys) == 1 else np.lexsort(keys[::-1])
    ordered = formulas.visual[order]
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = ordered[1:] != ordered[:-1]
    visual = ordered[is_new]
    code = np.full(len(order) + 1, NONE, dtype=np.int32)
    code[order] = np.cumsum(is_new) - 1
    if len(visual) and not visual[0]:  # the empty id sorts first, and is none
        code[:-1] -= 1
        return visual[1:], code
    return visual, code


class _Lookup:
    """Finds ids among sorted ones. Those of up to eight bytes, as nearly all are, stand in a table by their hash."""

    def __init__(self, ids: NDArray[np.bytes_]) -> None:
        self.ids = ids
        self.keys = byte_keys(ids)[0] if ids.dtype.itemsize <= 8 and len(ids) else None
        self.table = np.empty(0, dtype=np.int32) if self.keys is None else _hashed(self.keys)

    def rows(self, wanted: NDArray[np.bytes_]) -> NDArray[np.int32]:
        """(n,) the row of each wanted id; NONE where it is not there."""
        if self.keys is None:
            return self._rows_of_bytes(wanted)
        key, *longer = byte_keys(wanted)
        left = np.flatnonzero(~np.any(longer, axis=0)) if longer else np.arange(len(key))
        key = key[left]
        found: NDArray[np.int32] = np.full(len(wanted), NONE, dtype=np.int32)
        place = _places(key, len(self.table))
        while len(left):
            row = self.table[place]
            is_free = row == NONE
            is_hit = (self.keys[row] == key) & ~is_free
            found[left[is_hit]] = row[is_hit]
            goes_on = ~(is_hit | is_free)
            left, key = left[goes_on], key[goes_on]
            place = (place[goes_on] + 1) & (len(self.table) - 1)
        return found

    def _rows_of_bytes(self, wanted: NDArray[np.bytes_]) -> NDArray[np.int32]:
        if not len(self.ids):
            return np.full(len(wanted), NONE, dtype=np.int32)
        at = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        return np.where(self.ids[at] == wanted, at, NONE).astype(np.int32)


def _hashed(keys: NDArray[np.uint64]) -> NDArray[np.int32]:
    """A table, a power of 2 long, with the row of each key at its place or, where that is taken, one of the next."""
    table = np.full(1 << (2 * len(keys)).bit_length(), NONE, dtype=np.int32)
    left = np.arange(len(keys), dtype=np.int32)
    place = _places(keys, len(table))
    while len(left):
        is_free = table[place] == NONE
        table[place[is_free]] = left[is_free]
        goes_on = table[place] != left  # also of those that another one has just come before
        left, place = left[goes_on], (place[goes_on] + 1) & (len(table) - 1)
    return table


def _places(keys: NDArray[np.uint64], size: int) -> NDArray[np.int64]:
    return (drawn(keys, np.zeros(1, dtype=np.uint64)) & np.uint64(size - 1)).astype(np.int64)


def _nth_distinct(code: NDArray[np.int32], offsets: NDArray[np.int64], n_codes: int) -> NDArray[np.int32]:
    """(n,) as how many-th distinct code of its topic a row comes, 0 for a repetition or NONE."""
    nth = np.zeros(len(code), dtype=np.int32)
    seen_at = np.empty(n_codes + 1, dtype=np.int32)  # the last place is that of NONE
    for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        part = code[start:end]
        rows = np.arange(end - start, dtype=np.int32)
        seen_at[part[::-1]] = rows[::-1]  # of several places written, the last one stays: the first row
        is_first = (seen_at[part] == rows) & (part != NONE)
        nth[start:end] = np.where(is_first, np.cumsum(is_first), 0)
    return nth


def reach_of_distinct(coded: CodedRuns, depths: Sequence[int]) -> NDArray[np.int32]:
    """(runs, t) the rank of the first instance of the k-th distinct formula; all rows where there are fewer."""
    reach = np.zeros((len(coded.runs), len(coded.topics)), dtype=np.int32)
    for taken, run, one, depth in zip(reach, coded.runs, coded.coded, depths, strict=True):
        if depth == 0:
            continue
        numbers, start = numbers_in(run, coded.topics), run.offsets[:-1]
        taken[numbers] = np.diff(run.offsets)
        kth = np.flatnonzero(one.nth == depth)
        topic = run.topic_index[kth]
        taken[numbers[topic]] = kth - start[topic] + 1
    return reach


def pool_distinct(coded: CodedRuns, reach: NDArray[np.int32], *, by_nth: bool = False) -> PooledUnits:
    """The distinct formulas that stand in runs down to `reach` (runs, t); ranks are those of their first instances.

    With `by_nth` a rank is instead the number of the formula among those of the run and topic: as how many-th it came.
    """
    tops = [
        _top(coded, run, one, taken, by_nth)
        for run, one, taken in zip(coded.runs, coded.coded, reach, strict=True)
    ]
    return union(tops, coded.topics)


def _top(coded: CodedRuns, run: RunColumns, one: CodedRun, reach: NDArray[np.int32], by_nth: bool) -> Top:
    first = np.flatnonzero(one.nth)
    topic_index, rank = topics_and_ranks(coded, run, first)
    taken = rank <= reach[topic_index]
    rank = one.nth[first] if by_nth else rank
    return Top(topic_index[taken], coded.visual[one.code[first[taken]]], rank[taken])


def topics_and_ranks(
    coded: CodedRuns, run: RunColumns, rows: NDArray[np.intp]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Number of the topic, and rank, of some rows of a run."""
    topic = run.topic_index[rows]
    return numbers_in(run, coded.topics)[topic], (rows - run.offsets[topic] + 1).astype(np.int32)


def passed_over(coded: CodedRuns, reach: NDArray[np.int32]) -> list[int]:
    """(runs,) instances without a visual id down to `reach`."""
    counts = []
    for run, one, taken in zip(coded.runs, coded.coded, reach, strict=True):
        topic_index, rank = topics_and_ranks(coded, run, np.flatnonzero(one.code == NONE))
        counts.append(int((rank <= taken[topic_index]).sum()))
    return counts
