"""Statistics of a pool: size by topic, overlap of runs, and what runs and teams contributed.

The pool without a team is the pool without the units that only this team contributed, because the depths of the other
runs do not change. (An exception is `round-robin-until`, which would then take the other runs to deeper ranks.)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.pools.depth import PooledUnits
from assay.pools.strategies import BuiltPool, PoolInput


@dataclass(frozen=True, slots=True)
class GroupContributions:
    """The contributions of groups of runs, by topic.

    Args:
        contributed: (groups, topics) entries that any run of the group contributed.
        exclusive: (groups, topics) entries that only runs of the group contributed.
        sizes: (topics,) entries of each topic.
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

    Args:
        group: (runs,) group of each run, from 0.

    Returns:
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
    """Return what each group of runs contributed.

    Args:
        group: (runs,) group of each run, from 0 to `n_groups` - 1.
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


def overlap(units: PooledUnits) -> NDArray[np.int64]:
    """(runs, runs) number of entries that both runs contributed; on the diagonal, those of each run."""
    shared = np.zeros((units.n_runs, units.n_runs), dtype=np.int64)
    for entries in np.array_split(np.arange(len(units.entry)), max(1, len(units.entry) // 1_000_000)):
        if not len(entries):
            continue
        # Contributions are sorted by entry. A part may end within an entry, so its borders are moved.
        first, last = units.entry[entries[0]], units.entry[entries[-1]]
        low = np.searchsorted(units.entry, first + (entries[0] > 0 and units.entry[entries[0] - 1] == first))
        high = np.searchsorted(units.entry, last, side="right")
        entry, run = units.entry[low:high], units.run[low:high]
        if len(entry):
            is_in_run = np.zeros((units.n_runs, int(entry[-1] - entry[0]) + 1), dtype=np.float32)
            is_in_run[run, entry - entry[0]] = 1
            shared += np.rint(is_in_run @ is_in_run.T).astype(np.int64)
    return shared


def statistics(pool: BuiltPool, inputs: Sequence[PoolInput]) -> dict[str, Any]:
    """Everything that the page and the record of a pool show, as plain values for JSON.

    The lists `reach`, `brought_by_topic` and `alone_by_topic` have one number for each of `topics`.
    """
    units = pool.units
    shared = overlap(units)
    n, alone = shared.diagonal().tolist(), _exclusive(units, len(inputs))
    skipped = pool.skipped or (0,) * len(inputs)
    runs = [
        {
            "team": run.team,
            "tag": run.tag,
            "kind": run.kind,
            "depth": pool.depths[i],
            "n": n[i],
            "alone": alone[i],
            "reach": pool.reach[i].tolist(),
            "skipped": skipped[i],
        }
        for i, run in enumerate(inputs)
    ]
    values: dict[str, Any] = {
        "n": len(units),
        "n_topics": len(units.topics),
        "topics": [
            {"topic": code, "n": n}
            for code, n in zip(units.topics.tolist(), units.sizes.tolist(), strict=True)
        ],
        "runs": runs,
        "teams": _teams(units, [run.team for run in inputs]),
        "overlap": shared.tolist(),
    }
    if pool.members is not None:
        is_shown = pool.members.position > 0
        values["members"] = {
            "n": len(pool.members),
            "shown": int(is_shown.sum()),
            "partly": len(np.unique(pool.members.entry[~is_shown])),  # units with more members than are shown
        }
    if pool.n_already:
        values["n_already"] = pool.n_already
    return values


def partly_shown(stored: Mapping[str, Any]) -> str:
    """The units of which assessors see some members only, with their share; empty if the statistics do not have it.

    >>> partly_shown({"n": 5843, "members": {"partly": 93}})
    '93 of 5,843 units (1.6 %)'
    """
    partly = stored.get("members", {}).get("partly")
    return (
        ""
        if partly is None
        else f"{partly:,} of {stored['n']:,} units ({100 * partly / (stored['n'] or 1):.1f} %)"
    )


def recounted(
    stored: Mapping[str, Any], units: PooledUnits, runs: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The statistics of a pool for some of its runs. Its size stays: units that only the others contributed count.

    Args:
        stored: the statistics of the pool with all of its runs.
        units: all entries of the pool, but only the contributions of `runs`.
        runs: the statistics of the remaining runs, as stored.
    """
    shared = overlap(units)
    n, alone = shared.diagonal().tolist(), _exclusive(units, len(runs))
    return {
        **stored,
        "runs": [{**run, "n": n[i], "alone": alone[i]} for i, run in enumerate(runs)],
        "teams": _teams(units, [run["team"] for run in runs]),
        "overlap": shared.tolist(),
    }


def _exclusive(units: PooledUnits, n_runs: int) -> list[int]:
    n: list[int] = contributions_of(units, range(n_runs), n_runs).exclusive.sum(axis=1).tolist()
    return n


def _teams(units: PooledUnits, team_of: Sequence[str]) -> list[dict[str, Any]]:
    teams = sorted(set(team_of))
    of_teams = contributions_of(units, [teams.index(team) for team in team_of], len(teams))
    return [
        {
            "team": team,
            "n": int(of_teams.contributed[i].sum()),
            "alone": int(of_teams.exclusive[i].sum()),
            "without": int(of_teams.without[i]),
            "brought_by_topic": of_teams.contributed[i].tolist(),
            "alone_by_topic": of_teams.exclusive[i].tolist(),
        }
        for i, team in enumerate(teams)
    ]
