"""A run as columns, on which pooling and scoring compute, and the file that stores them.

Rows are in trec_eval's order: topic by bytes, score descending (doubles; -0.0 ties 0.0), docno descending by bytes.
Where a protocol says so, ties keep the order of the file, or have that of the rank column. The order of rows is the
order of the run: no reader of the columns sorts them again. The rank column is stored as it is in the file.
"""

from dataclasses import dataclass, replace
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from assay.protocols.schema import Ties  # importing it takes 10 ms of the start of a command


REQUIRED, OPTIONAL = ("topics", "topic_index", "docno", "rank", "score"), ("post", "passage", "label")


@dataclass(frozen=True, slots=True)
class RunColumns:
    """One run. All arrays but `topics` have the same length.

    Args:
        topics: (t,) unicode codes of the topics in the run, sorted by bytes.
        topic_index: (n,) int32 index into `topics`, not decreasing.
        docno: (n,) bytes, UTF-8, none with a NUL.
        rank: (n,) int32, as in the file.
        score: (n,) float64, all finite.
        post: (n,) bytes, docno of the post that contains each formula, in the forms that name it; else None.
        passage: (n,) bytes, UTF-8, the text of each citation, in the forms that have it; else None.
        label: (n,) whether the run calls each document relevant, in the forms that have it; else None.
    """

    topics: NDArray[np.str_]
    topic_index: NDArray[np.int32]
    docno: NDArray[np.bytes_]
    rank: NDArray[np.int32]
    score: NDArray[np.float64]
    post: NDArray[np.bytes_] | None = None
    passage: NDArray[np.bytes_] | None = None
    label: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.topic_index)

    @property
    def offsets(self) -> NDArray[np.int64]:
        """(t + 1,) topic i has the rows from offsets[i] up to, not including, offsets[i + 1]."""
        return np.searchsorted(self.topic_index, np.arange(len(self.topics) + 1)).astype(np.int64)

    def cut(self, depth: int) -> "RunColumns":
        """The first `depth` documents of each topic, with all topics."""
        if not (is_kept := _places(self.topic_index) < depth).all():
            arrays = {name: getattr(self, name) for name in (*REQUIRED[1:], *OPTIONAL)}
            cut = {name: array[is_kept] for name, array in arrays.items() if array is not None}
            return replace(self, **cut)
        return self

    @classmethod
    def ordered(
        cls,
        *,
        topics: list[str],
        topic_index: NDArray[np.int32],
        docno: NDArray[np.bytes_],
        rank: NDArray[np.int32],
        score: NDArray[np.float64],
        post: NDArray[np.bytes_] | None = None,
        passage: NDArray[np.bytes_] | None = None,
        label: NDArray[np.bool_] | None = None,
        ties: "Ties" = "docno",
        depth: int | None = None,
    ) -> tuple[Self, NDArray[np.intp]]:
        """Columns from rows in any order, and the rows that they have, in their order.

        Rows of the same topic and score are in trec_eval's order, by docno; in their own order; or in that of their
        ranks. With a depth, the columns have only the first rows of each topic, and all topics.
        """
        codes, topic_index = sorted_topics(topics, topic_index)
        if ties == "docno":
            order = trec_order(topic_index, docno, score, depth)
        elif ties == "file":
            order = score_order(topic_index, score)
        else:
            order = np.lexsort((rank, -score, topic_index))
        if depth is not None:
            order = order[_places(topic_index[order]) < depth]
        post = None if post is None else post[order]
        passage = None if passage is None else passage[order]
        label = None if label is None else label[order]
        columns = cls(
            codes, topic_index[order], docno[order], rank[order], score[order], post, passage, label
        )
        return columns, order


@dataclass(frozen=True, slots=True)
class Ranking:
    """The topics and documents of a run, in the order of `RunColumns`; scoring needs no more."""

    topics: NDArray[np.str_]
    offsets: NDArray[np.int64]
    docno: NDArray[np.bytes_]
    label: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.docno)


Ranked = RunColumns | Ranking


def sorted_topics(
    topics: list[str], topic_index: NDArray[np.int32]
) -> tuple[NDArray[np.str_], NDArray[np.int32]]:
    """Topic codes sorted by their bytes (for UTF-8: by code point), and the index into the sorted codes."""
    by_bytes = sorted(range(len(topics)), key=topics.__getitem__)
    renumbered = np.empty(len(topics), dtype=np.int32)
    renumbered[by_bytes] = np.arange(len(topics), dtype=np.int32)
    codes = np.array([topics[i] for i in by_bytes], dtype=np.str_)
    return codes, renumbered[topic_index] if len(topics) else topic_index


def byte_keys(docno: NDArray[np.bytes_]) -> list[NDArray[np.uint64]]:
    """Big-endian 8-byte words of each docno, first word first: they compare as the bytes do, but faster."""
    words = max(1, -(-docno.dtype.itemsize // 8))
    padded = np.ascontiguousarray(docno, dtype=f"S{8 * words}")
    matrix = padded.view(">u8").reshape(len(docno), words)
    return [matrix[:, word].astype(np.uint64) for word in range(words)]


PART = 1 << 14  # rows that are searched for repetitions at once: they fit the processor's cache


def may_repeat(topic_index: NDArray[np.int32], docno: NDArray[np.bytes_]) -> bool:
    """Return whether two rows may have the same topic and docno; a yes needs a closer look, a no is certain.

    Such rows have equal digests, and most runs have no equal ones.
    """
    # Parts are cut between topics, nowhere if topics alternate.
    n = len(topic_index)
    parts = [0, n]
    if not (topic_index[1:] < topic_index[:-1]).any():
        starts = np.append(np.flatnonzero(topic_index[1:] != topic_index[:-1]) + 1, n)
        cuts = starts[np.searchsorted(starts, np.arange(PART, n, PART))]
        parts = [0, *sorted({*cuts.tolist(), n})]  # np.unique would import numpy.ma, which takes 20 ms
    for first, end in pairwise(parts):
        digest = topic_index[first:end].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        for key in byte_keys(docno[first:end]):
            digest = (digest ^ key) * np.uint64(0xBF58476D1CE4E5B9)
            digest ^= digest >> np.uint64(31)
        if has_equal(digest):
            return True
    return False


def has_equal(digest: NDArray[np.uint64]) -> bool:
    """Return whether two of some well-mixed numbers are equal; faster than sorting them.

    Each number writes its position into a slot of a table; the last writer of a slot wins. Of two equal numbers at
    least one loses. Each loser is compared with the winner of its slot, and enters the next round with other bits;
    the few losers that remain after three rounds are sorted.
    """
    bits = max(8, (2 * len(digest)).bit_length())
    slots = np.empty(1 << bits, dtype=np.int32)
    for shift in (64 - bits, 40 - bits // 2, 2):
        slot = ((digest >> np.uint64(max(0, shift))) & np.uint64((1 << bits) - 1)).astype(np.intp)
        place = np.arange(len(digest), dtype=np.int32)
        slots[slot] = place
        winner = slots[slot]
        lost = np.flatnonzero(winner != place)
        if (digest[lost] == digest[winner[lost]]).any():
            return True
        digest = digest[lost]
    digest = np.sort(digest)
    return bool((digest[1:] == digest[:-1]).any())


def _places(topic_index: NDArray[np.integer]) -> NDArray[np.intp]:
    """(n,) the place of each row in its topic, from 0. The rows of a topic follow each other."""
    starts = np.flatnonzero(np.diff(topic_index, prepend=-1))
    return np.arange(len(topic_index)) - np.repeat(starts, np.diff(starts, append=len(topic_index)))


def trec_order(
    topic_index: NDArray[np.int32],
    docno: NDArray[np.bytes_],
    score: NDArray[np.float64],
    depth: int | None = None,
) -> NDArray[np.intp]:
    """The permutation into trec_eval's order. Only ties are compared by docno, and none below the depth."""
    order = score_order(topic_index, score)
    tied = _same_as_previous(topic_index[order], score[order])
    if depth is not None:
        groups = np.flatnonzero(~tied)
        is_above = _places(topic_index[order])[groups] < depth
        tied &= np.repeat(is_above, np.diff(groups, append=len(order)))
    if not tied.any():
        return order
    in_group = tied | np.append(tied[1:], False)
    at = np.flatnonzero(in_group)
    order[at] = _by_docno(order[at], tied[at], docno)
    return order


def score_order(topic_index: NDArray[np.int32], score: NDArray[Any]) -> NDArray[np.intp]:
    """The permutation that sorts rows by topic, then by score descending; ties keep their order."""
    if _is_ordered(topic_index, score):
        return np.arange(len(score))
    by_topic = np.argsort(topic_index, kind="stable")
    if _is_ordered(topic_index[by_topic], score[by_topic]):
        return by_topic
    return order_in_topics(topic_index, -score)


def order_in_topics(topic_index: NDArray[np.integer], *keys: NDArray[Any]) -> NDArray[np.intp]:
    """The permutation that sorts rows by topic, then by keys, the first one first; equal rows keep their order."""
    order = np.argsort(topic_index, kind="stable")
    starts = np.flatnonzero(np.diff(topic_index[order], prepend=-1))
    if len(starts) * FEW > len(topic_index):
        return np.lexsort((*reversed(keys), topic_index))
    # Each topic alone is sorted in a quarter of the time that all together take.
    for begin, end in pairwise([*starts.tolist(), len(order)]):
        rows = order[begin:end]
        order[begin:end] = rows[np.lexsort([key[rows] for key in reversed(keys)])]
    return order


FEW = 50  # rows of a topic, below which one sort of all topics is faster
PASSES = 16  # of exchanges; they sort groups of about as many rows, and larger groups need a general sort


def _by_docno(rows: NDArray[np.intp], tied: NDArray[np.bool_], docno: NDArray[np.bytes_]) -> NDArray[np.intp]:
    """Sort groups of ties by docno, descending. `tied`: whether a row belongs to the group of the row above.

    Groups are usually small, which a general sort does not use. So neighbors in the wrong order are exchanged first, in
    pairs that begin at even and at odd rows in turn (odd-even sort), until no pair changes.
    """
    keys = byte_keys(docno[rows])
    if len(keys) == 1:
        (key,) = keys
        n_idle = 0
        for turn in range(PASSES):
            odd = turn % 2
            upper = 2 * np.flatnonzero(tied[odd + 1 :: 2] & (key[odd + 1 :: 2] > key[odd:-1:2])) + odd
            n_idle = 0 if len(upper) else n_idle + 1
            if n_idle == 2:
                return rows
            for values in (rows, key):
                values[upper], values[upper + 1] = values[upper + 1], values[upper]
    group = np.cumsum(~tied)
    ordered: NDArray[np.intp] = rows[np.lexsort((*[~key for key in reversed(keys)], group))]
    return ordered


def _is_ordered(topic_index: NDArray[np.int32], score: NDArray[Any]) -> bool:
    """Return whether topics never decrease, and scores never increase inside a topic."""
    step = np.diff(topic_index)
    return bool(((step > 0) | ((step == 0) & (score[1:] <= score[:-1]))).all())


def _same_as_previous(topic_index: NDArray[np.int32], score: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(n,) whether a row has the topic and the score of the row above."""
    same = np.zeros(len(score), dtype=np.bool_)
    same[1:] = (topic_index[1:] == topic_index[:-1]) & (score[1:] == score[:-1])
    return same


def tied_rows(columns: RunColumns) -> NDArray[np.bool_]:
    """(n,) whether a row has the score of the row above it in its topic."""
    return _same_as_previous(columns.topic_index, columns.score)


def save(columns: RunColumns) -> bytes:
    """The columns as the bytes of an npz file. Equal columns give equal bytes."""
    arrays = {name: getattr(columns, name) for name in REQUIRED} | {"offsets": columns.offsets}
    arrays |= {name: array for name in OPTIONAL if (array := getattr(columns, name)) is not None}
    buffer = BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def load(file: BinaryIO | Path) -> RunColumns:
    """The columns that `save` wrote.

    Raises `ValueError` or `KeyError` if `save` did not write the file.
    """
    with np.load(file, allow_pickle=False) as arrays:
        required = {name: arrays[name] for name in REQUIRED}
        return RunColumns(**required, **{name: arrays.get(name) for name in OPTIONAL})


def load_ranking(file: BinaryIO | Path) -> Ranking:
    """The part of a file of `save` that scoring needs; the rest is not read.

    Raises `ValueError` or `KeyError` if `save` did not write the file.
    """
    import zipfile  # noqa: PLC0415 -- slow to import, and only stored runs need it

    try:
        with zipfile.ZipFile(file) as arrays:
            topics, offsets, docno = (
                _array(arrays.read(f"{name}.npy")) for name in ("topics", "offsets", "docno")
            )
            has_labels = "label.npy" in arrays.namelist()
            return Ranking(topics, offsets, docno, _array(arrays.read("label.npy")) if has_labels else None)
    except zipfile.BadZipFile as error:
        raise ValueError(str(error)) from None


def _array(data: bytes) -> NDArray[Any]:
    """The array of an npy file, without a copy of its bytes; `np.load` copies them twice."""
    text = BytesIO(data)
    version = np.lib.format.read_magic(text)
    if version != (1, 0):
        raise ValueError(f"an npy array of version {version}; version (1, 0) is accepted")
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(text)
    if is_fortran or dtype.hasobject or len(shape) != 1:
        raise ValueError(f"an array of {dtype} and shape {shape}; one dimension without objects is accepted")
    return np.frombuffer(data, dtype, count=shape[0], offset=text.tell())  # prose: allow a method of files
