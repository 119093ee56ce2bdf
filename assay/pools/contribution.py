"""What each run or team contributed to a pool, and what would be missing without it.

The pool without a team is the pool without the units that only this team contributed, because the depths of the other
runs do not change. (An exception is `round-robin-until`, which would then take the other runs to deeper ranks.)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.pools.depth import PooledUnits


@dataclass(frozen=True, slots=True)
class GroupContributions:
    """What groups of runs contributed, by topic.

    Attributes
    ----------
    contributed : (groups, topics) entries that any run of the group contributed.
    exclusive : (groups, topics) entries that only runs of the group contributed.
    sizes : (topics,) entries of each topic.
    """

    contributed: NDArray[np.int64]
    exclusive: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @property
    def without(self) -> NDArray[np.int64]:
        """(groups,) size of the pool without each group."""
        n_left: NDArray[np.int64] = self.sizes.sum() - self.exclusive.sum(axis=1)
        return n_left


def sole_group(units: PooledUnits, group: NDArray[np.integer]) -> NDArray[np.int64]:
    """The only group that contributed each entry.

    Parameters
    ----------
    group : (runs,) group of each run, from 0.

    Returns
    -------
    (entries,) the group; -1 if several groups contributed the entry, or none.
    """
    group_of = group[units.run].astype(np.int64)
    lowest = np.full(len(units), np.iinfo(np.int64).max)
    highest = np.full(len(units), -1, dtype=np.int64)
    np.minimum.at(lowest, units.entry, group_of)
    np.maximum.at(highest, units.entry, group_of)
    return np.where(lowest == highest, highest, -1)


def contributions_of(
    units: PooledUnits, group: Sequence[int] | NDArray[np.integer], n_groups: int
) -> GroupContributions:
    """What each group of runs contributed.

    Parameters
    ----------
    group : (runs,) group of each run, from 0 to `n_groups` - 1.
    """
    group_of = np.asarray(group, dtype=np.int64)
    sole = sole_group(units, group_of)
    pairs = np.sort(units.entry.astype(np.int64) * n_groups + group_of[units.run])
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    kept = np.flatnonzero(sole >= 0)
    return GroupContributions(
        contributed=_by_topic(units, pairs // n_groups, pairs % n_groups, n_groups),
        exclusive=_by_topic(units, kept, sole[kept], n_groups),
        sizes=units.sizes,
    )


def _by_topic(
    units: PooledUnits, entry: NDArray[np.integer], group: NDArray[np.int64], n_groups: int
) -> NDArray[np.int64]:
    n_topics = len(units.topics)
    cell = group * n_topics + units.topic_index[entry]
    return np.bincount(cell, minlength=n_groups * n_topics).reshape(n_groups, n_topics)
