"""Reads the table of rows that a form shows: CSV, or TSV, with a header.

The columns topic and docno name the row. A table without the column topic has one topic, `rows`; without docno, rows
are numbered from 1, as tasks of Turkle are. All other columns are the fields that the protocol lists, in any order.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import NamedTuple

from assay.errors import BadFile
from assay.formats.documents.batch import MAX_NAME
from assay.formats.sheets import Row, read_sheet
from assay.formats.spreadsheet import long_cells, original
from assay.formats.text import Undecodable, decoded
from assay.html.sanitize import without_controls
from assay.protocols.form_rules import ROW_COLUMNS

MAX_SIZE = 64 << 20  # bytes
MAX_ROWS = 200_000
MAX_CELL = 1 << 20  # characters
MAX_ERRORS = 100
SHOWN = 20
ONE_TOPIC = "rows"  # of a table without the column topic
MEAN = "all"  # as trec_eval writes it
NAME = re.compile(rf"[^\s\0]{{1,{MAX_NAME}}}")


class TableRow(NamedTuple):
    """A row of a table, and the line at which it begins."""

    topic: str
    docno: str
    fields: dict[str, str]
    line: int


class BadRows(BadFile):
    """A table has errors, and nothing is imported: the message lists the first, `errors` has more."""

    title = "These rows cannot be imported"

    def __init__(self, name: str, complaints: Sequence[tuple[int, str]]) -> None:
        lines = [f"line {line}: {message}" for line, message in complaints[:SHOWN]]
        more = len(complaints) - len(lines)
        shown = [
            f"{name} has errors, so nothing was imported:",
            *lines,
            *([f"and {more} more"] if more else []),
        ]
        super().__init__("\n".join(shown))
        self.errors = [{"line": line, "code": "line", "message": message} for line, message in complaints]


def read_rows(data: bytes, name: str, *, fields: Sequence[str]) -> list[TableRow]:
    """The rows of a table.

    Args:
        name: of the file, for messages.
        fields: the columns that the protocol lists, besides topic and docno.

    Raises:
        BadRows: It is not a table, columns are missing or unknown, or rows are wrong, each with its line.
    """
    if len(data) > MAX_SIZE:
        raise BadRows(name, [(1, f"{len(data):,} bytes; a table has at most {MAX_SIZE:,}")])
    try:
        text = decoded(data, name).text
    except Undecodable as error:
        raise BadRows(name, [(1, error.reason)]) from None
    with long_cells(MAX_CELL):
        sheet = read_sheet(StringIO(text, newline=""))
        lines = list(sheet.rows)
    if not sheet.header and not lines:
        raise BadRows(name, [(1, "no header; the first line names the columns")])
    if complaints := list(_header_complaints(sheet.header, fields)):
        raise BadRows(name, [(sheet.number, complaint) for complaint in complaints])
    if len(lines) > MAX_ROWS:
        raise BadRows(name, [(1, f"{len(lines):,} rows; a table has at most {MAX_ROWS:,}")])
    return _checked(name, sheet.header, lines)


def _header_complaints(header: Sequence[str], fields: Iterable[str]) -> Iterator[str]:
    accepted = f"use {', '.join((*ROW_COLUMNS, *fields))}"
    for column in dict.fromkeys(header):
        if column and header.count(column) > 1:
            yield f"the column {column} is there {header.count(column)} times"
        if column not in (*ROW_COLUMNS, *fields):
            yield f"the protocol has no field {column!r}; {accepted}"
    for column in fields:
        if column not in header:
            yield f"the column {column} is missing, which the form shows; {accepted}"


def _checked(name: str, header: Sequence[str], lines: Sequence[Row]) -> list[TableRow]:
    complaints: list[tuple[int, str]] = []
    rows: list[TableRow] = []
    line_of: dict[tuple[str, str], int] = {}
    for number, (line, cells) in enumerate(lines, 1):
        row = cells if isinstance(cells, str) else _row(header, cells, number, line)
        if isinstance(row, str):
            complaints.append((line, row))
        elif (other := line_of.setdefault((row.topic, row.docno), line)) != line:
            complaints.append((line, f"{row.topic} {row.docno} is there already, in line {other}"))
        else:
            rows.append(row)
        if len(complaints) == MAX_ERRORS:
            break
    if complaints:
        raise BadRows(name, complaints)
    if not rows:
        raise BadRows(name, [(1, "no rows below the header")])
    return rows


def _row(header: Sequence[str], cells: list[str], number: int, line: int) -> TableRow | str:
    values = {column: without_controls(original(cell)) for column, cell in zip(header, cells, strict=True)}
    topic = values.pop("topic", ONE_TOPIC).strip()
    docno = values.pop("docno", str(number)).strip()
    for column, word in (("topic", topic), ("docno", docno)):
        if not NAME.fullmatch(word):
            return f"{column} {word[:40]!r} is not one word of 1 to {MAX_NAME} characters"
    if topic == MEAN:
        return f"topic {MEAN} cannot be used: tables of scores use it for the mean"
    return TableRow(topic, docno, values, line)
