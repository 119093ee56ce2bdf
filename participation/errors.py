"""Refusals about teams, invitations, requests, lists of people and the interaction."""

from collections.abc import Sequence

from django.utils.translation import gettext, gettext_noop

from assay.errors import Refused


class TeamRefused(Refused):
    title = "The team was not changed"


class InvitationRefused(Refused):
    title = gettext_noop("The invitation was refused")


class InvitationGone(Refused):
    """Unknown, used up, expired or revoked: the page does not say which."""

    title = gettext_noop("This invitation is no longer valid")

    def __init__(self) -> None:
        super().__init__(
            gettext("It was used, it expired, or it was revoked. Ask who invited you for a new link.")
        )


class RequestRefused(Refused):
    title = "The request was not changed"


class PeopleRefused(Refused):
    title = "Nobody was added"


class BadPeople(PeopleRefused):
    """Lines of a list are wrong, so that nothing of it is done: lines, columns and messages."""

    def __init__(self, problems: Sequence[tuple[int, str, str]]) -> None:
        line, column, message = problems[0]
        super().__init__(f"Line {line}, {column}: {message}" if line else message)
        self.errors = [
            {"line": line or None, "field": column, "code": "invalid", "message": text}
            for line, column, text in problems
        ]


class InteractionRefused(Refused):
    title = gettext_noop("The interaction was not changed")
