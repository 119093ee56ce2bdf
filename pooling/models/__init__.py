from pooling.models.pools import Contribution, MemberContribution, Pool, PoolEntry, PoolMember, PoolRun
from pooling.models.runs import Run, RunChange
from pooling.models.teams import Team

__all__ = [
    "Contribution",
    "MemberContribution",
    "Pool",
    "PoolEntry",
    "PoolMember",
    "PoolRun",
    "Run",
    "RunChange",
    "Team",
]
