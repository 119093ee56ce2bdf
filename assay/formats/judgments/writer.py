"""Writes judgments as CSV for spreadsheets or as lines of JSON, with the columns of `assay.formats.judgments.rows`."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from assay.formats.judgments.rows import COLUMNS
from assay.formats.spreadsheet import csv_lines

LINES_AT_ONCE = 500
BOM = "\ufeff"  # so that spreadsheets read the file as UTF-8

Row = Mapping[str, Any]  # by column; None is empty


def as_csv(rows: Iterable[Row]) -> Iterator[str]:
    """The parts of a CSV file. A cell that would run as a spreadsheet formula gets an apostrophe."""
    yield BOM
    yield from csv_lines(COLUMNS, ([_cell(row[name]) for name in COLUMNS] for row in rows))


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, sort_keys=True) if value else ""
    return "" if value is None else str(value)


def as_jsonl(rows: Iterable[Row]) -> Iterator[str]:
    """The parts of a file with one object per line."""
    lines: list[str] = []
    for row in rows:
        lines.append(json.dumps({name: row[name] for name in COLUMNS}, ensure_ascii=False) + "\n")
        if len(lines) == LINES_AT_ONCE:
            yield "".join(lines)
            lines.clear()
    yield "".join(lines)
