"""The statistics of a pool without its runs that were disqualified after it was built.

Entries and contributions stay as they were built, so that judged units stay judged and the pool can be rebuilt. The
statistics of runs and teams are counted again, from the stored contributions of the other runs.
"""

from typing import Any

import numpy as np

from assay.pools.depth import PooledUnits
from assay.pools.statistics import recounted
from pooling.models import Contribution, Pool, PoolEntry, Run

CHUNK = 20_000


def runs_with(status: str, pool: Pool) -> list[dict[str, Any]]:
    runs = Run.objects.filter(pool_runs__pool=pool, status=status)
    return [
        {"id": run.pk, "team": run.team.name, "tag": run.tag, "sha256": run.sha256}
        for run in runs.select_related("team").defer("report").order_by("pk")
    ]


def disqualified_ids(pool_id: int) -> frozenset[int]:
    runs = Run.objects.filter(pool_runs__pool=pool_id, status=Run.Status.DISQUALIFIED)
    return frozenset(runs.values_list("pk", flat=True))


def recount_of(pool: Pool) -> dict[str, Any]:
    """The value of `Pool.recount` now: the disqualified runs and the statistics without them; empty without any."""
    without = [run["id"] for run in runs_with(Run.Status.DISQUALIFIED, pool)]
    if not without or not pool.statistics:
        return {}
    runs = [run for run in pool.statistics["runs"] if run["run"] not in without]
    # All entries of a pool, with the contributions of some of its runs
    run_ids = [run["run"] for run in runs]
    codes = [topic["topic"] for topic in pool.statistics["topics"]]
    place = {code: n for n, code in enumerate(codes)}
    entries = PoolEntry.objects.filter(pool=pool).values_list("pk", "topic__code")
    rows = sorted((place[code], pk) for pk, code in entries.iterator(chunk_size=CHUNK))
    number = {pk: n for n, (_, pk) in enumerate(rows)}
    position = {pk: n for n, pk in enumerate(run_ids)}
    contributions = Contribution.objects.filter(entry__pool=pool, run__in=run_ids)
    triples = sorted(
        (number[entry], position[run], rank)
        for entry, run, rank in contributions.values_list("entry_id", "run_id", "rank").iterator(
            chunk_size=CHUNK
        )
    )
    entry, run, rank = np.array(triples, dtype=np.int32).reshape(-1, 3).T
    units = PooledUnits(
        topics=np.array(codes, dtype=np.str_),
        topic_index=np.array([n for n, _ in rows], dtype=np.int32),
        docno=np.full(len(rows), b"", dtype="S1"),  # not counted
        entry=entry,
        run=run,
        rank=rank,
        n_runs=len(run_ids),
    )
    return {"without": without, "statistics": recounted(pool.statistics, units, runs)}
