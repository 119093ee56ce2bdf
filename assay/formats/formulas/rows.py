"""Reads formulas with their LaTeX and MathML from files: formula indexes, and tables of ids and MathML.

A table is TSV with a header: `id` or `formula_id`; `mathml` or `presentation_mathml`, `latex`, or both; and optionally
`visual_id`. Fields are quoted as csv quotes them.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

from assay.errors import BadFile
from assay.formats.compression import UnpackedFile
from assay.formats.documents.dump import MAX_ROW, Readable, Reader
from assay.formats.documents.sources import BOM, HEAD, files_of
from assay.formats.formulas import chunks
from assay.formats.formulas.indexes import Index

_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}
_ALIASES = {"formula_id": "id", "presentation_mathml": "mathml"}
_AT = {name: at for at, name in enumerate(chunks.COLUMNS.split(", "))}
ROWS = 10_000


class Row(NamedTuple):
    """A formula of a file; empty or None where the file has no value."""

    code: str
    latex: str = ""
    mathml: str | None = None
    visual: str = ""


@dataclass
class Source:
    """Files that are read row by row. `skipped` counts skipped rows; `report_bytes` is called with the bytes read."""

    paths: Sequence[Path]
    report_bytes: Callable[[int], object] = lambda _n: None
    skipped: Counter[str] = field(default_factory=Counter)

    @property
    def size(self) -> int:
        return sum(path.stat().st_size for path in files_of(self.paths))

    def __iter__(self) -> Iterator[list[Row]]:
        """Rows, some thousands at a time.

        Raises
        ------
        BadFile
            A file is not a formula index or table of formulas, or violates its form.
        OSError
            A file cannot be opened.
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
        names = _names(UnpackedFile(file, name).read(HEAD))
        content = UnpackedFile(file, name)
        if names is not None:
            yield from _table(content, name, names)
            return
        reader = Reader(content, name)
        index = Index.of(reader.form.name)
        if index is None:
            raise BadFile(f"{name} contains {reader.form.name}; use a formula index or a table of formulas.")
        if index.representation == "opt":
            raise BadFile(
                f"{name} contains Content MathML, which does not describe how formulas look. Use Presentation MathML."
            )
        for chunk in reader:
            packed = chunks.convert(chunk.data, index.form)
            self.skipped.update(packed.skipped)
            yield list(_index_rows(packed.tables))


def _names(head: bytes) -> list[str] | None:
    """The columns of a table of formulas, from its first line; None if the file is not one."""
    first = head.removeprefix(BOM).partition(b"\n")[0].decode(errors="replace").strip()
    words = [word.strip('"').lower() for word in first.split("\t")]
    names = [_ALIASES.get(word, word) for word in words]
    is_table = "id" in names and bool({"mathml", "latex"} & {*names}) and len({*names}) == len(names)
    return names if is_table else None


def _table(content: Readable, name: str, names: Sequence[str]) -> Iterator[list[Row]]:
    """The rows of a table of formulas.

    Raises
    ------
    BadFile
        A line has a wrong number of columns, or no id, or is not UTF-8.
    """
    lines = _lines(content, name)
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


def _lines(content: Readable, name: str) -> Iterator[str]:
    """The lines of a text with their ends."""
    rest, n = b"", 0
    try:
        while block := content.read(HEAD):
            *lines, rest = (rest + block).split(b"\n")
            if len(rest) > MAX_ROW:
                raise BadFile(f"{name}, line {n + len(lines) + 1:,}: longer than {MAX_ROW:,} bytes.")
            for line in lines:
                n += 1
                yield f"{line.decode()}\n"
        if rest:
            yield rest.decode()
    except UnicodeDecodeError:
        raise BadFile(f"{name}, line {n:,}: not UTF-8.") from None


def _index_rows(tables: dict[str, bytes]) -> Iterator[Row]:
    pairs = (line.split(b"\t") for line in tables.get("formula_mathml", b"").splitlines())
    mathml = {code: _plain(content) for code, content in pairs}
    for line in tables.get("formula", b"").split(b"\n")[:-1]:
        fields = line.split(b"\t")
        code = fields[_AT["code"]]
        yield Row(
            code.decode(), _plain(fields[_AT["latex"]]), mathml.get(code), fields[_AT["visual"]].decode()
        )


def _plain(value: bytes) -> str:
    """A field as it was before it was escaped for COPY."""
    if b"\\" in value:
        value = _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), value)
    return value.decode()
