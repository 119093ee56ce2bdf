from participation.models.interaction import Interaction, Nomination
from participation.models.invitations import Invitation, InvitationUse, JoinRequest
from participation.models.teams import EndedMembership, Membership, Team

__all__ = [
    "EndedMembership",
    "Interaction",
    "Invitation",
    "InvitationUse",
    "JoinRequest",
    "Membership",
    "Nomination",
    "Team",
]
