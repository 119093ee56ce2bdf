"""Converts rows of tables of documents (`assay.formats.documents.tables`) to lines for COPY.

With tabs, a field is its characters, except that a field in quotation marks with doubled ones inside is what csv means
by it. With commas or semicolons, a quoted field may contain commas and line ends.
"""

import csv
import re
from collections.abc import Iterator
from io import StringIO

from assay.formats.documents.batch import MAX_TEXT, Batch, Malformed, Unusable, decoded_line
from assay.formats.documents.jsonl import add_document
from assay.formats.documents.tables import SEPARATORS, TAB
from assay.formats.text import without_marks

_DOUBLED = re.compile(r'"(?>(?:[^"]|"")*)"')


def convert(data: bytes, form: str) -> Batch:
    """Convert a chunk of rows to lines for the staging tables.

    Raises `Malformed` if a row with commas has a quotation that is not closed, or something after one.
    """
    kind, _, columns = form.partition(" ")
    places = {field: int(place) - 1 for field, place in re.findall(r"\b(\w+)=(\d+)", columns)}
    width = places.pop("of") + 1
    batch = Batch()
    for number, cells in cells_of(_decoded(data, batch), kind):
        try:
            if has_more(cells, width):
                raise Unusable("more columns than the header or first row")
            if len(cells) <= max(places.values()):
                raise Unusable("fewer columns than the header or first row")
            fields = {field: cells[place].strip() for field, place in places.items()}
            add_document(fields, batch)
        except Unusable as reason:
            batch.skip(str(reason), number)
    return batch


def has_more(cells: list[str], width: int) -> bool:
    """Return whether a row has text beyond the columns of its table: a separator in a text that is not quoted."""
    return any(cells[width:])


def cells_of(text: str, kind: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table that are not empty, with the number of the first line of each from 0.

    Raises `Malformed` as `convert` does.
    """
    return _tab_rows(text) if kind == TAB else _comma_rows(text, SEPARATORS[kind])


def _tab_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(text.split("\n")):
        if line.strip():
            cells = line.rstrip("\r").split("\t")
            for i, cell in enumerate(cells):
                if '""' in cell and _DOUBLED.fullmatch(cell):
                    cells[i] = cell[1:-1].replace('""', '"')
            yield number, cells


def _comma_rows(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(2 * MAX_TEXT)
    reader = csv.reader(StringIO(text, newline=""), delimiter=separator, strict=True)
    n_lines = 0
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            offset = sum(len(line.encode()) + 1 for line in text.split("\n")[:n_lines])
            raise Malformed(f"not a row of a table: {error}", offset=offset, n_lines=n_lines) from None
        if cells is None:
            return
        if any(cells):
            yield n_lines, cells
        n_lines = reader.line_num


def _decoded(data: bytes, batch: Batch) -> str:
    """The text of rows, without byte-order marks; the batch counts the lines that are not UTF-8."""
    data = without_marks(data)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\n".join(decoded_line(line, batch) for line in data.split(b"\n"))
    return text.rstrip("\x1a")
