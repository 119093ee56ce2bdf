"""Formulas from files alone: formula indexes, and maps from formula id to visual id. A kernel: no Django.

A map is TSV with a header line: `formula_id` (or `id`), a column whose name begins with `visual`, and if it has them
`post`, `thread` and `type` (or `post_id`, `thread_id`, `place`); other columns are left aside. Without a header line a
file of two columns is taken as such a map. Files may be packed; a folder stands for the files in it.

Where files say different things of one formula, the last that says something counts, column by column: so a map of
visual ids joins an index that has none.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import BadFile
from assay.formats.compression import UnpackedFile
from assay.formats.documents.dump import Readable, Reader
from assay.formats.documents.sources import BOM, HEAD, files_of
from assay.formats.formulas.chunks import names_of
from assay.formats.formulas.indexes import Index
from assay.formulas.columns import PLACES, Formulas

BLOCK = 4_000_000  # bytes
UNKNOWN = (
    255  # a place that no file tells; it then counts as an answer, for only of comments is anything asked
)
_ALIASES = {"formula_id": "id", "post": "post_id", "thread": "thread_id", "place": "type"}
_PLACES = {place.encode(): number for number, place in enumerate(PLACES)}

Columns = Mapping[str, Sequence[bytes]]  # id, and of post_id, thread_id, type and visual_id what a file has


class Read(NamedTuple):
    """What files hold, and how many of their rows were left out for which reason."""

    formulas: Formulas
    skipped: Mapping[str, int]


class _Part(NamedTuple):
    """Rows of a file in its order; empty where it says nothing."""

    code: NDArray[np.bytes_]
    post: NDArray[np.bytes_]
    thread: NDArray[np.bytes_]
    place: NDArray[np.uint8]
    visual: NDArray[np.bytes_]


def read_index(paths: Path | Iterable[Path]) -> Formulas:
    """The formulas of some files. Rows that cannot be used are left out; `read_files` counts them."""
    return read_files([paths] if isinstance(paths, Path) else paths).formulas


def read_files(paths: Iterable[Path]) -> Read:
    """The formulas of some files, and what was left out.

    Raises
    ------
    BadFile
        A file is neither a formula index nor a map, or breaks its form.
    OSError
        A file cannot be opened.
    """
    skipped: Counter[str] = Counter()
    parts = [_part(columns) for path in files_of(paths) for columns in _columns(path, skipped)]
    return Read(_joined(parts), skipped)


def _columns(path: Path, skipped: Counter[str]) -> Iterator[Columns]:
    """The columns of a file, chunk by chunk."""
    with path.open("rb") as file:
        names = _names(UnpackedFile(file, path.name).read(HEAD))
        content = UnpackedFile(file, path.name)
        if names is not None:
            yield from _map(content, path.name, names)
            return
        reader = Reader(content, path.name)
        index = Index.of(reader.form.name)
        if index is None:
            raise BadFile(f"{path.name} holds {reader.form.name}; a formula index or an id map is wanted.")
        for chunk in reader:
            columns, left_out = names_of(chunk.data, index)
            skipped.update(left_out)
            yield columns


class _Names(NamedTuple):
    """Which column of a map is what."""

    at: Mapping[str, int]
    width: int
    has_header: bool


def _names(head: bytes) -> _Names | None:
    """The columns of a map, from its first line; None if the file is no map."""
    first = head.removeprefix(BOM).partition(b"\n")[0].decode(errors="replace")
    words = [word.strip().strip('"').lower() for word in first.split("\t")]
    named = {_ALIASES.get(word, word): at for at, word in enumerate(words)}
    visuals = [at for at, word in enumerate(words) if word.startswith("visual")]
    if "id" in named and visuals and "formula" not in named:
        known = {name: named[name] for name in ("id", "post_id", "thread_id", "type") if name in named}
        return _Names(known | {"visual_id": visuals[0]}, len(words), has_header=True)
    return _Names({"id": 0, "visual_id": 1}, 2, has_header=False) if len(words) == 2 else None


def _map(content: Readable, name: str, names: _Names) -> Iterator[Columns]:
    """The columns of a map. One wrong line refuses it: a map is made by a program, not by people.

    Raises
    ------
    BadFile
        A line has another number of columns, or no id.
    """
    first = 1
    for lines in _blocks(content):
        rows = [line.split(b"\t") for line in lines]
        begin = int(first == 1 and names.has_header)
        for at in range(begin, len(rows)):
            if len(rows[at]) != names.width or not rows[at][names.at["id"]]:
                got = f"got {len(rows[at])}" if len(rows[at]) != names.width else "the id is empty"
                raise BadFile(f"{name}, line {first + at:,}: expected {names.width} columns; {got}.")
        first += len(rows)
        yield {column: [row[at] for row in rows[begin:]] for column, at in names.at.items()}


def _blocks(content: Readable) -> Iterator[list[bytes]]:
    """The lines of a text, some at a time, without their ends."""
    rest = content.read(BLOCK).removeprefix(BOM)
    while rest:
        block = content.read(BLOCK)
        text, end, rest = (rest + block).rpartition(b"\n") if block else (rest.removesuffix(b"\n"), b"", b"")
        if text or end:
            yield text.replace(b"\r\n", b"\n").removesuffix(b"\r").split(b"\n")


def _part(columns: Columns) -> _Part:
    codes = columns["id"]
    empty = np.zeros(len(codes), dtype="S1")
    post, thread, visual = (
        np.array(columns[name], dtype=np.bytes_) if name in columns else empty
        for name in ("post_id", "thread_id", "visual_id")
    )
    types = columns.get("type")
    places = [_PLACES.get(one, UNKNOWN) for one in types] if types else [UNKNOWN] * len(codes)
    return _Part(np.array(codes, dtype=np.bytes_), post, thread, np.array(places, dtype=np.uint8), visual)


def _joined(parts: Sequence[_Part]) -> Formulas:
    """All rows as one, each formula once."""
    columns = zip(_part({"id": []}), *parts, strict=True)
    whole = [np.concatenate(column) for column in columns]
    order = np.argsort(whole[0], kind="stable")
    code, post, thread, place, visual = (column[order] for column in whole)
    starts = np.flatnonzero(np.append(True, code[1:] != code[:-1])) if len(code) else order
    place = _last_said(place, place != UNKNOWN, starts)
    place[place == UNKNOWN] = _PLACES[b"answer"]
    post, thread, visual = (_last_said(column, column != b"", starts) for column in (post, thread, visual))
    return Formulas(code[starts], post, thread, place, visual)


def _last_said(values: NDArray[Any], is_said: NDArray[np.bool_], starts: NDArray[np.intp]) -> NDArray[Any]:
    """Of each group of rows the last value that is said; its first value if none is."""
    if not len(starts):
        return values
    rows = np.where(is_said, np.arange(len(values)), np.repeat(starts, np.diff(starts, append=len(values))))
    return values[np.maximum.reduceat(rows, starts)]
