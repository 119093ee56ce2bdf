"""Makes the cells of a table safe for spreadsheets, which run text that looks like a formula."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from io import StringIO
from itertools import islice
from typing import Any

LINES_AT_ONCE = 2_000
_FORMULA = re.compile(
    r"'*[=+\-@\t\r]"
)  # apostrophes before it count, so that `original` can take the added one away
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?|-?\.[0-9]+")


def harmless(value: Any) -> Any:
    """The value of a cell, with an apostrophe before text that a spreadsheet would run as a formula."""
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def original(text: str) -> str:
    """The text of which `harmless` made a cell.

    >>> [original(harmless(text)) for text in ("=1", "'=1", "-1", "'tis")]
    ['=1', "'=1", '-1', "'tis"]
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def as_csv(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """CSV for spreadsheets: a text that looks like a formula gets an apostrophe in front."""
    return "".join(csv_lines(header, rows))


def csv_lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The parts of `as_csv`, of many lines each."""
    rows, text = iter(rows), lru_cache(maxsize=1 << 14)(harmless)  # tables repeat their words
    cells: list[Sequence[str]] = [header]
    while cells:
        file = StringIO()
        csv.writer(file, lineterminator="\r\n").writerows([*map(text, row)] for row in cells)
        yield file.getvalue()
        cells = list(islice(rows, LINES_AT_ONCE))
