"""A judgment as a row of a file, and the columns in which Assay writes it: CSV for spreadsheets, or lines of JSON.

The same names are columns of a CSV file and keys of a line of JSON. docs/reference/formats.md describes each of them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from assay.formats.spreadsheet import BOM, csv_lines

COLUMNS = (
    "judgment", "pool", "batch", "kind", "round", "topic", "docno", "unit", "position", "assessor", "seat", "choice",
    "label", "grade", "comment", "answers", "guidelines", "order", "accepted_at", "judged_at", "seconds",
    "is_current", "replaces", "is_withdrawn", "is_adjudicated", "is_check", "source", "left",
)  # fmt: skip
LINES_AT_ONCE = 500
ASSAY, TURKLE = "assay", "turkle"  # the tools in which judgments are made


NO_ANSWERS: Mapping[str, Any] = {}


class JudgmentRow(NamedTuple):
    """A judgment of a file. What the file does not state has its default.

    Args:
        line: where it begins in the file; 0 if unknown.
        choice: key of a grade or of a non-answer; in files of other tools, the answer as it is.
        grade: None for a non-answer.
        unit: docno of the unit that was judged, if it has several members; otherwise empty.
        left: of a pair: the document that was on the left.
        seat: the number of the judge, if a unit has several; 0 for a hidden check.
        answers: the answers to the questions of the protocol, by question.
        guidelines: the number of the version that was in force.
        number, replaces: number of the judgment in its file, and of the judgment that it revises.
        is_current: False for a judgment that was replaced, or that does not count for another reason.
        is_withdrawn: the topic was taken from the assessor later.
        source: the tool in which it was made.
    """

    topic: str
    docno: str
    assessor: str
    line: int = 0
    choice: str = ""
    grade: int | None = None
    comment: str = ""
    pool: str = ""
    batch: str = ""
    kind: str = ""
    round: int | None = None
    unit: str = ""
    left: str = ""
    seat: int | None = None
    answers: Mapping[str, Any] = NO_ANSWERS
    guidelines: int | None = None
    order: str = ""
    accepted_at: datetime | None = None
    judged_at: datetime | None = None
    seconds: int | None = None
    number: int | None = None
    replaces: int | None = None
    is_current: bool = True
    is_withdrawn: bool = False
    is_check: bool = False
    source: str = ASSAY


@dataclass(frozen=True, slots=True)
class JudgmentStream:
    """A file of judgments whose rows are read once, one after another.

    Args:
        form: `assay-csv`, `assay-jsonl`, `turkle`, `bolt-xml` or `qrels`.
        columns: for each field that was read, the column of the file; empty for JSON and qrels.
    """

    name: str
    form: str
    rows: Iterable[JudgmentRow]
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JudgmentFile(JudgmentStream):
    """The judgments of a file, in its order."""

    rows: list[JudgmentRow]


WrittenRow = Mapping[str, Any]  # by column; None is empty


def as_csv(rows: Iterable[WrittenRow]) -> Iterator[str]:
    """The parts of a CSV file. A cell that would run as a spreadsheet formula gets an apostrophe."""
    yield BOM
    yield from csv_lines(COLUMNS, ([cell_of(row[name]) for name in COLUMNS] for row in rows))


def cell_of(value: object) -> str:
    """A value of JSON as the text of a cell."""
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, sort_keys=True) if value else ""
    return "" if value is None else str(value)


def as_jsonl(rows: Iterable[WrittenRow]) -> Iterator[str]:
    """The parts of a file with one object per line."""
    lines: list[str] = []
    for row in rows:
        lines.append(json.dumps({name: row[name] for name in COLUMNS}, ensure_ascii=False) + "\n")
        if len(lines) == LINES_AT_ONCE:
            yield "".join(lines)
            lines.clear()
    yield "".join(lines)
