"""Refusals about invitations."""

from assay.errors import Refused


class InvitationRefused(Refused):
    """An invitation that cannot be made, or that this user cannot accept."""

    title = "The invitation was refused"


class InvitationGone(Refused):
    """Unknown, used up, expired or revoked: the page does not say which."""

    title = "This invitation is no longer valid"

    def __init__(self) -> None:
        super().__init__("It was used, it expired, or it was revoked. Ask who invited you for a new link.")
