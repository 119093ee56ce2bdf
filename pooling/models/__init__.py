from pooling.models.interaction import Interaction, Nomination
from pooling.models.invitations import Invitation, InvitationUse, JoinRequest
from pooling.models.pools import Contribution, MemberContribution, Pool, PoolEntry, PoolMember, PoolRun
from pooling.models.publications import Consent, Publication
from pooling.models.runs import Run, RunChange
from pooling.models.teams import EndedMembership, Membership, Team

__all__ = [
    "Consent",
    "Contribution",
    "EndedMembership",
    "Interaction",
    "Invitation",
    "InvitationUse",
    "JoinRequest",
    "MemberContribution",
    "Membership",
    "Nomination",
    "Pool",
    "PoolEntry",
    "PoolMember",
    "PoolRun",
    "Publication",
    "Run",
    "RunChange",
    "Team",
]
