"""The discussion of a round as a file."""

from collections.abc import Iterable, Iterator

from assay.formats.spreadsheet import as_csv
from assessment.discussions.selectors import DiscussedUnit

HEADER = ("topic", "docno", "assessor", "choice", "grade", "comment", "agreed_grade", "note")


def discussion_csv(units: Iterable[DiscussedUnit]) -> str:
    """A line per answer; the agreed grade and the note of a unit are on each of its lines."""
    return as_csv(HEADER, [row for unit in units for row in _rows(unit)])


def _rows(unit: DiscussedUnit) -> Iterator[tuple[str, ...]]:
    note = unit.note
    outcome = (_grade(note.grade), note.text) if note else ("", "")
    for column, reply in unit.answers:
        if reply is not None:
            answer = (reply.label, _grade(reply.grade), reply.comment)
            yield unit.topic, unit.docno, column.name, *answer, *outcome


def _grade(grade: int | None) -> str:
    return "" if grade is None else str(grade)
