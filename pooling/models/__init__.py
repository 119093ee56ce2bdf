from pooling.models.pools import Contribution, MemberContribution, Pool, PoolEntry, PoolMember, PoolRun
from pooling.models.publications import Consent, Publication
from pooling.models.runs import Run, RunChange
from pooling.models.teams import Team

__all__ = [
    "Consent",
    "Contribution",
    "MemberContribution",
    "Pool",
    "PoolEntry",
    "PoolMember",
    "PoolRun",
    "Publication",
    "Run",
    "RunChange",
    "Team",
]
