"""Refusals about teams, invitations, requests, lists of people and the interaction."""

from functools import partial

from django.utils.translation import gettext, gettext_noop

from assay.errors import Refused

team_refused = partial(Refused, code="team-refused", title="The team was not changed")


class InvitationRefused(Refused):
    title = gettext_noop("The invitation was refused")


class InvitationGone(Refused):
    """Unknown, used up, expired or revoked: the page does not say which."""

    title = gettext_noop("This invitation is no longer valid")

    def __init__(self) -> None:
        super().__init__(
            gettext("It was used, it expired, or it was revoked. Ask who invited you for a new link.")
        )


request_refused = partial(Refused, code="request-refused", title="The request was not changed")
people_refused = partial(Refused, code="people-refused", title="Nobody was added")
interaction_refused = partial(
    Refused, code="interaction-refused", title=gettext_noop("The interaction was not changed")
)
