"""Reads formulas from files: formula indexes, maps of visual ids, and tables of LaTeX and MathML.

`read_files` reads ids, places and visual ids as arrays, from indexes and maps. A map is TSV with a header:
`formula_id` (or `id`), a column whose name begins with `visual`, and optionally `post`, `thread` and `type` (or
`post_id`, `thread_id`, `place`). Other columns are ignored. A file of two columns without a header is also a map. If
several files contain a formula, the last value counts, column by column. So a map can add visual ids to an index that
has none.

`Source` reads LaTeX and MathML row by row, from indexes and tables. A table is TSV with a header: `id` or `formula_id`;
`mathml` or `presentation_mathml`, `latex`, or both; and optionally `visual_id`. Fields are quoted as csv quotes them.

Files may be compressed; a folder represents the files in it.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import BadFile
from assay.formats.compression import UnpackedFile
from assay.formats.documents import index_rows
from assay.formats.documents.dump import MAX_ROW, Readable, Reader
from assay.formats.documents.indexes import IN_WORDS, Index
from assay.formats.documents.sources import BOM, HEAD, files_of
from assay.formulas import PLACE_ALIASES, PLACES
from assay.formulas.columns import Formulas
from assay.formulas.opt import opt
from assay.formulas.slt import slt
from assay.formulas.visual_ids import key_of, latex_key

BLOCK = 4_000_000  # bytes
ROWS = 10_000
# A place that no file gives. It counts as an answer, because only comments have a rule of their own.
UNKNOWN = 255
_IN_MAPS = {"formula_id": "id", "post": "post_id", "thread": "thread_id", "place": "type"}
_IN_TABLES = {"formula_id": "id", "presentation_mathml": "mathml"}
_PLACES = {place.encode(): number for number, place in enumerate(PLACES)}
_PLACES |= {alias.encode(): _PLACES[place.encode()] for alias, place in PLACE_ALIASES.items()}
_OTHER: dict[str, Literal["slt", "opt"]] = {"slt": "opt", "opt": "slt"}
_WHAT = {"slt": "how formulas look", "opt": "what formulas mean"}
_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}
_AT = {name: at for at, name in enumerate(index_rows.COLUMNS.split(", "))}

# The columns id, post_id, thread_id, type and visual_id, as far as a file has them.
Columns = Mapping[str, Sequence[bytes]]


class Read(NamedTuple):
    """The formulas of some files, and the number of skipped rows by reason."""

    formulas: Formulas
    skipped: Mapping[str, int]


def read_index(paths: Path | Iterable[Path]) -> Formulas:
    """The formulas of some files, without the rows that cannot be used; `read_files` counts these."""
    return read_files([paths] if isinstance(paths, Path) else paths).formulas


def read_files(paths: Iterable[Path]) -> Read:
    """The formulas of some files, each once, and the number of skipped rows.

    Raises `BadFile` if a file is not a formula index or map, or violates its form; `OSError` if a file cannot be
    opened.
    """
    skipped: Counter[str] = Counter()
    parts = [_arrays(columns) for path in files_of(paths) for columns in _columns(path, skipped)]
    joined = [np.concatenate(column) for column in zip(_arrays({"id": []}), *parts, strict=True)]
    order = np.argsort(joined[0], kind="stable")
    code, place, *others = (column[order] for column in joined)
    starts = np.flatnonzero(np.append(True, code[1:] != code[:-1])) if len(code) else order
    place = _last_given(place, place != UNKNOWN, starts)
    place[place == UNKNOWN] = _PLACES[b"answer"]
    post, thread, visual = (_last_given(column, column != b"", starts) for column in others)
    return Read(Formulas(code[starts], post, thread, place, visual), skipped)


def _columns(path: Path, skipped: Counter[str]) -> Iterator[Columns]:
    """The columns of a file, chunk by chunk."""
    with path.open("rb") as file:
        head = UnpackedFile(file, path.name).read(HEAD).removeprefix(BOM)
        words = [
            word.strip().strip('"').lower()
            for word in head.partition(b"\n")[0].decode(errors="replace").split("\t")
        ]
        named = {_IN_MAPS.get(word, word): at for at, word in enumerate(words)}
        visuals = [at for at, word in enumerate(words) if word.startswith("visual")]
        names = _Names({"id": 0, "visual_id": 1}, 2, has_header=False) if len(words) == 2 else None
        if "id" in named and visuals and "formula" not in named:
            known = {name: named[name] for name in ("id", "post_id", "thread_id", "type") if name in named}
            names = _Names(known | {"visual_id": visuals[0]}, len(words), has_header=True)
        content = UnpackedFile(file, path.name)
        if names is not None:
            yield from _map_columns(content, path.name, names)
            return
        reader = Reader(content, path.name)
        index = Index.of(reader.form.name)
        if index is None:
            raise BadFile(
                f"{path.name} contains {reader.form.name}; use a formula index or a map of visual ids."
            )
        for chunk in reader:
            columns, skipped_here = index_rows.names_of(chunk.data, index)
            skipped.update(skipped_here)
            yield columns


class _Names(NamedTuple):
    """The places of the columns of a map, by name."""

    at: Mapping[str, int]
    width: int
    has_header: bool


def _map_columns(content: Readable, name: str, names: _Names) -> Iterator[Columns]:
    """The columns of a map. A wrong line is an error, because programs write maps, not people."""
    first = 1
    rest = content.read(BLOCK).removeprefix(BOM)
    while rest:
        block = content.read(BLOCK)
        text, end, rest = (rest + block).rpartition(b"\n") if block else (rest.removesuffix(b"\n"), b"", b"")
        if len(rest) > MAX_ROW:
            raise BadFile(f"{name} has a line longer than {MAX_ROW:,} bytes.")
        if not (text or end):
            continue
        lines = text.replace(b"\r\n", b"\n").removesuffix(b"\r").split(b"\n")
        rows = [line.split(b"\t") for line in lines]
        begin = int(first == 1 and names.has_header)
        for at, row in enumerate(rows[begin:], begin):
            if len(row) != names.width or not row[names.at["id"]]:
                got = f"got {len(row)}" if len(row) != names.width else "the id is empty"
                raise BadFile(f"{name}, line {first + at:,}: expected {names.width} columns; {got}.")
        first += len(rows)
        yield {column: [row[at] for row in rows[begin:]] for column, at in names.at.items()}


def _arrays(columns: Columns) -> tuple[NDArray[Any], ...]:
    """Id, place, post, thread and visual id of rows in their order; empty where the file has no value."""
    codes = columns["id"]
    empty = np.zeros(len(codes), dtype="S1")
    types = columns.get("type")
    places = [_PLACES.get(place, UNKNOWN) for place in types] if types else [UNKNOWN] * len(codes)
    others = (
        np.array(columns[name], dtype=np.bytes_) if name in columns else empty
        for name in ("post_id", "thread_id", "visual_id")
    )
    return np.array(codes, dtype=np.bytes_), np.array(places, dtype=np.uint8), *others


def _last_given(values: NDArray[Any], is_given: NDArray[np.bool_], starts: NDArray[np.intp]) -> NDArray[Any]:
    """The last given value of each group of rows; the first value of the group if none is given."""
    if not len(starts):
        return values
    rows = np.where(is_given, np.arange(len(values)), np.repeat(starts, np.diff(starts, append=len(values))))
    return values[np.maximum.reduceat(rows, starts)]


class Row(NamedTuple):
    """A formula of a file; empty or None where the file has no value."""

    code: str
    latex: str = ""
    mathml: str | None = None
    visual: str = ""
    post: str = ""  # of rows of an index; so is the place, one of `PLACES`
    place: str = ""


@dataclass
class Source:
    """Files that are read row by row. `skipped` counts skipped rows; `report_bytes` is called with the bytes read.

    `form`: an index in MathML must have Presentation (`slt`) or Content MathML (`opt`).
    """

    paths: Sequence[Path]
    report_bytes: Callable[[int], object] = lambda _n: None
    skipped: Counter[str] = field(default_factory=Counter)
    form: Literal["slt", "opt"] = "slt"

    @property
    def size(self) -> int:
        return sum(path.stat().st_size for path in files_of(self.paths))

    def __iter__(self) -> Iterator[list[Row]]:
        """Rows, some thousands at a time.

        Raises `BadFile` if a file is not a formula index or table of formulas, or violates its form; `OSError` if a
        file cannot be opened.
        """
        for path in files_of(self.paths):
            with path.open("rb") as raw:
                at = 0
                file: BinaryIO = raw if raw.seekable() else io.BytesIO(raw.read())
                for rows in self._rows(file, path.name):
                    yield rows
                    at, before = min(file.tell(), path.stat().st_size), at  # prose: allow a method of files
                    self.report_bytes(at - before)

    def _rows(self, file: BinaryIO, name: str) -> Iterator[list[Row]]:
        head = UnpackedFile(file, name).read(HEAD).removeprefix(BOM)
        first = head.partition(b"\n")[0].decode(errors="replace").strip()
        words = [word.strip('"').lower() for word in first.split("\t")]
        names = [_IN_TABLES.get(word, word) for word in words]
        content = UnpackedFile(file, name)
        if "id" in names and {"mathml", "latex"} & {*names} and len({*names}) == len(names):
            yield from _table(content, name, names)
            return
        reader = Reader(content, name)
        index = Index.of(reader.form.name)
        if index is None:
            raise BadFile(f"{name} contains {reader.form.name}; use a formula index or a table of formulas.")
        if index.representation == _OTHER[self.form]:
            raise BadFile(
                f"{name} contains {IN_WORDS[_OTHER[self.form]]}, which does not describe {_WHAT[self.form]}. Use "
                f"{IN_WORDS[self.form]}."
            )
        for chunk in reader:
            packed = index_rows.convert(chunk.data, index.form)
            self.skipped.update(packed.skipped)
            yield list(rows_of_index(packed.tables))


def _table(content: Readable, name: str, names: Sequence[str]) -> Iterator[list[Row]]:
    """The rows of a table of formulas. A line with a wrong number of columns, or without an id, is an error."""
    lines = lines_of(content, name)
    next(lines)
    reader = csv.reader(lines, delimiter="\t")
    rows = []
    try:
        for values in reader:
            row = dict(zip(names, values, strict=False))
            if len(values) != len(names) or not row["id"]:
                got = f"got {len(values)}" if len(values) != len(names) else "the id is empty"
                raise BadFile(f"{name}, line {reader.line_num + 1:,}: expected {len(names)} columns; {got}.")
            rows.append(Row(row["id"], row.get("latex", ""), row.get("mathml"), row.get("visual_id", "")))
            if len(rows) == ROWS:
                yield rows
                rows = []
    except csv.Error as error:
        raise BadFile(f"{name}, line {reader.line_num + 1:,}: {error}.") from None
    yield rows


def lines_of(content: Readable, name: str) -> Iterator[str]:
    """The lines of a text with their ends."""
    rest, n = b"", 0
    try:
        while block := content.read(HEAD):
            *lines, rest = (rest + block).split(b"\n")
            if len(rest) > MAX_ROW:
                raise BadFile(f"{name}, line {n + len(lines) + 1:,}: longer than {MAX_ROW:,} bytes.")
            for line in lines:
                n += 1
                yield f"{line.removeprefix(BOM).decode()}\n"
        if rest:
            n += 1
            yield rest.removeprefix(BOM).decode()
    except UnicodeDecodeError:
        raise BadFile(f"{name}, line {n:,}: not UTF-8.") from None


def rows_of_index(tables: Mapping[str, bytes]) -> Iterator[Row]:
    """The rows of a chunk of an index, from its lines for COPY."""
    pairs = (line.split(b"\t") for line in tables.get("formula_mathml", b"").splitlines())
    mathml = {code: _plain(content) for code, content in pairs}
    for line in tables.get("formula", b"").split(b"\n")[:-1]:
        fields = line.split(b"\t")
        code, visual = fields[_AT["code"]], fields[_AT["visual"]].decode()
        post, place = fields[_AT["post"]].decode(), PLACES[int(fields[_AT["place"]])]
        yield Row(code.decode(), _plain(fields[_AT["latex"]]), mathml.get(code), visual, post, place)


def _plain(value: bytes) -> str:
    """A field as it was before it was escaped for COPY."""
    if b"\\" in value:
        value = _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), value)
    return value.decode()


def strings_of(rows: Sequence[Row], *, form: Literal["slt", "opt"] = "slt") -> list[tuple[str, str]]:
    """Id and SLT or OPT string of each row with MathML; the string is empty if the MathML has none."""
    string = slt if form == "slt" else opt
    return [(row.code, string(row.mathml) or "") for row in rows if row.mathml is not None]


def keys_of(rows: Sequence[Row]) -> list[tuple[str, bytes, bytes, str]]:
    """Id, SLT key, LaTeX key and visual id of each row; empty if the row does not have them."""
    return [
        (row.code, key_of(slt(row.mathml) or "") if row.mathml else b"", latex_key(row.latex), row.visual)
        for row in rows
    ]
