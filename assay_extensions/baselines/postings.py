"""An inverted file on disk: for each token, the documents that have it, how often, and their weights in a model.

The file is built in blocks, so that memory holds the distinct tokens and one block, not the collection, and it is used
by memory maps. A folder has these arrays:

`docno.npy`        (n,) bytes, in the order of the collection
`length.npy`       (n,) int32, tokens of each document
`token.npy`        (t,) bytes, the distinct tokens, sorted
`start.npy`        (t + 1,) int64, token i has the postings from start[i] up to start[i + 1]
`document.npy`     (p,) int32, documents of the postings, ascending for each token
`frequency.npy`    (p,) uint16, how often the document has the token
`MODEL.npy`        (p,) float32, weights of the postings, made when a model is first used

Starts, documents and weights are the arrays that bm25s reads, which adds the weights of the tokens of a topic.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from assay.errors import InputError

Model = Literal["tf-idf", "bm25"]
BLOCK = 8_000_000  # postings that are sorted in memory, or weighted at once
SETTINGS = "settings.json"


class TokenBatch(NamedTuple):
    """The tokens of some documents.

    Args:
        docno: of each document.
        length: (n,) the number of tokens of each document.
        words: the distinct tokens.
        tokens: (sum of lengths,) int32 index into `words`, document after document.
    """

    docno: list[bytes]
    length: NDArray[np.int32]
    words: list[bytes]
    tokens: NDArray[np.int32]

    @classmethod
    def of(cls, documents: Iterable[tuple[bytes, Sequence[bytes]]]) -> "TokenBatch":
        place: dict[bytes, int] = {}
        docnos, lengths, tokens = [], [], []
        for docno, words in documents:
            docnos.append(docno)
            lengths.append(len(words))
            tokens += [place.setdefault(word, len(place)) for word in words]
        return cls(docnos, np.array(lengths, dtype=np.int32), list(place), np.array(tokens, dtype=np.int32))

    def kept(self, where: NDArray[np.bool_]) -> "TokenBatch":
        """Some of the documents, with the same words."""
        docnos = [docno for docno, is_kept in zip(self.docno, where.tolist(), strict=True) if is_kept]
        return TokenBatch(docnos, self.length[where], self.words, self.tokens[np.repeat(where, self.length)])


# Tokens, documents and frequencies of postings, sorted by token and document.
_Block = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint16]]


class Builder:
    """Builds the inverted file of a folder from batches of documents."""

    def __init__(self, folder: Path, *, block: int = BLOCK) -> None:
        self._folder, self._block = folder, block
        self._place: dict[bytes, int] = {}
        self._docnos: list[NDArray[np.bytes_]] = []
        self._n_documents = 0
        self._lengths: list[NDArray[np.int32]] = []
        self._waiting: list[_Block] = []
        self._n_waiting = self._n_blocks = 0

    def add(self, batch: TokenBatch) -> None:
        """Add documents after those that were added before."""
        place = self._place
        number = np.array([place.setdefault(word, len(place)) for word in batch.words], dtype=np.int64)
        document = np.repeat(np.arange(len(batch.docno)) + self._n_documents, batch.length)
        keys, n = np.unique(number[batch.tokens] << 32 | document, return_counts=True)
        frequency = np.minimum(n, np.iinfo(np.uint16).max).astype(np.uint16)
        self._waiting.append(((keys >> 32).astype(np.int32), keys.astype(np.int32), frequency))
        self._n_waiting += len(keys)
        # a fourth of the memory of a list of bytes
        self._docnos.append(np.array(batch.docno, dtype=np.bytes_))
        self._n_documents += len(batch.docno)
        self._lengths.append(batch.length)
        if self._n_waiting >= self._block:
            self._spill()

    def _path(self, number: int) -> Path:
        return self._folder / f"block-{number}.npz"

    def _spill(self) -> None:
        token, document, frequency = (np.concatenate(column) for column in zip(*self._waiting, strict=True))
        order = np.argsort(token, kind="stable")
        np.savez(self._path(self._n_blocks), token=token[order], document=document[order], n=frequency[order])
        self._waiting, self._n_waiting, self._n_blocks = [], 0, self._n_blocks + 1

    def finish(self) -> "Postings":
        """Write the file.

        Raises:
            InputError: There are no documents, or a docno occurs twice.
        """
        if not self._n_documents:
            raise InputError("the collection has no documents of the kind that the protocol retrieves")
        docnos = np.concatenate([docno for docno in self._docnos if len(docno)])
        in_order = np.sort(docnos)
        if (again := np.flatnonzero(in_order[1:] == in_order[:-1])).size:
            raise InputError(f"the collection has the docno {in_order[again[0]].decode()} twice")
        np.save(self._folder / "docno.npy", docnos)
        np.save(self._folder / "length.npy", np.concatenate(self._lengths))
        self._docnos, self._lengths = [], []
        if self._waiting:
            self._spill()
        words = np.array(list(self._place), dtype=np.bytes_)
        self._place.clear()
        order = np.argsort(words)
        rank = np.empty(len(words), dtype=np.int32)
        rank[order] = np.arange(len(words), dtype=np.int32)
        np.save(self._folder / "token.npy", words[order])
        n = np.zeros(len(rank), dtype=np.int64)
        for number in range(self._n_blocks):
            with np.load(self._path(number)) as block:
                n += np.bincount(rank[block["token"]], minlength=len(rank))
        start = np.concatenate(([0], np.cumsum(n)))
        np.save(self._folder / "start.npy", start)
        # Copy the postings of each block to their places; blocks are in the order of documents
        size, head = (int(start[-1]),), start[:-1].copy()
        documents = open_memmap(self._folder / "document.npy", "w+", np.int32, size)
        frequencies = open_memmap(self._folder / "frequency.npy", "w+", np.uint16, size)
        for number in range(self._n_blocks):
            with np.load(self._path(number)) as block:
                token = rank[block["token"]]
                begin = np.flatnonzero(np.append(True, token[1:] != token[:-1]))
                n = np.diff(begin, append=len(token))
                at = np.repeat(head[token[begin]] - begin, n) + np.arange(len(token))
                documents[at], frequencies[at] = block["document"], block["n"]
                head[token[begin]] += n
            self._path(number).unlink()
        documents.flush()
        frequencies.flush()
        return Postings(self._folder)


@contextmanager
def index_folder(
    folder: Path | None, settings: Mapping[str, object], build: Callable[[Path], object]
) -> Iterator[Path]:
    """The folder of an index, built if it is empty; without one, a folder that is deleted at the end.

    The settings are what the content of the index depends on. They are written last, so a folder without them is not
    complete.

    Raises:
        InputError: The folder has an index with other settings, or other files.
    """
    if folder is None:
        with TemporaryDirectory(prefix="assay-index-") as name:
            build(Path(name))
            yield Path(name)
        return
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / SETTINGS
    if path.exists():
        stored, wanted = json.loads(path.read_text()), json.loads(json.dumps(settings))
        if others := sorted(name for name, value in wanted.items() if stored.get(name) != value):
            raise InputError(
                f"the index in {folder} was made with other {', '.join(others)}; delete it, or name another folder"
            )
    else:
        if any(folder.iterdir()):
            raise InputError(f"{folder} has files but no complete index; name an empty folder")
        build(folder)
        path.write_text(json.dumps(settings, indent=1, sort_keys=True) + "\n")
    yield folder


def states_of(files: Iterable[Path]) -> list[list[object]]:
    """Name, size and time of change of files, as settings of an index that is made from them."""
    return [[file.name, (state := file.stat()).st_size, state.st_mtime_ns] for file in files]


@dataclass(frozen=True)
class Arrays:
    """The arrays in a folder, as memory maps."""

    folder: Path

    def _array(self, name: str) -> NDArray[Any]:
        array: NDArray[Any] = np.load(self.folder / f"{name}.npy", mmap_mode="r")
        return array

    @cached_property
    def docno(self) -> NDArray[np.bytes_]:
        return self._array("docno")


class Postings(Arrays):
    """The inverted file of a folder."""

    @cached_property
    def length(self) -> NDArray[np.int32]:
        return self._array("length")

    @cached_property
    def _document(self) -> NDArray[np.int32]:
        return self._array("document")

    @cached_property
    def _frequency(self) -> NDArray[np.uint16]:
        return self._array("frequency")

    def documents_with(self, number: int) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
        """The documents that have a token, and how often."""
        rows = slice(int(self._start[number]), int(self._start[number + 1]))
        return self._document[rows], self._frequency[rows]

    @cached_property
    def _token(self) -> NDArray[np.bytes_]:
        return self._array("token")

    @cached_property
    def _start(self) -> NDArray[np.int64]:
        return np.array(self._array("start"))

    def numbers_of(self, tokens: Sequence[bytes]) -> Counter[int]:
        """The numbers of the tokens that documents have, each with how often it occurs."""
        if not len(self._token) or not tokens:
            return Counter()
        words = np.array(tokens, dtype=self._token.dtype)
        at = np.minimum(np.searchsorted(self._token, words), len(self._token) - 1)
        whole = np.array([len(token) for token in tokens]) <= self._token.dtype.itemsize
        return Counter(at[(self._token[at] == words) & whole].tolist())

    def scorer(self, model: Model, *, k1: float, b: float) -> "Scorer":
        """The scores of documents in a model; its weights are computed once and stored."""
        path = self.folder / f"{model}-{k1:g}-{b:g}.npy"
        if not path.exists():
            partial = path.with_suffix(".part")
            start, frequency, document = self._start, self._frequency, self._document
            length = np.asarray(self.length, dtype=np.float64)
            norm = k1 * (1 - b + b * length / max(length.mean(), 1.0))
            idf = IDF[model](len(length), np.diff(start)) * (k1 if model == "tf-idf" else 1.0)
            with partial.open("wb") as file:
                header = {"descr": "<f4", "fortran_order": False, "shape": (int(start[-1]),)}
                write_header: Callable[..., None] = np.lib.format.write_array_header_1_0
                write_header(file, header)
                for begin in range(0, int(start[-1]), BLOCK):
                    end = min(begin + BLOCK, int(start[-1]))
                    first, last = np.searchsorted(start, [begin, end - 1], side="right") - 1
                    bounds = np.clip(start[first : last + 2], begin, end)
                    token = np.repeat(np.arange(first, last + 1), bounds[1:] - bounds[:-1])
                    n = frequency[begin:end].astype(np.float64)
                    weight = idf[token] * n / (n + norm[document[begin:end]])
                    weight.astype("<f4").tofile(file)
            partial.rename(path)
        return Scorer(self, path.name)


# BM25 is Lucene's variant. Source of TF-IDF: the model TF_IDF of Terrier, http://terrier.org.
IDF: dict[str, Callable[[int, NDArray[np.int64]], NDArray[np.float64]]] = {
    "bm25": lambda n, df: np.log1p((n - df + 0.5) / (df + 0.5)),
    "tf-idf": lambda n, df: np.log2(n / df + 1),
}


class Scorer:
    """Adds weights of tokens by document, with bm25s."""

    def __init__(self, postings: Postings, weights: str) -> None:
        if find_spec("bm25s") is None:
            raise InputError("text baselines need bm25s: pip install 'assay[baselines]'")
        import bm25s  # noqa: PLC0415 -- of the extra `baselines`, and slow to import

        self._postings = postings
        self._sums = bm25s.BM25()
        self._sums.nonoccurrence_array = None
        self._sums.load_scores(
            postings.folder, weights, "document.npy", "start.npy", num_docs=len(postings.docno), mmap=True
        )

    def scores(self, tokens: Sequence[bytes]) -> NDArray[np.float32]:
        """(n,) the score of each document: the weights of the topic's tokens, as often as the topic has them."""
        total = np.zeros(len(self._postings.docno), dtype=np.float32)
        by_count: dict[int, list[int]] = {}
        for number, n in sorted(self._postings.numbers_of(tokens).items()):
            by_count.setdefault(n, []).append(number)
        for n, numbers in sorted(by_count.items()):
            total += np.float32(n) * self._sums.get_scores_from_ids(numbers)
        return total
