"""Statistics of a pool: size by topic, overlap of runs, contributions of runs and teams."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.pools.contribution import contributions_of
from assay.pools.depth import PooledUnits
from assay.pools.strategies import BuiltPool, PoolInput


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
    values: dict[str, Any] = {
        "n": len(units),
        "n_topics": len(units.topics),
        "topics": [
            {"topic": code, "n": n}
            for code, n in zip(units.topics.tolist(), units.sizes.tolist(), strict=True)
        ],
        "runs": _runs(pool, inputs, shared.diagonal().tolist()),
        "teams": _teams(units, [run.team for run in inputs]),
        "overlap": shared.tolist(),
    }
    if pool.members is not None:
        values["members"] = {"n": len(pool.members), "shown": int((pool.members.position > 0).sum())}
    if pool.n_already:
        values["n_already"] = pool.n_already
    return values


def _runs(pool: BuiltPool, inputs: Sequence[PoolInput], n: list[int]) -> list[dict[str, Any]]:
    exclusive = _exclusive(pool.units, len(inputs))
    skipped = pool.skipped or (0,) * len(inputs)
    return [
        {
            "team": run.team,
            "tag": run.tag,
            "kind": run.kind,
            "depth": pool.depths[i],
            "n": n[i],
            "alone": exclusive[i],
            "reach": pool.reach[i].tolist(),
            "skipped": skipped[i],
        }
        for i, run in enumerate(inputs)
    ]


def recounted(
    stored: Mapping[str, Any], units: PooledUnits, runs: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The statistics of a pool for some of its runs. Its size stays: units that only the others contributed count.

    Parameters
    ----------
    stored : the statistics of the pool with all of its runs.
    units : all entries of the pool, but only the contributions of `runs`.
    runs : the statistics of the remaining runs, as stored.
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
