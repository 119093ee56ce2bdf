"""What a list of people would change in a track, line by line."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from django.db.models.functions import Lower

from accounts.models import User
from assay.errors import Refused
from pooling.models import Team
from pooling.people.errors import PeopleRefused
from pooling.people.pasted import IN_TEAMS, People, Problem, Row
from pooling.teams import services as team_services
from tracks.assessors import services as assessor_services
from tracks.assessors.selectors import is_assessor
from tracks.models import Track

MAX_USERNAME = 140  # characters, before a number


@dataclass(frozen=True, slots=True)
class Step:
    """A person of the list. `user` is the account that exists, `username` that of the new one.

    `is_done` means that the person has this place already.
    """

    row: Row
    user: User | None
    username: str
    team: Team | None
    is_new_team: bool
    is_done: bool


@dataclass(frozen=True)
class Plan:
    """All steps, or the problems for which nothing is done."""

    steps: list[Step]
    problems: list[Problem]

    @property
    def n_new_accounts(self) -> int:
        return sum(step.user is None for step in self.steps)

    @property
    def new_teams(self) -> list[str]:
        return [step.row.team for step in self.steps if step.is_new_team]


def plan(track: Track, people: People) -> Plan:
    """What a list would do. In six queries, whatever its length, and two for each person who has an account."""
    if not people.rows and not people.problems:
        return Plan([], [Problem(0, "", "The list is empty. Paste one line for each person.")])
    accounts = _accounts(people.rows)
    teams = {team.name.lower(): team for team in track.teams.all()}
    names = _free_names(people.rows, accounts)
    steps: list[Step] = []
    problems = list(people.problems)
    new_teams: set[str] = set()
    for row in people.rows:
        users = accounts.get(row.email.lower(), [])
        complaints = list(_complaints(track, row, users, teams.get(row.team.lower())))
        problems += complaints
        if complaints:
            continue
        is_new_team = row.role in IN_TEAMS and row.team.lower() not in teams.keys() | new_teams
        new_teams |= {row.team.lower()} if is_new_team else set()
        user, team = (users[0] if users else None), teams.get(row.team.lower())
        steps.append(
            Step(row, user, names.get(row.line, ""), team, is_new_team, _is_done(track, row, user, team))
        )
    return Plan(steps, sorted(problems))


def _accounts(rows: Sequence[Row]) -> dict[str, list[User]]:
    """The accounts with the addresses of the list, by address in small letters. One query."""
    wanted = {row.email.lower() for row in rows}
    users: dict[str, list[User]] = {}
    for user in User.objects.exclude(email="").annotate(address=Lower("email")).filter(address__in=wanted):
        users.setdefault(user.email.lower(), []).append(user)
    return users


def _free_names(rows: Sequence[Row], accounts: dict[str, list[User]]) -> dict[int, str]:
    """A user name for each person without an account, by line: the start of the address, perhaps with a number."""
    wanted = {row.line: _name_from(row.email) for row in rows if row.email.lower() not in accounts}
    if not wanted:
        return {}
    pattern = rf"^({'|'.join(sorted({re.escape(name) for name in wanted.values()}))})\d*$"
    taken = {
        name.lower()
        for name in User.objects.filter(username__iregex=pattern).values_list("username", flat=True)
    }
    names: dict[int, str] = {}
    for line, name in wanted.items():
        numbered = (name if n == 1 else f"{name}{n}" for n in count(1))
        names[line] = next(each for each in numbered if each not in taken)
        taken.add(names[line])
    return names


def _name_from(email: str) -> str:
    local = email.partition("@")[0].lower()
    return re.sub(r"[^a-z0-9._-]", "", local)[:MAX_USERNAME] or "person"


def _complaints(track: Track, row: Row, users: Sequence[User], team: Team | None) -> Iterator[Problem]:
    """Why a person cannot have the place."""
    if len(users) > 1:
        names = ", ".join(user.username for user in users)
        message = f"{len(users)} accounts have this address: {names}. Give one another address."
        yield Problem(row.line, "e-mail", message)
        return
    user = users[0] if users else None
    if user is not None and not user.is_active:
        yield Problem(row.line, "e-mail", f"the account {user} is deactivated; activate it in the admin.")
        return
    try:
        _check(track, row, user, team)
    except Refused as refusal:
        yield Problem(row.line, "group" if row.group else "role", refusal.message)


def _check(track: Track, row: Row, user: User | None, team: Team | None) -> None:
    """Ask the services whether they would refuse."""
    if row.role == "assessor":
        assessor_services.check_group(track=track, group=row.group)
        if user is not None:
            assessor_services.check(track=track, user=user)
            _check_group(track, row, user)
    elif row.role in IN_TEAMS:
        if user is not None:
            team_services.check_members(track=track, members=[user])
        if team is None:
            team_services.check_name(track=track, name=row.team)


def _check_group(track: Track, row: Row, user: User) -> None:
    """Refuse another group than an assessor has: topics were given out by groups."""
    assessor = track.assessors.filter(user=user, ended_at=None).first()
    if assessor is not None and row.group and assessor.group != row.group:
        raise PeopleRefused(
            f"{user} is in the group {assessor.group or 'without a name'}; change it among the people of the track."
        )


def _is_done(track: Track, row: Row, user: User | None, team: Team | None) -> bool:
    if user is None:
        return False
    if row.role == "assessor":
        return is_assessor(user, track)
    if row.role == "organizer":
        return user.is_staff
    has_right = {"may_submit": row.role != "observer"} | (
        {"is_contact": True} if row.role == "contact" else {}
    )
    return team is not None and team.memberships.filter(user=user, **has_right).exists()
