"""What each run or team alone brought to a pool: what would be missing if it had not taken part.

Leaving a team out leaves the others' depths as they are, so the pool without it is the pool less what it alone
brought. (Only in `round-robin-until` would the others then be taken further down.)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.pools.depth import PooledUnits


@dataclass(frozen=True, slots=True)
class Shares:
    """What groups of runs brought, by topic.

    Attributes
    ----------
    brought : (groups, topics) entries that any run of the group brought.
    alone : (groups, topics) entries that only runs of the group brought.
    sizes : (topics,) entries of each topic.
    """

    brought: NDArray[np.int64]
    alone: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @property
    def without(self) -> NDArray[np.int64]:
        """(groups,) the size of the pool if a group had not taken part."""
        left: NDArray[np.int64] = self.sizes.sum() - self.alone.sum(axis=1)
        return left


def sole_group(units: PooledUnits, group: NDArray[np.integer]) -> NDArray[np.int64]:
    """(entries,) the one group whose runs brought the entry, or -1 where several did or none; `group` is (runs,)."""
    brought_by = group[units.run].astype(np.int64)
    lowest = np.full(len(units), np.iinfo(np.int64).max)
    highest = np.full(len(units), -1, dtype=np.int64)
    np.minimum.at(lowest, units.entry, brought_by)
    np.maximum.at(highest, units.entry, brought_by)
    return np.where(lowest == highest, highest, -1)


def shares(units: PooledUnits, group: Sequence[int] | NDArray[np.integer], n_groups: int) -> Shares:
    """What each group of runs brought; `group` (runs,) gives the group of each run."""
    of = np.asarray(group, dtype=np.int64)
    sole = sole_group(units, of)
    pairs = np.sort(units.entry.astype(np.int64) * n_groups + of[units.run])
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    kept = np.flatnonzero(sole >= 0)
    return Shares(
        brought=_by_topic(units, pairs // n_groups, pairs % n_groups, n_groups),
        alone=_by_topic(units, kept, sole[kept], n_groups),
        sizes=units.sizes,
    )


def _by_topic(
    units: PooledUnits, entry: NDArray[np.integer], group: NDArray[np.int64], n_groups: int
) -> NDArray[np.int64]:
    n_topics = len(units.topics)
    cell = group * n_topics + units.topic_index[entry]
    return np.bincount(cell, minlength=n_groups * n_topics).reshape(n_groups, n_topics)
