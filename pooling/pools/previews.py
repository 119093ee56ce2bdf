"""What a pool of the runs that stand would hold and cost, before it is built: from stored columns, kept for a while."""

import json
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.core.cache import cache
from django.db.models import Max, Q
from django.urls import reverse

from assay.charts import depth_chart
from assay.digests import sha256_of
from assay.pools.preview import Preview, preview_pool, usual_seconds
from assay.pools.strategies import PoolError, check_strategies
from assay.protocols.schema import Protocol
from jobs.models import Job
from pooling.models import Pool, Run
from pooling.pools import inputs
from pooling.pools.errors import PoolRefused
from pooling.pools.selectors import runs_to_pool
from tracks.models import Track

KEPT_SECONDS = 600
ROWS = (1, 2, 3, 5, 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000)


class Row(NamedTuple):
    """A depth: what it is for each kind of run, the pool's size in all and by topic, and the hours of judging."""

    depth: int
    kinds: dict[str, int]
    n: int
    least: int
    most: int
    mean: float
    hours: float
    address: str
    note: str


def preview(track: Track, *, tops_up: Pool | None = None) -> Preview:
    """The sizes of a pool at every depth; read anew where runs, formulas or protocol have changed.

    Raises
    ------
    PoolRefused
        There is no run to pool, the pool could not be built, or (`IdsMissing`) visual ids are to be made first.
    """
    protocol = track.protocol.parsed
    runs = sorted(runs_to_pool(track), key=lambda run: (run.team.name, run.tag, run.pk))
    key = _key(track, protocol, runs, tops_up)
    kept: Preview | None = cache.get(key)
    if kept is not None:
        return kept
    try:
        check_strategies(protocol)
        read = inputs.read(track, protocol, runs, tops_up=tops_up, makes_ids=False)
        found = preview_pool(read.inputs, protocol=protocol, formulas=read.formulas, already=read.already)
    except PoolError as error:
        raise PoolRefused(f"{error}.") from error
    cache.set(key, found, KEPT_SECONDS)
    return found


def _key(track: Track, protocol: Protocol, runs: list[Run], tops_up: Pool | None) -> str:
    collection = track.collection_id
    jobs = Job.objects.filter(Q(imports__collection=collection) | Q(clustering__collection=collection))
    changed = jobs.aggregate(last=Max("finished_at"))["last"]
    said = [
        track.pk,
        protocol.digest,
        [(run.pk, run.sha256, run.kind, run.tag, run.pooled_as) for run in runs],
        tops_up.pk if tops_up else None,
        str(changed) if track.collection_id else None,
    ]
    return "pool-preview-" + sha256_of(json.dumps(said).encode())


def preview_page(
    track: Track, *, seconds: float, hours: float | None, depth: int | None, tops_up: Pool | None
) -> dict[str, Any]:
    """Curve, table by depth, and table by topic at one depth: the one asked for, or the budget's, or the protocol's.

    Raises
    ------
    PoolRefused
        As `preview`.
    """
    found = preview(track, tops_up=tops_up)
    last = len(found.sizes)
    usual = max(found.depths.values(), default=0)
    budget = None if hours is None else found.deepest_within(hours, seconds)
    notes = {usual: "the protocol"} | ({budget: "the budget"} if budget else {})
    if budget and budget == usual:
        notes[usual] = "the protocol, within the budget"
    chosen = min(max(1, depth or budget or usual or last), last)
    rows = [
        _row(track, found, one, seconds, notes.get(one, ""), tops_up)
        for one in sorted({*ROWS, *notes, chosen, last})
        if 1 <= one <= last
    ]
    totals = found.totals.tolist()
    return {
        "preview": found,
        "seconds": seconds,
        "rows": rows,
        "curve": depth_chart(totals, found.hours(seconds).tolist(), list(notes.items())),
        "budget": budget,
        "chosen": next(row for row in rows if row.depth == chosen),
        "topics": _topics(found, chosen, seconds),
    }


def _row(track: Track, found: Preview, depth: int, seconds: float, note: str, tops_up: Pool | None) -> Row:
    sizes = found.sizes[depth - 1]
    n = int(sizes.sum())
    kinds = found.depth_by_kind(depth)
    asked = {f"depth_{kind}": k for kind, k in kinds.items()} | ({"tops_up": tops_up.pk} if tops_up else {})
    return Row(
        depth=depth,
        kinds=kinds,
        n=n,
        least=int(sizes.min()) if len(sizes) else 0,
        most=int(sizes.max()) if len(sizes) else 0,
        mean=n / len(sizes) if len(sizes) else 0.0,
        hours=float(found.hours(seconds)[depth - 1]),
        address=f"{reverse('pooling:new_pool', args=[track.slug])}?{urlencode(asked)}",
        note=note,
    )


def _topics(found: Preview, depth: int, seconds: float) -> list[tuple[str, int, float]]:
    """Code, units and hours of each topic at a depth."""
    each = found.judges * seconds / 3600
    sizes = found.sizes[depth - 1].tolist()
    return [(code, n, n * each) for code, n in zip(found.topics.tolist(), sizes, strict=True)]


def seconds_a_judgment(track: Track) -> float:
    """The published time of a judgment of what the track's protocol judges."""
    return usual_seconds(track.protocol.parsed)
