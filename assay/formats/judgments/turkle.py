"""Writes judgments with the columns of Turkle's results: a line for each assignment, with its inputs and answers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from assay.formats.spreadsheet import csv_lines

COLUMNS = (
    "HITId", "HITTypeId", "Title", "CreationTime", "MaxAssignments", "AssignmentDurationInSeconds", "AssignmentId",
    "WorkerId", "AcceptTime", "SubmitTime", "WorkTimeInSeconds",
)  # fmt: skip
INPUT, ANSWER, USERNAME = "Input.", "Answer.", "Turkle.Username"
TIME = "%a %b %d %H:%M:%S UTC %Y"


def results_lines(
    inputs: Sequence[str], answers: Sequence[str], rows: Iterable[Mapping[str, object]]
) -> Iterator[str]:
    """The lines of results as Turkle writes them: all cells quoted, inputs and answers sorted.

    Unlike Turkle, a text that a spreadsheet would run gets an apostrophe, and several values of a name have bars
    between them.

    Args:
        rows: by column.
    """
    header = [
        *COLUMNS,
        *(INPUT + name for name in sorted(inputs)),
        *(ANSWER + name for name in sorted(answers)),
    ]
    header.append(USERNAME)
    cells = ([_cell(row.get(column)) for column in header] for row in rows)
    return csv_lines(header, cells, is_quoted=True)


def _cell(value: object) -> str:
    if isinstance(value, list):
        return "|".join(map(_item, value))
    return "" if value is None else str(value)


def _item(value: object) -> str:
    """An item of an answer: a key, equal ones of an order, or a marked part."""
    if isinstance(value, dict):
        return f"{value['start']}+{value['length']} = {value['choice']}"
    return " = ".join(value) if isinstance(value, list) else str(value)
