"""An index of formulas on disk: the trees of formulas, each distinct one once, and where formulas with a tree are.

`slt` and `opt` are inverted files (`postings`) of the symbol pairs of distinct trees, with their strings. These arrays
join them:

`formula.npy`     (n,) bytes, ids of formulas, sorted by bytes
`post.npy`        (n,) int32 index into `docno.npy`, the sorted docnos of posts
`is_answer.npy`   (n,) whether the formula is in an answer
`slt.npy`, `opt.npy`  (n,) int32, the number of the formula's tree; -1 if it has none

Memory holds twelve bytes of each distinct tree while formulas are read, and then one column of the formulas after the
other; afterwards arrays and strings are memory maps. Formulas of comments are left out, because no task retrieves them.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import BadFile, InputError
from assay.formats.compression import UnpackedFile
from assay.formats.documents import index_rows
from assay.formats.documents.dump import Chunk, Reader
from assay.formats.documents.indexes import Index
from assay.formats.documents.reading import map_chunks
from assay.formats.documents.sources import files_of
from assay.formats.formulas import Row, rows_of_index
from assay.formulas.opt import opt
from assay.formulas.slt import slt
from assay.ranking import Progress, no_progress
from assay_extensions.baselines.formula_trees import KINDS, Kind, parse
from assay_extensions.baselines.postings import Arrays, Builder, Postings, TokenBatch
from assay_extensions.baselines.symbol_pairs import pairs

CONVERTERS: Mapping[Kind, Callable[[str], str | None]] = {"slt": slt, "opt": opt}


class TreeBatch(NamedTuple):
    """The formulas of a chunk of an index that have a tree.

    Args:
        formula, post, is_answer: (n,) of each formula.
        tree: (n,) index into the distinct trees.
        strings: of the distinct trees.
        pairs: symbol pairs of the distinct trees, by a digest of the string.
        n_without: the number of formulas without a tree.
        skipped: the number of rows that cannot be used, by reason.
    """

    formula: NDArray[np.bytes_]
    post: NDArray[np.bytes_]
    is_answer: NDArray[np.bool_]
    tree: NDArray[np.int32]
    strings: list[bytes]
    pairs: TokenBatch
    n_without: int
    skipped: dict[str, int]


def string_of(mathml: str, kind: Kind) -> str:
    """The string of a formula's tree; empty if it has none."""
    string = CONVERTERS[kind](mathml) or ""
    try:
        return string if string and parse(string, kind) else ""
    except InputError:
        return ""


def rows_of(chunk: Chunk, index: Index) -> tuple[list[Row], dict[str, int]]:
    """The rows of a chunk of an index outside comments, and the number of those that cannot be used, by reason."""
    packed = index_rows.convert(chunk.data, index.form)
    return [row for row in rows_of_index(packed.tables) if row.place != "comment"], packed.skipped


def trees_of(chunk: Chunk, *, index: Index, kind: Kind) -> TreeBatch:
    rows, skipped = rows_of(chunk, index)
    number: dict[str, int] = {}
    with_tree, tree = [], []
    for row in rows:
        if string := string_of(row.mathml or "", kind):
            with_tree.append(row)
            tree.append(number.setdefault(string, len(number)))
    digests = (blake2b(string.encode(), digest_size=8).hexdigest().encode() for string in number)
    tokens = (pairs(parse(string, kind), kind) for string in number)
    return TreeBatch(
        np.array([row.code.encode() for row in with_tree], dtype=np.bytes_),
        np.array([row.post.encode() for row in with_tree], dtype=np.bytes_),
        np.array([row.place == "answer" for row in with_tree], dtype=np.bool_),
        np.array(tree, dtype=np.int32),
        [string.encode() for string in number],
        TokenBatch.of(zip(digests, tokens, strict=True)),
        len(rows) - len(with_tree),
        skipped,
    )


def _work_of(reader: Reader, *, kind: Kind) -> Callable[[Chunk], TreeBatch]:
    index = Index.of(reader.form.name)
    assert index is not None  # `index_files` has chosen the file
    return partial(trees_of, index=index, kind=kind)


def index_files(paths: Sequence[Path]) -> dict[Kind, list[Path]]:
    """The files of formula indexes with trees, by kind of tree. A folder represents its files, and its folders.

    A folder into which formulas were converted has a cache and a list of failures too; only its trees count.

    Raises:
        InputError: There are none.
    """
    files: dict[Kind, list[Path]] = {kind: [] for kind in KINDS}
    for path in paths:
        folders = sorted(entry for entry in path.iterdir() if entry.is_dir()) if path.is_dir() else []
        converted = [folder for folder in folders if folder.name in KINDS]
        for file in files_of(converted or [path, *folders]):
            with file.open("rb") as raw:
                index = Index.of(Reader(UnpackedFile(raw, file.name), file.name).form.name)
            if index is None:
                raise BadFile(f"{file.name} is not a formula index.")
            if index.representation != "latex":
                files[index.representation].append(file)
    if not any(files.values()):
        names = ", ".join(map(str, paths))
        raise InputError(f"{names}: no formulas in Presentation or Content MathML; LaTeX has no trees")
    return files


@dataclass
class FormulaSource:
    """Files of formula indexes from which an index is built. `skipped` counts rows that cannot be used, by reason."""

    files: Mapping[Kind, Sequence[Path]]
    processes: int | None = None
    progress: Progress = no_progress
    skipped: Counter[str] = field(default_factory=Counter)

    def batches(self, kind: Kind) -> Iterator[TreeBatch]:
        """The trees of one kind, chunk by chunk."""
        name = kind.upper()
        for _, _, batch in map_chunks(
            partial(_work_of, kind=kind),
            self.files[kind],
            processes=self.processes,
            progress=partial(self.progress, f"indexing {name}"),
        ):
            self.skipped.update(batch.skipped)
            if batch.n_without:
                self.skipped[f"formulas without {name}"] += batch.n_without
            yield batch

    def strings(self) -> dict[Kind, dict[str, str]]:
        """The string of each formula by kind of tree and id, for the few formulas of topics."""
        return {
            kind: {
                code.decode(): batch.strings[tree].decode()
                for batch in self.batches(kind)
                for code, tree in zip(batch.formula.tolist(), batch.tree.tolist(), strict=True)
            }
            for kind in KINDS
        }


class Numbers:
    """Numbers of digests, in the order in which they first occur.

    They are in sorted runs, as 64-bit digests and 32-bit numbers. Runs of similar size are merged, so there are few.
    """

    def __init__(self) -> None:
        self._runs: list[tuple[NDArray[np.uint64], NDArray[np.int32]]] = []
        self._n = 0

    def number(self, digests: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """The number of each digest, which are distinct, and whether it is new."""
        numbers = np.full(len(digests), -1, dtype=np.int32)
        for keys, own in self._runs:
            at = np.minimum(np.searchsorted(keys, digests), len(keys) - 1)
            is_there = keys[at] == digests
            numbers[is_there] = own[at[is_there]]
        is_new = numbers < 0
        n_new = int(is_new.sum())
        numbers[is_new] = np.arange(self._n, self._n + n_new)
        self._n += n_new
        if n_new:
            new, new_numbers = digests[is_new], numbers[is_new]
            while self._runs and len(self._runs[-1][0]) < 2 * len(new):
                keys, own = self._runs.pop()
                new, new_numbers = np.concatenate((keys, new)), np.concatenate((own, new_numbers))
            order = np.argsort(new)
            self._runs.append((new[order], new_numbers[order]))
        return numbers, is_new


def build(folder: Path, source: FormulaSource) -> None:
    """Write the index of some files into a folder."""
    kinds = [kind for kind in KINDS if source.files[kind]]
    write(folder, {kind: source.batches(kind) for kind in kinds})


def write(folder: Path, batches: Mapping[Kind, Iterator[TreeBatch]]) -> None:
    """Write the index of trees into a folder."""
    for kind, of_kind in batches.items():
        _write_trees(folder / kind, of_kind)

    def column(name: str) -> NDArray[Any]:
        return np.concatenate([_column(folder / kind, name) for kind in batches])

    codes, first = np.unique(column("formula"), return_index=True)
    np.save(folder / "formula.npy", codes)
    docnos, place = np.unique(column("post")[first], return_inverse=True)
    np.save(folder / "docno.npy", docnos)
    np.save(folder / "post.npy", place.astype(np.int32))
    np.save(folder / "is_answer.npy", column("is_answer")[first])
    for kind in KINDS:
        trees = np.full(len(codes), -1, dtype=np.int32)
        if kind in batches:
            trees[np.searchsorted(codes, _column(folder / kind, "formula"))] = _column(folder / kind, "tree")
        np.save(folder / f"{kind}.npy", trees)
    for path in folder.glob("*/*.rows"):
        path.unlink()


ROWS = ("formula", "post", "is_answer", "tree")  # columns that are written batch by batch


def _column(folder: Path, name: str) -> NDArray[Any]:
    parts = []
    with (folder / f"{name}.rows").open("rb") as file:
        while file.peek(1):
            parts.append(np.load(file))
    return np.concatenate(parts)


def _write_trees(folder: Path, batches: Iterator[TreeBatch]) -> None:
    """Write the distinct trees of one kind; formula, post, whether in an answer, and tree of each formula."""
    folder.mkdir()
    builder, numbers = Builder(folder), Numbers()
    lengths = [np.zeros(1, dtype=np.int64)]
    with ExitStack() as stack:
        strings = stack.enter_context((folder / "strings").open("wb"))
        rows = [stack.enter_context((folder / f"{name}.rows").open("wb")) for name in ROWS]
        for batch in batches:
            digests = np.array([int(digest, 16) for digest in batch.pairs.docno], dtype=np.uint64)
            of_batch, is_new = numbers.number(digests)
            new = [batch.strings[place] for place in np.flatnonzero(is_new)]
            strings.write(b"".join(new))
            lengths.append(np.array([len(string) for string in new], dtype=np.int32))
            builder.add(batch.pairs.kept(is_new))
            columns = (batch.formula, batch.post, batch.is_answer, of_batch[batch.tree])
            for file, column in zip(rows, columns, strict=True):
                np.save(file, column)
    builder.finish()
    np.save(folder / "string.npy", np.cumsum(np.concatenate(lengths), dtype=np.int64))


class FormulaIndex(Arrays):
    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(kind for kind in KINDS if (self.folder / kind).is_dir())

    @cached_property
    def formula(self) -> NDArray[np.bytes_]:
        return self._array("formula")

    @cached_property
    def post(self) -> NDArray[np.int32]:
        return self._array("post")

    @cached_property
    def is_answer(self) -> NDArray[np.bool_]:
        return self._array("is_answer")

    @cached_property
    def trees(self) -> dict[Kind, NDArray[np.int32]]:
        return {kind: self._array(kind) for kind in self.kinds}

    @cached_property
    def pairs(self) -> dict[Kind, Postings]:
        return {kind: Postings(self.folder / kind) for kind in self.kinds}

    @cached_property
    def _strings(self) -> dict[Kind, tuple[NDArray[np.int64], NDArray[np.uint8]]]:
        return {
            kind: (
                self._array(f"{kind}/string"),
                np.memmap(self.folder / kind / "strings", dtype=np.uint8, mode="r"),
            )
            for kind in self.kinds
        }

    def string(self, kind: Kind, tree: int) -> str:
        """The string of a tree, by its number."""
        starts, strings = self._strings[kind]
        return strings[int(starts[tree]) : int(starts[tree + 1])].tobytes().decode()
