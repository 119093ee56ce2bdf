"""Scores as rows and as files: tab-separated, JSON, and CSV that is safe to open in a spreadsheet."""

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from io import StringIO
from itertools import islice
from typing import NamedTuple

from assay.formats.spreadsheet import harmless
from assay.measures.scores import ALL as ALL

HEADER = ("run", "topic", "measure", "value")
LINES_AT_ONCE = 2_000


class ScoreRow(NamedTuple):
    """One value; `topic` is `all` for the mean."""

    run: str
    topic: str
    measure: str
    value: float

    def cells(self) -> tuple[str, ...]:
        return (self.run, self.topic, self.measure, shown(self.value))


def shown(value: float) -> str:
    """A value with four decimals, as in all tables."""
    return f"{value:.4f}"


def one_word(name: str) -> str:
    """A name without tabs and line ends, which would break a table."""
    return " ".join(name.split())


def as_tsv(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Tab-separated lines, without quotation marks."""
    return "".join(tsv_lines(header, rows))


def as_csv(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """CSV for spreadsheets: a text that looks like a formula gets an apostrophe in front."""
    return "".join(csv_lines(header, rows))


def tsv_lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The parts of `as_tsv`, of many lines each."""
    yield "\t".join(header) + "\n"
    rows = iter(rows)
    while lines := ["\t".join(cells) for cells in islice(rows, LINES_AT_ONCE)]:
        yield "\n".join(lines) + "\n"


def csv_lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The parts of `as_csv`, of many lines each."""
    rows, text = iter(rows), lru_cache(maxsize=1 << 14)(harmless)  # tables repeat their words
    cells: list[Sequence[str]] = [header]
    while cells:
        file = StringIO()
        csv.writer(file, lineterminator="\r\n").writerows([*map(text, row)] for row in cells)
        yield file.getvalue()
        cells = list(islice(rows, LINES_AT_ONCE))


def as_json(rows: Iterable[ScoreRow]) -> str:
    """A list of objects, one per line; values have four decimals."""
    return "[\n" + ",\n".join(map(_json_line, rows)) + "\n]\n"


def _json_line(row: ScoreRow) -> str:
    words = ", ".join(f'"{key}": {json.dumps(getattr(row, key), ensure_ascii=False)}' for key in HEADER[:3])
    return f'{{{words}, "value": {shown(row.value)}}}'
