"""Reads tables of text with a header, as people and programs write them: CSV of any country, and TSV.

Comments and empty lines may come before the header, and so may the line `sep=;` that Excel reads. The separator is the
comma, semicolon or tab that makes the most columns of the header. A table saved by a spreadsheet often has empty
columns on its right and empty rows below, which are left out.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from assay.errors import plural

SEPARATORS = (",", ";", "\t")
_SEPARATOR_LINE = re.compile(r'"?sep=([^\w\s\0"]|\t)"?\s*', re.IGNORECASE)

Row = tuple[int, list[str] | str]  # the number of its first line; its cells, or what is wrong with them


class Sheet(NamedTuple):
    """The header of a table, without white space around names, and its rows, which are read once.

    `number` is that of the line of the header; 0 if the table is empty. `cells` can be read instead of `rows`, and is
    faster: it has the cells of the same lines, also of empty ones, and raises `csv.Error`.
    """

    header: list[str]
    rows: Iterator[Row]
    separator: str = ","
    number: int = 0
    cells: Iterator[list[str]] = iter(())


def read_sheet(lines: Iterable[str], *, is_plain_tsv: bool = False) -> Sheet:
    """The table of some lines, which keep their ends.

    With `is_plain_tsv`, quotation marks have no meaning between tabs, as in lists of ids; else they have it everywhere.
    The rows end at one whose quotation marks are wrong.
    """
    lines = iter(lines)
    separator, number = "", 0
    for line in lines:
        number += 1
        marked = _SEPARATOR_LINE.fullmatch(line) if not separator else None
        if marked:
            separator = marked[1]
        elif line.strip() and not line.startswith("#"):
            separator = separator or separator_of(line)
            break
    else:
        return Sheet([], iter(()))
    quoting = csv.QUOTE_NONE if is_plain_tsv and separator == "\t" else csv.QUOTE_MINIMAL
    reader = csv.reader(chain([line], lines), delimiter=separator, quoting=quoting, strict=True)  # type: ignore[arg-type]
    rows = _rows(reader, number)
    first, cells = next(rows)
    if isinstance(cells, str):
        return Sheet([], iter([(first, cells)]), separator, first)
    header = [name.strip() for name in cells]
    while header and not header[-1]:
        header.pop()
    return Sheet(header, _fitted(rows, len(header)), separator, first, reader)


def separator_of(line: str) -> str:
    """The separator of a header: the one with most columns."""
    return max(SEPARATORS, key=lambda separator: len(_cells(line, separator)))


def is_before_header(line: str) -> bool:
    """Return whether a line is a comment or names the separator."""
    return line.startswith("#") or _SEPARATOR_LINE.fullmatch(line) is not None


def without_preamble(text: str) -> str:
    """A table whose lines before the header are empty, so that all lines keep their numbers."""
    start = 0
    while (end := text.find("\n", start) + 1) > 0:
        line = text[start:end]
        if line.strip() and not is_before_header(line):
            break
        start = end
    return "\n" * text.count("\n", 0, start) + text[start:]


def names_in(line: str) -> list[str]:
    """The names of a line, if it is a header."""
    return [name.strip() for name in _cells(line, separator_of(line))]


def _cells(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return []


def _rows(reader: Any, start: int) -> Iterator[Row]:
    while True:
        number = start + reader.line_num
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield number, f"not a row of a table: {error}"
            return
        if cells is None:
            return
        yield number, cells


def _fitted(rows: Iterator[Row], width: int) -> Iterator[Row]:
    """The rows with any content, each with as many cells as the header has names."""
    for number, cells in rows:
        if isinstance(cells, str):
            yield number, cells
        elif any(cell.strip() for cell in cells):
            yield number, cells[:width] if is_wide(cells, width) else _wrong_width(cells, width)


def is_wide(cells: Sequence[str], width: int) -> bool:
    """Return whether a row has the width of the header, apart from empty cells on its right."""
    return len(cells) >= width and not any(cell.strip() for cell in cells[width:])


def _wrong_width(cells: Sequence[str], width: int) -> str:
    return f"expected {plural(width, 'column')} as in the header, got {len(cells)}"
