"""Reads formulas from files: formula indexes, and maps from formula id to visual id.

A map is TSV with a header: `formula_id` (or `id`), a column whose name begins with `visual`, and optionally `post`,
`thread` and `type` (or `post_id`, `thread_id`, `place`). Other columns are ignored. A file of two columns without a
header is also a map. Files may be compressed; a folder represents the files in it.

If several files contain a formula, the last value counts, column by column. So a map can add visual ids to an index
that has none.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import BadFile
from assay.formats.compression import UnpackedFile
from assay.formats.documents.dump import MAX_ROW, Readable, Reader
from assay.formats.documents.sources import BOM, HEAD, files_of
from assay.formats.formulas.chunks import names_of
from assay.formats.formulas.indexes import Index
from assay.formulas.columns import PLACES, Formulas
from assay.formulas.places import PLACE_ALIASES

BLOCK = 4_000_000  # bytes
# A place that no file gives. It counts as an answer, because only comments have a rule of their own.
UNKNOWN = 255
_ALIASES = {"formula_id": "id", "post": "post_id", "thread": "thread_id", "place": "type"}
_PLACES = {place.encode(): number for number, place in enumerate(PLACES)}
_PLACES |= {alias.encode(): _PLACES[place.encode()] for alias, place in PLACE_ALIASES.items()}

Columns = Mapping[
    str, Sequence[bytes]
]  # id, and those of post_id, thread_id, type and visual_id that a file has


class Read(NamedTuple):
    """The formulas of some files, and the number of skipped rows by reason."""

    formulas: Formulas
    skipped: Mapping[str, int]


class _Part(NamedTuple):
    """Rows of a file in its order; empty where the file has no value."""

    code: NDArray[np.bytes_]
    post: NDArray[np.bytes_]
    thread: NDArray[np.bytes_]
    place: NDArray[np.uint8]
    visual: NDArray[np.bytes_]


def read_index(paths: Path | Iterable[Path]) -> Formulas:
    """The formulas of some files, without the rows that cannot be used; `read_files` counts these."""
    return read_files([paths] if isinstance(paths, Path) else paths).formulas


def read_files(paths: Iterable[Path]) -> Read:
    """The formulas of some files, and the number of skipped rows.

    Raises
    ------
    BadFile
        A file is not a formula index or map, or violates its form.
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
            raise BadFile(
                f"{path.name} contains {reader.form.name}; use a formula index or a map of visual ids."
            )
        for chunk in reader:
            columns, skipped_here = names_of(chunk.data, index)
            skipped.update(skipped_here)
            yield columns


class _Names(NamedTuple):
    """The places of the columns of a map, by name."""

    at: Mapping[str, int]
    width: int
    has_header: bool


def _names(head: bytes) -> _Names | None:
    """The columns of a map, from its first line; None if the file is not a map."""
    first = head.removeprefix(BOM).partition(b"\n")[0].decode(errors="replace")
    words = [word.strip().strip('"').lower() for word in first.split("\t")]
    named = {_ALIASES.get(word, word): at for at, word in enumerate(words)}
    visuals = [at for at, word in enumerate(words) if word.startswith("visual")]
    if "id" in named and visuals and "formula" not in named:
        known = {name: named[name] for name in ("id", "post_id", "thread_id", "type") if name in named}
        return _Names(known | {"visual_id": visuals[0]}, len(words), has_header=True)
    return _Names({"id": 0, "visual_id": 1}, 2, has_header=False) if len(words) == 2 else None


def _map(content: Readable, name: str, names: _Names) -> Iterator[Columns]:
    """The columns of a map. A wrong line is an error, because programs write maps, not people.

    Raises
    ------
    BadFile
        A line has a wrong number of columns, or no id.
    """
    first = 1
    for lines in _blocks(content, name):
        rows = [line.split(b"\t") for line in lines]
        begin = int(first == 1 and names.has_header)
        for at in range(begin, len(rows)):
            if len(rows[at]) != names.width or not rows[at][names.at["id"]]:
                got = f"got {len(rows[at])}" if len(rows[at]) != names.width else "the id is empty"
                raise BadFile(f"{name}, line {first + at:,}: expected {names.width} columns; {got}.")
        first += len(rows)
        yield {column: [row[at] for row in rows[begin:]] for column, at in names.at.items()}


def _blocks(content: Readable, name: str) -> Iterator[list[bytes]]:
    """The lines of a text without their ends, some at a time."""
    rest = content.read(BLOCK).removeprefix(BOM)
    while rest:
        block = content.read(BLOCK)
        text, end, rest = (rest + block).rpartition(b"\n") if block else (rest.removesuffix(b"\n"), b"", b"")
        if len(rest) > MAX_ROW:
            raise BadFile(f"{name} has a line longer than {MAX_ROW:,} bytes.")
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
    places = [_PLACES.get(place, UNKNOWN) for place in types] if types else [UNKNOWN] * len(codes)
    return _Part(np.array(codes, dtype=np.bytes_), post, thread, np.array(places, dtype=np.uint8), visual)


def _joined(parts: Sequence[_Part]) -> Formulas:
    """All rows, with each formula once."""
    columns = zip(_part({"id": []}), *parts, strict=True)
    joined = [np.concatenate(column) for column in columns]
    order = np.argsort(joined[0], kind="stable")
    code, post, thread, place, visual = (column[order] for column in joined)
    starts = np.flatnonzero(np.append(True, code[1:] != code[:-1])) if len(code) else order
    place = _last_given(place, place != UNKNOWN, starts)
    place[place == UNKNOWN] = _PLACES[b"answer"]
    post, thread, visual = (_last_given(column, column != b"", starts) for column in (post, thread, visual))
    return Formulas(code[starts], post, thread, place, visual)


def _last_given(values: NDArray[Any], is_given: NDArray[np.bool_], starts: NDArray[np.intp]) -> NDArray[Any]:
    """The last given value of each group of rows; the first value of the group if none is given."""
    if not len(starts):
        return values
    rows = np.where(is_given, np.arange(len(values)), np.repeat(starts, np.diff(starts, append=len(values))))
    return values[np.maximum.reduceat(rows, starts)]
