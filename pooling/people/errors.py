"""Refusals about lists of people."""

from collections.abc import Sequence

from assay.errors import Refused
from pooling.people.pasted import Problem


class PeopleRefused(Refused):
    """A list of people that cannot be carried out."""

    title = "Nobody was added"


class BadPeople(PeopleRefused):
    """Lines of a list are wrong, so that nothing of it is done."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        first = problems[0]
        where = f"Line {first.line}, {first.column}: " if first.line else ""
        super().__init__(f"{where}{first.message}")
        self.errors = [
            {"line": line or None, "field": column, "code": "invalid", "message": message}
            for line, column, message in problems
        ]
