"""The join of a run with qrels: which documents of the run are judged, and at which ranks.

Only judged documents change a measure, so a run of 100,000 lines is reduced once to its hits: the judged documents that
it retrieved, in flat arrays ordered by topic and rank. All kernels of `assay.measures` work on hits. The join uses a
hash table over the fixed-width bytes of the docnos, and looks up all lines of a run at once. Decision: ADR 7.
"""

from collections.abc import Callable, Hashable
from functools import cached_property, wraps
from typing import Any, NamedTuple, TypeVar, TypeVarTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import NotMeasurable
from assay.formats.qrels.columns import LAYOUTS, QrelsColumns
from assay.formats.runs.columns import Ranked, byte_keys, order_in_topics
from assay.protocols.measures import QrelsKind

Remembered = TypeVar("Remembered")
Derived = TypeVar("Derived")
Arguments = TypeVarTuple("Arguments")

EMPTY = -1
SEVERAL = np.uint8(2)
FEW_ROWS = 8  # of qrels are in the topics of a run, if they are less than one of so many
BLOCK = 1 << 14  # rows whose arrays fit into the cache of the processor
HALF = np.uint64(32)
# An odd multiplier with well-mixed bits (the golden ratio times 2^64) distributes the keys over the table.
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
SALT = np.uint64(0xD6E8FEB86659FD93)


class Lines:
    """All lines of a run, judged or not, for measures that need them, and what was last computed from them.

    Args:
        run: the run.
        place: (topics of the run,) index into the topics of the qrels, or -1.
        depth: number of ranks of each topic that count; None: all.
    """

    def __init__(self, run: Ranked, place: NDArray[np.int64], depth: int | None) -> None:
        self.run, self.place, self.depth = run, place, depth
        self._latest: tuple[Any, ...] = ()

    def latest(
        self, judged: "JudgedDocuments", name: Hashable, compute: Callable[["Lines"], Derived]
    ) -> Derived:
        """A value for these lines and qrels. Only the last one is kept: several measures ask for the same."""
        if not self._latest or self._latest[0] is not judged or self._latest[1] != name:
            self._latest = judged, name, compute(self)
        derived: Derived = self._latest[2]
        return derived


class Hits(NamedTuple):
    """The judged documents that a run retrieved, ordered by topic, then rank.

    Args:
        topic: (hits,) index into the topics of the qrels.
        rank: (hits,) from 1, among all documents of the run, or among the judged ones after `judged_only`.
        grade: (hits,) grades, not negative after `graded`.
        n_returned: (topics,) number of documents of the run for each topic of the qrels, after the depth cut.
        n_pooled_above: (hits,) number of pooled documents without a grade above each hit; None if there are none.
        lines: all lines of the run; None if the hits do not come from a run.
        entry: (hits,) row of the qrels; None likewise.
    """

    topic: NDArray[np.int64]
    rank: NDArray[np.int64]
    grade: NDArray[np.int64]
    n_returned: NDArray[np.int64]
    n_pooled_above: NDArray[np.int64] | None = None
    lines: Lines | None = None
    entry: NDArray[np.int64] | None = None

    def kept(self, is_kept: NDArray[Any]) -> "Hits":
        """Some of the hits, with their ranks unchanged; `is_kept` is (hits,) conditions, or places."""
        pooled = None if self.n_pooled_above is None else self.n_pooled_above[is_kept]
        entry = None if self.entry is None else self.entry[is_kept]
        topic, rank, grade = self.topic[is_kept], self.rank[is_kept], self.grade[is_kept]
        return Hits(topic, rank, grade, self.n_returned, pooled, self.lines, entry)

    def graded(self) -> "Hits":
        """The hits with a grade that is not negative; the others are counted in `n_pooled_above`."""
        is_graded = self.grade >= 0
        if is_graded.all():
            return self
        above = count_above(self.topic, len(self.n_returned), ~is_graded)[is_graded]
        return self.kept(is_graded)._replace(n_pooled_above=above)

    def judged_only(self) -> "Hits":
        """The same hits, ranked among themselves: unjudged documents are removed after sorting."""
        n_judged = np.bincount(self.topic, minlength=len(self.n_returned))
        rank = position_in_topic(self.topic, len(n_judged)) + 1
        return Hits(self.topic, rank, self.grade, n_judged, entry=self.entry)


class Located(NamedTuple):
    """The documents of a run that are in qrels, judged or not, ordered by topic, then rank.

    Args:
        entry: (documents,) row of the qrels.
        rank: (documents,) from 1, among all documents of the run.
        n_returned: (topics,) number of documents of the run for each topic of the qrels.
        lines: all lines of the run.
    """

    entry: NDArray[np.int64]
    rank: NDArray[np.int64]
    n_returned: NDArray[np.int64]
    lines: Lines

    def renumbered(self, entries: NDArray[np.int64]) -> "Located":
        """The same documents in other qrels: `entries` has, for each row of these, the row there or -1."""
        entry = entries[self.entry]
        is_there = entry >= 0
        return Located(entry[is_there], self.rank[is_there], self.n_returned, self.lines)


def _is_first(group: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each row is the first of its group."""
    is_first = np.zeros(len(group), dtype=np.bool_)
    is_first[np.unique(group, return_index=True)[1]] = True
    return is_first


def position_in_topic(topic: NDArray[np.int64], n_topics: int) -> NDArray[np.int64]:
    """(rows,) number of rows of the same topic above each row; rows are sorted by topic."""
    counts = np.bincount(topic, minlength=n_topics)
    starts = np.cumsum(counts) - counts
    return np.arange(len(topic)) - starts[topic]


def count_above(topic: NDArray[np.int64], n_topics: int, is_counted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(rows,) number of counted rows of the same topic above each row; rows are sorted by topic."""
    above: NDArray[np.int64] = np.cumsum(is_counted) - is_counted
    first_row = np.arange(len(topic)) - position_in_topic(topic, n_topics)
    count: NDArray[np.int64] = above - above[first_row]
    return count


class JudgedDocuments:
    """Qrels prepared for the matching of runs.

    `group` (rows,) has, for each row, the row of the document that was judged in its place, which is its own row if it
    has no near-duplicates. The first document of a group that a run retrieves is a hit with its grade; further ones are
    hits that are not relevant. A group counts as one relevant document.
    """

    def __init__(self, qrels: QrelsColumns, group: NDArray[np.int64] | None = None) -> None:
        self.group = group
        self.topics = qrels.topics
        self.topic = qrels.topic_index.astype(np.int64)
        self.docno = qrels.docno
        self.grade = qrels.grade.astype(np.int64)
        self.kind, self.parts = qrels.kind, qrels.parts
        self._place = {code: index for index, code in enumerate(qrels.topics.tolist())}
        self._counts = np.ones(len(self.topic), dtype=np.bool_) if group is None else _is_first(group)
        self._remembered: dict[Hashable, Any] = {}

    @cached_property
    def table(self) -> "_Table":
        """The table that finds the documents of runs. Make it before processes are forked that share it."""
        return _Table(self.topic, self.docno)

    @property
    def n_topics(self) -> int:
        return len(self.topics)

    @property
    def head(self) -> NDArray[np.int64]:
        """(rows,) the row of the document that was judged in place of each row; its own row without near-duplicates."""
        return np.arange(len(self.topic)) if self.group is None else self.group

    def remember(self, name: Hashable, compute: Callable[[], Remembered]) -> Remembered:
        """A value that depends on the qrels only: computed once for all runs, and stored under its name."""
        if name not in self._remembered:
            self._remembered[name] = compute()
        result: Remembered = self._remembered[name]
        return result

    def n_graded(self, lowest: int, below: int | None = None) -> NDArray[np.int64]:
        """(topics,) number of documents with a grade from `lowest`, and less than `below` unless that is None."""

        def count() -> NDArray[np.int64]:
            is_counted = self._counts & (self.grade >= lowest)
            is_counted &= self.grade < below if below is not None else True
            return np.bincount(self.topic[is_counted], minlength=self.n_topics)

        return self.remember(("n_graded", lowest, below), count)

    def parts_of(self, kind: QrelsKind) -> list[bytes]:
        """(rows,) the words of each row of qrels of a kind, as `assay.formats.qrels.columns` describes them.

        Raises:
            NotMeasurable: The qrels are of another kind.
        """
        if self.parts is None or self.kind != kind:
            raise NotMeasurable(
                f"the qrels have no {kind}; import a file with lines of {LAYOUTS[kind].title}",
                title="These measures need other qrels",
            )
        parts: list[bytes] = self.parts.tolist()
        return parts

    @cached_property
    def ideal(self) -> Hits:
        """The best possible ranking, of every judged document, highest grade first."""
        is_judged = self._counts & (self.grade >= 0)
        topic, grade = self.topic[is_judged], self.grade[is_judged]
        order = order_in_topics(topic, -grade)
        rank = position_in_topic(topic, self.n_topics) + 1
        return Hits(topic, rank, grade[order], self.n_graded(0))

    @cached_property
    def highest_grades(self) -> NDArray[np.float64]:
        """(topics,) the highest grade of each topic, at least 1."""
        highest = np.ones(self.n_topics)
        np.maximum.at(highest, self.topic, self.grade)
        return highest

    def hits(self, run: Ranked) -> Hits:
        """The judged documents of a run.

        Pooled documents without a grade (negative in the qrels) are unjudged, like documents that are not in the qrels.
        """
        return self.named_hits(run).graded()

    def named_hits(self, run: Ranked, *, depth: int | None = None) -> Hits:
        """The documents of the run that are in the qrels, including those with a negative grade, at its top `depth`
        ranks of each topic, or at all ranks.
        """
        return self.hits_at(self.locate(run, depth=depth))

    def hits_at(self, located: Located) -> Hits:
        """Documents that are located in these qrels, with their grades."""
        entry, grade = located.entry, self.grade[located.entry]
        if self.group is not None:  # a judged near-duplicate of a hit above is not relevant
            grade = np.where(_is_first(self.group[entry]), grade, np.minimum(grade, 0))
        return Hits(self.topic[entry], located.rank, grade, located.n_returned, None, located.lines, entry)

    def locate(self, run: Ranked, *, depth: int | None = None) -> Located:
        """Find the documents of a run, at its top `depth` ranks of each topic or at all ranks."""
        places = np.array([self._place.get(code, EMPTY) for code in run.topics.tolist()], dtype=np.int64)
        offsets = run.offsets
        first_row, n_rows = offsets[:-1], np.diff(offsets)
        row, entry = self._find(run.docno, offsets, places)
        rank = row - first_row[_block_of(row, offsets)] + 1
        if depth is not None:
            is_kept = rank <= depth
            rank, entry = rank[is_kept], entry[is_kept]
            n_rows = np.minimum(n_rows, depth)
        n_returned = np.zeros(self.n_topics, dtype=np.int64)
        n_returned[places[places >= 0]] = n_rows[places >= 0]
        return Located(entry, rank, n_returned, Lines(run, places, depth))

    def _find(
        self, docno: NDArray[np.bytes_], offsets: NDArray[np.int64], places: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows of a run that are in the qrels, and their rows there; see `_Table.find`."""
        if "table" not in self.__dict__:
            is_in_run = np.zeros(self.n_topics, dtype=np.bool_)
            is_in_run[places[places >= 0]] = True
            rows = np.flatnonzero(is_in_run[self.topic])
            if len(rows) * FEW_ROWS < len(self.topic):  # a table of all rows takes 80 bytes for each
                row, entry = _Table(self.topic[rows], self.docno[rows]).find(docno, offsets, places)
                return row, rows[entry]
        return self.table.find(docno, offsets, places)

    def entries_in(self, part: "JudgedDocuments") -> NDArray[np.int64]:
        """(rows,) the row of each document in a part of these qrels that has the same topics; -1 if it has none."""
        offsets = np.searchsorted(part.topic, np.arange(part.n_topics + 1)).astype(np.int64)
        row, entry = self.table.find(part.docno, offsets, np.arange(part.n_topics))
        entries = np.full(len(self.topic), EMPTY, dtype=np.int64)
        entries[entry] = row
        return entries


def remembered(
    compute: Callable[[JudgedDocuments, *Arguments], Remembered],
) -> Callable[[JudgedDocuments, *Arguments], Remembered]:
    """A function of qrels, and of further hashable values, whose result is stored with the qrels."""

    @wraps(compute)
    def recall(judged: JudgedDocuments, *values: *Arguments) -> Remembered:
        return judged.remember((compute, *values), lambda: compute(judged, *values))

    return recall


class _Table:
    """A hash table with open addressing over (topic, docno), with at least eight slots for each entry.

    Most rows of a run are not judged, and one lookup in a table of bytes detects that: `marks` has, for each slot,
    seven bits of the digest of its entry, 0 if there is no entry, or `SEVERAL` if several entries belong there.
    """

    def __init__(self, topic: NDArray[np.int64], docno: NDArray[np.bytes_]) -> None:
        self.topic = topic
        self.keys = byte_keys(docno)
        self.bits = max(4, (8 * len(topic)).bit_length())
        self.slots = np.full(1 << self.bits, EMPTY, dtype=np.int32)
        self.digest = self._digest(_salts(topic), self.keys)
        self.marks = np.zeros(len(self.slots), dtype=np.uint8)
        entry, slot = np.arange(len(topic), dtype=np.int32), self._slot(self.digest)
        self.marks[slot] = self._mark(self.digest)
        while len(entry):
            is_free = self.slots[slot] == EMPTY
            # if several entries have the same slot, the last one gets it
            self.slots[slot[is_free]] = entry[is_free]
            is_out = self.slots[slot] != entry
            if len(entry) == len(topic):  # all entries are still where they belong
                self.marks[slot[is_out]] = SEVERAL
            entry, slot = entry[is_out], self._next_slot(slot[is_out])

    def _mark(self, digest: NDArray[np.uint64]) -> NDArray[np.uint8]:
        """Seven bits of each digest, as an odd number: neither 0 nor `SEVERAL`."""
        mark: NDArray[np.uint8] = (digest >> np.uint64(56 - self.bits)).astype(np.uint8) | np.uint8(1)
        return mark

    def _digest(self, salt: NDArray[np.uint64], keys: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
        """A number for each topic and docno; docnos of up to eight bytes have different numbers within a topic."""
        mixed = salt ^ keys[0]
        mixed *= MULTIPLIER
        for n in range(1, len(self.keys)):
            mixed ^= mixed >> HALF
            if n < len(keys):
                mixed ^= keys[n]
            mixed *= MULTIPLIER
        return mixed

    def _slot(self, digest: NDArray[np.uint64]) -> NDArray[np.int64]:
        return (digest >> np.uint64(64 - self.bits)).view(np.int64)

    def _next_slot(self, slot: NDArray[np.int64]) -> NDArray[np.int64]:
        return (slot + 1) & (len(self.slots) - 1)

    def find(
        self, docno: NDArray[np.bytes_], offsets: NDArray[np.int64], places: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows of a run that are entries, ascending, and their entries.

        `places` has the number of each topic of the run in the qrels, or -1.
        """
        salts = _salts(places)
        rows, digests = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.uint64)]
        for first in range(0, len(docno), BLOCK):
            borders: NDArray[np.int64] = np.clip(offsets - first, 0, BLOCK)
            digest = self._digest(np.repeat(salts, np.diff(borders)), byte_keys(docno[first : first + BLOCK]))
            mark = self.marks[self._slot(digest)]
            row = np.flatnonzero((mark == self._mark(digest)) | (mark == SEVERAL))  # it may be an entry
            rows.append(row + first)
            digests.append(digest[row])
        row, digest = np.concatenate(rows), np.concatenate(digests)
        topic = places[_block_of(row, offsets)]
        keys = byte_keys(docno[row])
        is_possible = topic >= 0
        for key in keys[len(self.keys) :]:
            is_possible &= key == 0  # otherwise the docno is longer than all entries
        if not is_possible.all():
            row, topic, digest = row[is_possible], topic[is_possible], digest[is_possible]
            keys = [key[is_possible] for key in keys]
        entry = self._probe(topic, digest, keys)
        at = np.flatnonzero(entry >= 0)
        return row[at], entry[at]

    def _probe(
        self, topic: NDArray[np.int64], digest: NDArray[np.uint64], keys: list[NDArray[np.uint64]]
    ) -> NDArray[np.int64]:
        """(rows,) the entry of each row, or -1. All rows are probed at once, to their entry or to an empty slot."""
        entries = np.full(len(topic), EMPTY, dtype=np.int64)
        at = np.arange(len(topic))
        slot = self._slot(digest)
        while len(at):
            entry = self.slots[slot]
            same = (entry >= 0) & (self.digest[entry] == digest[at]) & (self.topic[entry] == topic[at])
            if len(self.keys) > 1:  # docnos of up to eight bytes are equal if their digests are
                for n, mine in enumerate(self.keys):
                    same &= mine[entry] == (keys[n][at] if n < len(keys) else 0)
            entries[at[same]] = entry[same]
            other = np.flatnonzero(~same & (entry >= 0))
            at, slot = at[other], self._next_slot(slot[other])
        return entries


def _block_of(row: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.intp]:
    """The index of the block that contains each of the ascending rows; blocks begin at `offsets`."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(np.searchsorted(row, offsets)))


def _salts(topic: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Numbers that distinguish equal docnos of different topics."""
    salts: NDArray[np.uint64] = topic.astype(np.uint64) * SALT
    return salts
