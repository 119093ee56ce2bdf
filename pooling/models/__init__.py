from pooling.models.nuggets import Nugget, NuggetSources, NuggetVersion
from pooling.models.pools import (
    Contribution,
    MemberContribution,
    Pool,
    PooledAnswer,
    PoolEntry,
    PoolMember,
    PoolRun,
)
from pooling.models.runs import Run, RunChange

__all__ = [
    "Contribution",
    "MemberContribution",
    "Nugget",
    "NuggetSources",
    "NuggetVersion",
    "Pool",
    "PoolEntry",
    "PoolMember",
    "PoolRun",
    "PooledAnswer",
    "Run",
    "RunChange",
]
