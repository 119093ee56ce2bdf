"""Writes tables: CSV, which people open in spreadsheets, and TSV, which programs read.

Spreadsheets run text that looks like a formula, so every CSV file of Assay is written here, with an apostrophe before
such text. Readers of these files take it away with `original`.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from io import StringIO
from itertools import islice
from typing import Any, Literal

BOM = "\ufeff"  # at the beginning of a file, so that spreadsheets read it as UTF-8
LINES_AT_ONCE = 2_000
# Apostrophes before it count, so that `original` can take the added one away.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?|-?\.[0-9]+")


@contextmanager
def long_cells(most: int) -> Iterator[None]:
    """Let readers of CSV accept cells of up to `most` characters."""
    limit = csv.field_size_limit(most)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def without_formulas(value: object) -> Any:
    """The value of a cell, with an apostrophe before text that a spreadsheet would run as a formula."""
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def original(text: str) -> str:
    """The text of which `without_formulas` made a cell.

    >>> [original(without_formulas(text)) for text in ("=1", "'=1", "-1", "'tis")]
    ['=1', "'=1", '-1', "'tis"]
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def as_csv(header: Sequence[str], rows: Iterable[Sequence[object]], *, line_end: str = "\r\n") -> str:
    """CSV for spreadsheets: a text that looks like a formula gets an apostrophe in front."""
    return "".join(csv_lines(header, rows, line_end=line_end))


def csv_lines(
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    line_end: str = "\r\n",
    is_quoted: bool = False,
) -> Iterator[str]:
    """The parts of `as_csv`, of many lines each.

    Args:
        is_quoted: whether every cell has quotes, as in the results of Turkle.
    """
    cell = lru_cache(maxsize=1 << 14, typed=True)(without_formulas)  # tables repeat their words
    quoting: Literal[0, 1] = csv.QUOTE_ALL if is_quoted else csv.QUOTE_MINIMAL
    yield from _parts([header], ",", line_end, quoting)
    yield from _parts(([*map(cell, row)] for row in rows), ",", line_end, quoting)


def tsv_lines(rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The parts of a table for programs: tabs, LF, and fields quoted as csv quotes them."""
    return _parts(rows, "\t", "\n")


def tsv_line(cells: Sequence[object]) -> str:
    """One line of `tsv_lines`, without its end."""
    return next(_parts([cells], "\t", ""))


def _parts(
    rows: Iterable[Sequence[object]],
    separator: str,
    line_end: str,
    quoting: Literal[0, 1] = csv.QUOTE_MINIMAL,
) -> Iterator[str]:
    rows = iter(rows)
    while some := list(islice(rows, LINES_AT_ONCE)):
        file = StringIO()
        csv.writer(file, delimiter=separator, lineterminator=line_end, quoting=quoting).writerows(some)
        yield file.getvalue()
