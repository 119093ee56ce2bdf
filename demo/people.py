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

PASSWORD = "assay-demo"  # noqa: S105  public, so only for a database that nobody else can reach
ORGANIZER = "organizer"
ORGANIZER_NAME = {"first_name": "Robin", "last_name": "Hale"}
ASSESSORS = ("ada", "emmy", "sofia")
MEMBERS: Mapping[str, str] = {"pat": "Abacus", "lee": "Lemma"}  # participant -> team
USERNAMES = (ORGANIZER, *ASSESSORS, *MEMBERS)


class People(NamedTuple):
    organizer: User
    assessors: list[User]
    members: list[User]


def password_for_new() -> str:
    """The public password for the embedded database; a random one for any other database, where others may log in."""
    return secrets.token_urlsafe(12) if environment.text("DATABASE_URL") else PASSWORD


def lines() -> list[str]:
    """The logins, for a person who wants to log in."""
    members = ", ".join(f"{username} (team {team})" for username, team in MEMBERS.items())
    password = "printed when the logins were created" if environment.text("DATABASE_URL") else PASSWORD
    return [
        f"  organizer     {ORGANIZER}",
        f"  assessors     {', '.join(ASSESSORS)}",
        f"  participants  {members}",
        f"  password      {password} (unless it was changed)",
    ]


@transaction.atomic
def make_people(password: str) -> tuple[People, bool]:
    """All logins, and whether they were created now. Existing logins stay unchanged.

    Raises:
        Refused: A user who does not belong to the demo has one of the names.
    """
    hashed = make_password(password)  # once, because hashing is slow on purpose
    users, are_new, n = [], [], len(ASSESSORS)
    for username in USERNAMES:
        email = f"{username}@{HOST}"
        defaults = {"email": email, "password": hashed, "is_staff": username == ORGANIZER}
        defaults |= ORGANIZER_NAME if username == ORGANIZER else {}
        user, is_new = User.objects.get_or_create(username=username, defaults=defaults)
        if not is_new and user.email != email:
            raise Refused(
                f"The user {username} does not belong to the demo. Create the demo in a separate database."
            )
        users.append(user)
        are_new.append(is_new)
    return People(users[0], users[1 : n + 1], users[n + 1 :]), all(are_new)
