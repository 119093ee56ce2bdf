"""Which of a run's documents are judged, and at which rank: the join of a run with qrels.

Nothing but the judged documents moves any measure, so a run of 100,000 lines is reduced here, once, to its hits: the
judged documents that it found, flat, in the order of topic and rank. Every kernel of `scoring.measures` works on
hits. The join is a hash table over the fixed-width bytes of the docnos, probed for all lines of a run at once.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pooling.columns import RunColumns, byte_keys
from scoring.qrels_format import QrelsColumns

Remembered = TypeVar("Remembered")

EMPTY = -1
HALF = np.uint64(32)
# An odd multiplier with well-mixed bits (the golden ratio times 2^64) spreads the keys over the table.
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """The judged documents that a run found, ordered by topic, then rank.

    topic : (hits,) index into the topics of the qrels.
    rank : (hits,) from 1, among all documents of the run, or among the judged ones if those alone were kept.
    grade : (hits,) never negative.
    n_returned : (topics,) documents that the run has for each topic of the qrels, after removal and depth cut.
    n_pooled_above : (hits,) pooled documents without a grade that stand above each hit; None where there are none.
    """

    topic: NDArray[np.int64]
    rank: NDArray[np.int64]
    grade: NDArray[np.int64]
    n_returned: NDArray[np.int64]
    n_pooled_above: NDArray[np.int64] | None = None

    def kept(self, is_kept: NDArray[np.bool_]) -> "Hits":
        """Those hits alone, at the ranks that they have."""
        pooled = None if self.n_pooled_above is None else self.n_pooled_above[is_kept]
        return Hits(self.topic[is_kept], self.rank[is_kept], self.grade[is_kept], self.n_returned, pooled)

    def graded(self) -> "Hits":
        """Of documents that the qrels name, those with a grade; the others are counted in `n_pooled_above`."""
        is_graded = self.grade >= 0
        if is_graded.all():
            return self
        graded = self.kept(is_graded)
        above = count_above(self.topic, len(self.n_returned), ~is_graded)[is_graded]
        return Hits(graded.topic, graded.rank, graded.grade, graded.n_returned, above)

    def judged_only(self) -> "Hits":
        """The same hits ranked among themselves: unjudged documents removed, after sorting."""
        n_judged = np.bincount(self.topic, minlength=len(self.n_returned))
        rank = position_in_topic(self.topic, len(n_judged)) + 1
        return Hits(self.topic, rank, self.grade, n_judged)


def position_in_topic(topic: NDArray[np.int64], n_topics: int) -> NDArray[np.int64]:
    """How many rows of the same topic stand above each row; rows are sorted by topic. Shape (rows,)."""
    counts = np.bincount(topic, minlength=n_topics)
    starts = np.cumsum(counts) - counts
    return np.arange(len(topic)) - starts[topic]


def count_above(topic: NDArray[np.int64], n_topics: int, is_counted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many counted rows of the same topic stand above each row; rows are sorted by topic. Shape (rows,)."""
    above: NDArray[np.int64] = np.cumsum(is_counted) - is_counted
    first_row = np.arange(len(topic)) - position_in_topic(topic, n_topics)
    count: NDArray[np.int64] = above - above[first_row]
    return count


class JudgedDocuments:
    """Qrels made ready to be matched with runs, and to be counted by the measures."""

    def __init__(self, qrels: QrelsColumns) -> None:
        self.topics = qrels.topics
        self.topic = qrels.topic_index.astype(np.int64)
        self.grade = qrels.grade.astype(np.int64)
        self._place = {code: index for index, code in enumerate(qrels.topics.tolist())}
        self._table = _Table(self.topic, qrels.docno)
        self._remembered: dict[Hashable, Any] = {}

    @property
    def n_topics(self) -> int:
        return len(self.topics)

    def remember(self, name: Hashable, compute: Callable[[], Remembered]) -> Remembered:
        """What depends on the qrels alone is computed once, however many runs are scored."""
        if name not in self._remembered:
            self._remembered[name] = compute()
        remembered: Remembered = self._remembered[name]
        return remembered

    def n_graded(self, lowest: int, below: int | None = None) -> NDArray[np.int64]:
        """Documents of each topic with a grade from `lowest`, and under `below` if that is given. Shape (topics,)."""

        def count() -> NDArray[np.int64]:
            is_counted = (self.grade >= lowest) & (self.grade < below if below is not None else True)
            return np.bincount(self.topic[is_counted], minlength=self.n_topics)

        return self.remember(("n_graded", lowest, below), count)

    @cached_property
    def ideal(self) -> Hits:
        """The ranking that no run can beat: every judged document, highest grade first."""
        is_judged = self.grade >= 0
        topic, grade = self.topic[is_judged], self.grade[is_judged]
        order = np.lexsort((-grade, topic))
        rank = position_in_topic(topic, self.n_topics) + 1
        return Hits(topic, rank, grade[order], self.n_graded(0))

    def hits(self, run: RunColumns, *, depth: int | None = None) -> Hits:
        """What a run found, among its top `depth` ranks of each topic, or all of them.

        Pooled documents without a grade (negative in the qrels) are as unjudged as those that the qrels do not name.
        """
        return self.found(run, depth=depth).graded()

    def found(self, run: RunColumns, *, depth: int | None = None) -> Hits:
        """Every document of the run that the qrels name, those with a negative grade as well."""
        places = np.array([self._place.get(code, EMPTY) for code in run.topics.tolist()], dtype=np.int64)
        first_row, n_rows = run.offsets[:-1], np.diff(run.offsets)
        topic = places[run.topic_index] if len(run) else places[:0]
        if depth is not None:
            topic[np.arange(len(run)) - first_row[run.topic_index] >= depth] = EMPTY
            n_rows = np.minimum(n_rows, depth)
        row, entry = self._table.find(topic, run.docno)
        n_returned = np.zeros(self.n_topics, dtype=np.int64)
        n_returned[places[places >= 0]] = n_rows[places >= 0]
        return Hits(topic[row], row - first_row[run.topic_index[row]] + 1, self.grade[entry], n_returned)


class _Table:
    """An open hash table over (topic, docno), four slots or more for each entry, probed with whole arrays."""

    def __init__(self, topic: NDArray[np.int64], docno: NDArray[np.bytes_]) -> None:
        self.topic = topic
        self.keys = byte_keys(docno)
        self.bits = max(4, (4 * len(topic)).bit_length())
        self.slots = np.full(1 << self.bits, EMPTY, dtype=np.int32)
        entry = np.arange(len(topic))
        slot = self._first_slot(topic, self.keys)
        while len(entry):
            is_free = self.slots[slot] == EMPTY
            self.slots[slot[is_free]] = entry[is_free]  # of several entries for one slot, the last stays
            is_out = self.slots[slot] != entry
            entry, slot = entry[is_out], self._next_slot(slot[is_out])

    def _first_slot(self, topic: NDArray[np.int64], keys: list[NDArray[np.uint64]]) -> NDArray[np.int64]:
        mixed = topic.astype(np.uint64) * MULTIPLIER
        for key in keys:
            mixed ^= key
            mixed *= MULTIPLIER
            mixed ^= mixed >> HALF
        return ((mixed * MULTIPLIER) >> np.uint64(64 - self.bits)).astype(np.int64)

    def _next_slot(self, slot: NDArray[np.int64]) -> NDArray[np.int64]:
        return (slot + 1) & (len(self.slots) - 1)

    def find(
        self, topic: NDArray[np.int64], docno: NDArray[np.bytes_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which rows (topic, docno) are entries, ascending, and which; a topic of -1 is in no entry."""
        keys = byte_keys(docno)
        is_possible = topic >= 0
        for key in keys[len(self.keys) :]:
            is_possible &= key == 0  # else it is longer than any docno of the entries
        row = np.flatnonzero(is_possible)
        nothing = np.zeros(len(row), dtype=np.uint64)
        columns = [keys[n][row] if n < len(keys) else nothing for n in range(len(self.keys))]
        found = self._probe(topic[row], columns)
        at = np.flatnonzero(found >= 0)
        return row[at], found[at]

    def _probe(self, topic: NDArray[np.int64], keys: list[NDArray[np.uint64]]) -> NDArray[np.int64]:
        """Walk the slots of all rows at once; a row leaves at its entry or at an empty slot. Shape (rows,)."""
        found = np.full(len(topic), EMPTY, dtype=np.int64)
        at = np.arange(len(topic))
        slot = self._first_slot(topic, keys)
        while len(at):
            entry = self.slots[slot]
            taken = np.flatnonzero(entry >= 0)
            at, slot, entry = at[taken], slot[taken], entry[taken]
            is_same = self.topic[entry] == topic[at]
            for mine, theirs in zip(self.keys, keys, strict=True):
                is_same &= mine[entry] == theirs[at]
            same, other = np.flatnonzero(is_same), np.flatnonzero(~is_same)
            found[at[same]] = entry[same]
            at, slot = at[other], self._next_slot(slot[other])
        return found
