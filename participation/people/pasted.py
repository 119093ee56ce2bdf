"""Reads a list of people that was pasted from a spreadsheet, an e-mail or a text file, or that a program sent.

A line is a person. Tabs, semicolons or commas separate the columns, as in the first line. A first line with the
names of columns may give them in any order; without it they are: name, e-mail address, role, and the team of a member
or the group of an assessor. A user name may replace the address of an account that exists.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parseaddr
from types import MappingProxyType
from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from web.names import problem_of

MAX_LINES = 2000
MAX_CELL = 300  # characters
SEPARATORS = "\t;,"
COLUMNS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "name": ("name", "full name", "person"),
        "first name": ("first name", "given name", "firstname"),
        "last name": ("last name", "family name", "surname", "lastname"),
        "email": ("e-mail", "email", "mail", "e-mail address", "email address", "address"),
        "username": ("user name", "username"),
        "role": ("role", "roles"),
        "team": ("team", "team name"),
        "group": ("group",),
    }
)
WITHOUT_HEADER = ("name", "email", "role", "team or group")
ROLES: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "assessor": ("assessor", "judge", "annotator"),
        "member": ("member", "participant", "team member"),
        "observer": ("observer",),
        "contact": ("contact", "contact person"),
        "organizer": ("organizer",),
        "chair": ("chair", "track chair"),
    }
)
IN_TEAMS = {"member", "observer", "contact"}


class Problem(NamedTuple):
    """A mistake in a column of a line, with what is accepted."""

    line: int
    column: str
    message: str

    def __str__(self) -> str:
        place = f"Line {self.line}, {self.column}: " if self.column else f"Line {self.line}: "
        return place + self.message if self.line else self.message


@dataclass(frozen=True, slots=True)
class Row:
    """A person of the list. `role` is a key of `ROLES`."""

    line: int
    first_name: str
    last_name: str
    email: str
    role: str
    team: str
    group: str
    username: str = (
        ""  # without an address, of an account that exists; of a new one: empty is the start of the address
    )

    @property
    def name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip()


class People(NamedTuple):
    """The lines that can be read, and the problems of the others."""

    rows: list[Row]
    problems: list[Problem]


def read(text: str) -> People:
    """The people of a pasted list. A line with a problem gives no row."""
    texts = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    begin = next((line for line in texts if line.strip()), "")
    separator = next((separator for separator in SEPARATORS if separator in begin), SEPARATORS[0])
    split = (
        (number, [" ".join(cell.split()) for cell in next(csv.reader([line], delimiter=separator), [])])
        for number, line in enumerate(texts, 1)
        if line.strip()
    )
    lines = [(number, cells) for number, cells in split if any(cells)]
    first = lines[0][1] if lines else []
    # a line of names of columns has a column of addresses or user names, and no address
    names = {word: column for column, words in COLUMNS.items() for word in words}
    header = [names.get(cell.lower().rstrip(":"), "") for cell in first]
    if {"email", "username"} & set(header) and not any("@" in cell for cell in first):
        return _people(lines[1:], header)
    return _people(lines, None)


def read_entries(people: Iterable[Mapping[str, str]]) -> People:
    """The people of a list of `COLUMNS` and their values, as the API takes it. The first is in line 1."""
    columns = list(COLUMNS)
    lines = [[" ".join(person.get(column, "").split()) for column in columns] for person in people]
    return _people(list(enumerate(lines, 1)), columns)


def _people(lines: Sequence[tuple[int, list[str]]], header: Sequence[str] | None) -> People:
    rows: list[Row] = []
    problems: list[Problem] = []
    if len(lines) > MAX_LINES:
        return People([], [Problem(0, "", f"{len(lines)} lines; at most {MAX_LINES} are accepted at once.")])
    for line, cells in lines:
        problems += _complaints(line, cells, header)
        values = _values(cells, header or WITHOUT_HEADER)
        whole = values.get("name", "").rpartition(" ")
        first, last = (whole[0], whole[2]) if whole[0] else (whole[2], "")
        rows.append(
            Row(
                line=line,
                first_name=values.get("first name", first),
                last_name=values.get("last name", last),
                email=values.get("email", ""),
                role=values["role"],
                team=values.get("team", ""),
                group=values.get("group", ""),
                username=values.get("username", ""),
            )
        )
    wrong = {problem.line for problem in problems}
    return People([row for row in rows if row.line not in wrong], problems + list(_repeated(rows)))


def _values(cells: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """The cells by column. A cell such as `Ada Lovelace <ada@example.org>` gives the name too.

    The column of addresses may contain user names.
    """
    values = {column: cell for column, cell in zip(columns, cells, strict=False) if column and cell}
    for column in ("email", "name"):
        name, address = parseaddr(values.get(column, ""))
        if name and "@" in address:
            values |= {"email": address, "name": name}
    if "username" not in values and re.fullmatch(r"[\w.+-]+", values.get("email", "")):
        values["username"] = values.pop("email")
    word = values.get("role", "").lower()
    role = next((role for role, words in ROLES.items() if word in words), "")
    if "team or group" in values:
        values["team" if role in IN_TEAMS or not role else "group"] = values.pop("team or group")
    return values | {"role": role or ("member" if values.get("team") and "role" not in values else "")}


def _complaints(line: int, cells: Sequence[str], header: Sequence[str] | None) -> Iterator[Problem]:
    """Yield the mistakes in the cells of a line, whatever the site contains."""
    columns = header or WITHOUT_HEADER
    if len(cells) > len(columns):
        yield Problem(line, "columns", f"expected at most {len(columns)} columns, got {len(cells)}.")
        return
    hidden = next(filter(None, (problem_of(cell) for cell in cells if cell)), "")
    if hidden or any(len(cell) > MAX_CELL for cell in cells):
        yield Problem(line, "columns", hidden or f"a column has more than {MAX_CELL} characters.")
        return
    values = _values(cells, columns)
    try:
        if "email" in values or "username" not in values:
            validate_email(values.get("email", ""))
    except ValidationError:
        yield Problem(line, "e-mail", f"“{values.get('email', '')}” is not an e-mail address.")
    raw = dict(zip(columns, cells, strict=False)).get("role", "")
    if not values["role"]:
        problem = f"“{raw}” is not a role" if raw else "the role is missing"
        yield Problem(line, "role", f"{problem}; use {', '.join(ROLES)}.")
    if values["role"] in IN_TEAMS and not values.get("team"):
        yield Problem(line, "team", f"the team is missing; people with the role {values['role']} need one.")
    if values["role"] not in IN_TEAMS and values["role"] and values.get("team"):
        yield Problem(line, "team", f"people with the role {values['role']} have no team; leave it empty.")


def _repeated(rows: Sequence[Row]) -> Iterator[Problem]:
    """People who are in the list twice, and teams with two contact persons."""
    addresses: dict[str, int] = {}
    contacts: dict[str, int] = {}
    usernames: dict[str, int] = {}
    for row in rows:
        earlier = usernames.setdefault(row.username.lower(), row.line) if row.username else row.line
        if earlier != row.line:
            advice = "choose another one" if row.email else "list a person once"
            yield Problem(row.line, "user name", f"{row.username} is in line {earlier} too; {advice}.")
        earlier = addresses.setdefault(row.email.lower(), row.line) if row.email else row.line
        if earlier != row.line:
            yield Problem(row.line, "e-mail", f"{row.email} is in line {earlier} too; list a person once.")
        if row.role == "contact":
            earlier = contacts.setdefault(row.team.lower(), row.line)
            if earlier != row.line:
                yield Problem(
                    row.line, "role", f"{row.team} has a contact person in line {earlier}; use member."
                )
