from pooling.models.pools import Contribution, MemberContribution, Pool, PoolEntry, PoolMember, PoolRun
from pooling.models.runs import Run, RunChange

__all__ = [
    "Contribution",
    "MemberContribution",
    "Pool",
    "PoolEntry",
    "PoolMember",
    "PoolRun",
    "Run",
    "RunChange",
]
