"""What a pool is made of: its size by topic, how runs overlap, and what each run or team alone brought to it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.pools.contribution import shares
from assay.pools.depth import PooledUnits
from assay.pools.strategies import BuiltPool, PoolInput


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


def statistics(pool: BuiltPool, inputs: Sequence[PoolInput]) -> dict[str, Any]:
    """Everything that the page and the record of a pool show, as plain values for JSON.

    Lists `reach`, `brought_by_topic` and `alone_by_topic` have one number for each of `topics`.
    """
    units = pool.units
    shared = overlap(units)
    found: dict[str, Any] = {
        "n": len(units),
        "n_topics": len(units.topics),
        "topics": [
            {"topic": code, "n": n}
            for code, n in zip(units.topics.tolist(), units.sizes.tolist(), strict=True)
        ],
        "runs": _runs(pool, inputs, shared.diagonal().tolist()),
        "teams": _teams(units, inputs),
        "overlap": shared.tolist(),
    }
    if pool.members is not None:
        found["members"] = {"n": len(pool.members), "shown": int((pool.members.position > 0).sum())}
    if pool.n_already:
        found["n_already"] = pool.n_already
    return found


def _runs(pool: BuiltPool, inputs: Sequence[PoolInput], n: list[int]) -> list[dict[str, Any]]:
    by_itself = shares(pool.units, range(len(inputs)), len(inputs)).alone.sum(axis=1).tolist()
    passed_over = pool.passed_over or (0,) * len(inputs)
    return [
        {
            "team": one.team,
            "tag": one.tag,
            "kind": one.kind,
            "depth": pool.depths[i],
            "n": n[i],
            "alone": by_itself[i],
            "reach": pool.reach[i].tolist(),
            "passed_over": passed_over[i],
        }
        for i, one in enumerate(inputs)
    ]


def _teams(units: PooledUnits, inputs: Sequence[PoolInput]) -> list[dict[str, Any]]:
    teams = sorted({one.team for one in inputs})
    found = shares(units, [teams.index(one.team) for one in inputs], len(teams))
    return [
        {
            "team": team,
            "n": int(found.brought[i].sum()),
            "alone": int(found.alone[i].sum()),
            "without": int(found.without[i]),
            "brought_by_topic": found.brought[i].tolist(),
            "alone_by_topic": found.alone[i].tolist(),
        }
        for i, team in enumerate(teams)
    ]
