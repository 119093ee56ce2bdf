"""What a pool is made of: its size by topic, how runs overlap, and what each run or team alone brought to it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pooling.depth import PooledUnits
from pooling.strategies import BuiltPool, PoolInput


def overlap(units: PooledUnits) -> NDArray[np.int64]:
    """(runs, runs) number of entries that both runs brought; on the diagonal, what each brought."""
    shared = np.zeros((units.n_runs, units.n_runs), dtype=np.int64)
    for entries in np.array_split(np.arange(len(units.entry)), max(1, len(units.entry) // 1_000_000)):
        if not len(entries):
            continue
        # Contributions are sorted by entry: a part may cut an entry in two, so its borders are widened.
        first, last = units.entry[entries[0]], units.entry[entries[-1]]
        low = np.searchsorted(units.entry, first + (entries[0] > 0 and units.entry[entries[0] - 1] == first))
        high = np.searchsorted(units.entry, last, side="right")
        entry, run = units.entry[low:high], units.run[low:high]
        if len(entry):
            brought = np.zeros((units.n_runs, int(entry[-1] - entry[0]) + 1), dtype=np.float32)
            brought[run, entry - entry[0]] = 1
            shared += np.rint(brought @ brought.T).astype(np.int64)
    return shared


def sole_group(units: PooledUnits, group: NDArray[np.integer]) -> NDArray[np.int64]:
    """(entries,) the one group whose runs brought the entry, or -1 where several did; `group` is (runs,)."""
    brought_by = group[units.run].astype(np.int64)
    lowest = np.full(len(units), np.iinfo(np.int64).max)
    highest = np.full(len(units), -1, dtype=np.int64)
    np.minimum.at(lowest, units.entry, brought_by)
    np.maximum.at(highest, units.entry, brought_by)
    return np.where(lowest == highest, highest, -1)


def alone(units: PooledUnits, group: NDArray[np.int32], n_groups: int) -> NDArray[np.int64]:
    """(groups,) entries that only runs of one group brought; `group` (runs,) gives the group of each run."""
    sole = sole_group(units, group)
    return np.bincount(sole[sole >= 0], minlength=n_groups)


def brought(units: PooledUnits, group: NDArray[np.int32], n_groups: int) -> NDArray[np.int64]:
    """(groups,) entries that any run of the group brought."""
    pairs = np.unique(units.entry.astype(np.int64) * n_groups + group[units.run])
    return np.bincount(pairs % n_groups, minlength=n_groups)


def statistics(pool: BuiltPool, inputs: Sequence[PoolInput]) -> dict[str, Any]:
    """Everything that the page and the record of a pool show, as plain values for JSON."""
    units = pool.units
    teams = sorted({one.team for one in inputs})
    team_of = np.array([teams.index(one.team) for one in inputs], dtype=np.int32)
    by_itself = np.arange(len(inputs), dtype=np.int32)
    shared = overlap(units)
    run_alone = alone(units, by_itself, len(inputs)).tolist()
    team_alone = alone(units, team_of, len(teams)).tolist()
    team_brought = brought(units, team_of, len(teams)).tolist()
    runs = [
        {
            "team": one.team,
            "tag": one.tag,
            "kind": one.kind,
            "depth": depth,
            "n": int(shared[i, i]),
            "alone": run_alone[i],
        }
        for i, (one, depth) in enumerate(zip(inputs, pool.depths, strict=True))
    ]
    return {
        "n": len(units),
        "n_topics": len(units.topics),
        "topics": [
            {"topic": code, "n": n}
            for code, n in zip(units.topics.tolist(), units.sizes.tolist(), strict=True)
        ],
        "runs": runs,
        "teams": [
            {"team": team, "n": team_brought[i], "alone": team_alone[i]} for i, team in enumerate(teams)
        ],
        "overlap": shared.tolist(),
    }
