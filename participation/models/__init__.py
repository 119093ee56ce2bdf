from participation.models.announcements import Announcement, AnnouncementMail
from participation.models.interaction import Interaction, Nomination
from participation.models.invitations import Invitation, InvitationUse, JoinRequest
from participation.models.teams import EndedMembership, Membership, Team, TeamDocument

__all__ = [
    "Announcement",
    "AnnouncementMail",
    "EndedMembership",
    "Interaction",
    "Invitation",
    "InvitationUse",
    "JoinRequest",
    "Membership",
    "Nomination",
    "Team",
    "TeamDocument",
]
