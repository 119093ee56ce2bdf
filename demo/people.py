"""The demo's logins: one organizer, three assessors, two participants, with one password."""

import secrets
from collections.abc import Mapping
from typing import NamedTuple

from django.contrib.auth.hashers import make_password
from django.db import transaction

from accounts.models import User
from assay.errors import Refused
from demo.content import HOST
from server import environment

PASSWORD = "assay-demo"  # noqa: S105  known to everybody, and so only for a database that nobody else reaches
ORGANIZER = "organizer"
ASSESSORS = ("ada", "emmy", "sofia")
MEMBERS: Mapping[str, str] = {"pat": "Abacus", "lee": "Lemma"}  # participant -> team
USERNAMES = (ORGANIZER, *ASSESSORS, *MEMBERS)


class NameTaken(Refused):
    """A demo login's name belongs to somebody else."""

    title = "The demo cannot be made here"


class People(NamedTuple):
    organizer: User
    assessors: list[User]
    members: list[User]


def password_for_new() -> str:
    """The well-known password with the embedded database; anywhere else a random one, because others may log in."""
    return secrets.token_urlsafe(12) if environment.text("DATABASE_URL") else PASSWORD


def lines() -> list[str]:
    """What a person who wants to log in has to know."""
    members = ", ".join(f"{username} (team {team})" for username, team in MEMBERS.items())
    password = "as said when the logins were made" if environment.text("DATABASE_URL") else PASSWORD
    return [
        f"  organizer     {ORGANIZER}",
        f"  assessors     {', '.join(ASSESSORS)}",
        f"  participants  {members}",
        f"  password      {password} (unless somebody has changed it)",
    ]


@transaction.atomic
def make_people(password: str) -> tuple[People, bool]:
    """All of the logins, and whether they were made now. None is changed that is there.

    Raises
    ------
    NameTaken
        Somebody who is not of the demo has one of the names.
    """
    hashed = make_password(password)  # once: it is slow on purpose
    made = [_make(username, hashed) for username in USERNAMES]
    users = [user for user, _ in made]
    n = len(ASSESSORS)
    return People(users[0], users[1 : n + 1], users[n + 1 :]), all(is_new for _, is_new in made)


def _make(username: str, hashed: str) -> tuple[User, bool]:
    user, is_new = User.objects.get_or_create(
        username=username,
        defaults={"email": _email(username), "password": hashed, "is_staff": username == ORGANIZER},
    )
    if not is_new and user.email != _email(username):
        raise NameTaken(
            f"There is a user {username} who is not of the demo. Make the demo in a database of its own."
        )
    return user, is_new


def _email(username: str) -> str:
    return f"{username}@{HOST}"
