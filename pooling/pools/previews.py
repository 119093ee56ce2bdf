"""The size of a pool and the hours of judging it, at each depth, before it is built. Computed from stored columns."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.core.cache import cache
from django.db.models import Max, Q
from django.urls import reverse

from assay.charts import DepthChart, depth_chart
from assay.digests import sha256_of
from assay.errors import Refused
from assay.pools.preview import Preview, preview_pool, usual_seconds
from assay.pools.strategies import PoolError, check_strategies
from assay.protocols.schema import Protocol
from jobs.models import Job
from pooling.models import Pool, Run
from pooling.pools import inputs
from pooling.pools.errors import IdsMissing, PoolRefused
from pooling.pools.selectors import runs_to_pool
from tracks.models import Track

CACHE_SECONDS = 600
ROWS = (1, 2, 3, 5, 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000)


class Row(NamedTuple):
    """One depth: for each kind of run, with the pool's size in total and per topic, and the hours of judging."""

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
    """The sizes of a pool at every depth; computed again when runs, formulas or protocol have changed.

    Raises
    ------
    PoolRefused
        There are no runs to pool, the pool cannot be built, or (`IdsMissing`) formulas have no visual ids yet.
    """
    protocol = track.protocol.parsed
    runs = sorted(runs_to_pool(track), key=lambda run: (run.team.name, run.tag, run.pk))
    key = _key(track, protocol, runs, tops_up)
    cached: Preview | None = cache.get(key)
    if cached is not None:
        return cached
    try:
        check_strategies(protocol)
        read = inputs.read(track, protocol, runs, tops_up=tops_up, makes_ids=False)
        sizes = preview_pool(read.inputs, protocol=protocol, formulas=read.formulas, already=read.already)
    except PoolError as error:
        raise PoolRefused(f"{error}.") from error
    cache.set(key, sizes, CACHE_SECONDS)
    return sizes


def _key(track: Track, protocol: Protocol, runs: list[Run], tops_up: Pool | None) -> str:
    collection = track.collection_id
    jobs = Job.objects.filter(Q(imports__collection=collection) | Q(clustering__collection=collection))
    changed = jobs.aggregate(last=Max("finished_at"))["last"]
    parts = [
        track.pk,
        protocol.digest,
        [(run.pk, run.sha256, run.kind, run.tag, run.pooled_as) for run in runs],
        tops_up.pk if tops_up else None,
        str(changed) if track.collection_id else None,
    ]
    return "pool-preview-" + sha256_of(json.dumps(parts).encode())


@dataclass(frozen=True)
class PreviewTables:
    """The sizes of a pool by depth, as a chart and a table; and by topic at the chosen depth.

    `budget` is the deepest depth within the hours of judging: 0 if there is none, None if no hours are set.
    """

    preview: Preview
    seconds: float
    rows: list[Row]
    chart: DepthChart
    budget: int | None
    chosen: Row
    topics: list[tuple[str, int, float]]


@dataclass(frozen=True)
class PreviewPage:
    """The preview of a pool: its tables, or the reason for none. `query` repeats the form in links, without depth."""

    track: Track
    n_runs: int
    query: str
    tables: PreviewTables | None = None
    refusal: str = ""
    needs_ids: bool = False
    tab: str = "pools"


def preview_page(track: Track, *, query: str, arguments: Mapping[str, Any] | None) -> PreviewPage:
    """The page for the arguments of `preview_tables`; without tables if they are None or refused."""
    page = PreviewPage(track=track, n_runs=runs_to_pool(track).count(), query=query)
    if arguments is None:
        return page
    try:
        return replace(page, tables=preview_tables(track, **arguments))
    except Refused as refusal:
        return replace(page, refusal=refusal.message, needs_ids=isinstance(refusal, IdsMissing))


def preview_tables(
    track: Track, *, seconds: float, hours: float | None, depth: int | None, tops_up: Pool | None
) -> PreviewTables:
    """The tables at the given depth; without one, at the depth of the budget or of the protocol.

    Raises
    ------
    PoolRefused
        As `preview`.
    """
    sizes = preview(track, tops_up=tops_up)
    last = len(sizes.sizes)
    usual = max(sizes.depths.values(), default=0)
    budget = None if hours is None else sizes.deepest_within(hours, seconds)
    notes = {usual: "the protocol"} | ({budget: "the budget"} if budget else {})
    if budget and budget == usual:
        notes[usual] = "the protocol, within the budget"
    chosen = min(max(1, depth or budget or usual or last), last)
    rows = [
        _row(track, sizes, k, seconds, notes.get(k, ""), tops_up)
        for k in sorted({*ROWS, *notes, chosen, last})
        if 1 <= k <= last
    ]
    return PreviewTables(
        preview=sizes,
        seconds=seconds,
        rows=rows,
        chart=depth_chart(sizes.totals.tolist(), sizes.hours(seconds).tolist(), list(notes.items())),
        budget=budget,
        chosen=next(row for row in rows if row.depth == chosen),
        topics=_topics(sizes, chosen, seconds),
    )


def _row(track: Track, preview: Preview, depth: int, seconds: float, note: str, tops_up: Pool | None) -> Row:
    sizes = preview.sizes[depth - 1]
    n = int(sizes.sum())
    kinds = preview.depth_by_kind(depth)
    query = {f"depth_{kind}": k for kind, k in kinds.items()} | ({"tops_up": tops_up.pk} if tops_up else {})
    return Row(
        depth=depth,
        kinds=kinds,
        n=n,
        least=int(sizes.min()) if len(sizes) else 0,
        most=int(sizes.max()) if len(sizes) else 0,
        mean=n / len(sizes) if len(sizes) else 0.0,
        hours=float(preview.hours(seconds)[depth - 1]),
        address=f"{reverse('pooling:new_pool', args=[track.slug])}?{urlencode(query)}",
        note=note,
    )


def _topics(preview: Preview, depth: int, seconds: float) -> list[tuple[str, int, float]]:
    """Code, units and hours of each topic at a depth."""
    hours_per_unit = preview.judges * seconds / 3600
    sizes = preview.sizes[depth - 1].tolist()
    return [(code, n, n * hours_per_unit) for code, n in zip(preview.topics.tolist(), sizes, strict=True)]


def seconds_per_judgment(track: Track) -> float:
    """The published time of a judgment of the protocol's kind of unit."""
    return usual_seconds(track.protocol.parsed)
