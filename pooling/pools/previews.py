"""The size of a pool and the hours of judging it, at each depth: computed by a job, shown by a page."""

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np
from django.urls import reverse

from assay import plots
from assay.digests import sha256_of
from assay.pools.preview import Preview, preview_pool, why_no_preview
from assay.pools.strategies import PoolError, check_strategies
from corpus.clusterings.selectors import latest_clustering
from jobs.models import Job
from pooling.errors import pool_refused
from pooling.models import Pool, Run
from pooling.pools import answers, inputs
from pooling.pools.selectors import left_out, pooled_depths, runs_to_pool
from tracks.models import Track
from web.statements import Statement

KIND = "pooling.preview"  # of the jobs that compute previews
ROWS = (1, 2, 3, 5, 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000)


class DepthRow(NamedTuple):
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


def preview(
    track: Track,
    *,
    tops_up: Pool | None = None,
    most: int | None = None,
    depths: Mapping[str, int] | None = None,
    report: inputs.Report = lambda n, step: None,
) -> Preview:
    """The sizes of a pool at every depth, from at most `most` runs per team. It reads every run, so it is for jobs.

    `depths` by kind of run replace the protocol's; the other depths are in their proportion.
    """
    protocol = track.protocol.parsed
    runs = _runs(track, most, depths)
    try:
        check_strategies(protocol)
        nuggets = answers.keys_of(answers.nuggets_of(track, answers.frozen_versions(track)))
        read = inputs.read(
            track, protocol, runs, tops_up=tops_up, report=report, makes_ids=False, nuggets=nuggets
        )
        report(len(runs) + 1, "counting units")
        return preview_pool(
            read.inputs,
            protocol=protocol,
            depth=depths,
            formulas=read.formulas,
            already=read.already,
            nuggets=read.nuggets,
        )
    except PoolError as error:
        raise pool_refused(f"{error}.") from error


def _runs(track: Track, most: int | None, depths: Mapping[str, int] | None) -> list[Run]:
    rules = track.protocol.parsed.runs
    by_run = pooled_depths(track, depths or rules.depths)
    kept = by_run.keys() - set(left_out(rules, by_run, most))
    return sorted(kept, key=lambda run: (run.team.name, run.tag, run.pk))


# When the posts or formulas of a collection, or the visual ids of a track, last changed
_CHANGED = Statement(
    "SELECT max(finished_at) FROM jobs_job WHERE kind = 'pooling.make_ids' AND arguments->>'track_id' = %(track)s::text"
    " OR id IN (SELECT job_id FROM corpus_import WHERE collection_id = %(collection)s"
    " UNION ALL SELECT job_id FROM corpus_clustering WHERE collection_id = %(collection)s)"
)


def key_of(
    track: Track, tops_up: Pool | None, most: int | None, depths: Mapping[str, int] | None = None
) -> str:
    """A digest of everything that a preview depends on: runs, protocol, formulas, nuggets and the pool to top up."""
    collection = track.collection_id
    [(changed,)] = _CHANGED.rows(collection=collection, track=track.pk)
    parts = [
        track.pk,
        track.protocol.digest,
        [(run.pk, run.sha256, run.kind, run.tag, run.pooled_as) for run in _runs(track, most, depths)],
        sorted((depths or {}).items()),
        tops_up.pk if tops_up else None,
        str(changed) if collection else None,
        answers.latest_versions(track),
    ]
    return sha256_of(json.dumps(parts).encode())


def job_of(
    track: Track, tops_up: Pool | None, most: int | None, depths: Mapping[str, int] | None = None
) -> Job | None:
    """The newest job that previews the pool that would be built now; its result is read with `unpacked`."""
    key = key_of(track, tops_up, most, depths)
    return Job.objects.filter(kind=KIND, arguments__key=key).order_by("-pk").first()


def packed(computed: Preview) -> dict[str, Any]:
    """A preview as plain values, for the result of a job; `unpacked` reads it."""
    sizes = zlib.compress(computed.sizes.astype("<i4").tobytes())
    return {
        "topics": computed.topics.tolist(),
        "sizes": base64.b64encode(sizes).decode(),
        "depths": list(computed.depths.items()),  # JSON in PostgreSQL keeps no order of keys
        "judges": computed.judges,
    }


def unpacked(stored: Mapping[str, Any]) -> Preview:
    topics = np.array(stored["topics"], dtype=np.str_)
    sizes = np.frombuffer(zlib.decompress(base64.b64decode(stored["sizes"])), dtype="<i4")
    n_depths = len(sizes) // len(topics) if len(topics) else 0
    by_depth = sizes.astype(np.int64).reshape(n_depths, len(topics))
    return Preview(topics, by_depth, dict(stored["depths"]), stored["judges"])


@dataclass(frozen=True)
class PreviewTables:
    """The sizes of a pool by depth, as a plot and a table; and by topic at the chosen depth.

    `budget` is the deepest depth within the hours of judging: 0 if there is none, None if no hours are set.
    """

    preview: Preview
    seconds: float
    rows: list[DepthRow]
    plot: plots.Plot
    budget: int | None
    chosen: DepthRow
    topics: list[tuple[str, int, float]]


@dataclass(frozen=True)
class PreviewPage:
    """The preview of a pool: its tables if `job` has computed them. `query` repeats the form in links, without depth.

    `refusal` says why no preview can be computed. `needs_ids`: formulas of the runs may lack visual ids, which the
    organizer can have made.
    """

    track: Track
    n_runs: int
    query: str
    tops_up: Pool | None = None
    job: Job | None = None
    tables: PreviewTables | None = None
    refusal: str = ""
    needs_ids: bool = False


def preview_page(track: Track, *, query: str, arguments: Mapping[str, Any] | None) -> PreviewPage:
    """The page for the arguments of `preview_tables`; without tables if they are None, or not computed yet."""
    refusal = why_no_preview(track.protocol.parsed)
    page = PreviewPage(track=track, n_runs=runs_to_pool(track).count(), query=query, refusal=refusal)
    if arguments is None or not page.n_runs:
        return page
    job = job_of(track, arguments["tops_up"], arguments["most"], arguments["depths"])
    page = replace(page, job=job, tops_up=arguments["tops_up"])
    if job is None:
        return page
    if job.state == Job.State.FAILED:
        collection, clusters = track.collection, track.protocol.parsed.instances.clustering
        is_complete = collection is None or latest_clustering(collection, is_complete=True) is not None
        return replace(page, needs_ids=clusters == "submitted" and not is_complete)
    if job.state != Job.State.DONE:
        return page
    return replace(page, tables=preview_tables(track, unpacked(job.result), **arguments))


def preview_tables(
    track: Track,
    sizes: Preview,
    *,
    seconds: float,
    hours: float | None,
    depth: int | None,
    tops_up: Pool | None,
    most: int | None,
    depths: Mapping[str, int] | None,
) -> PreviewTables:
    """The tables at the given depth; without one, at the depth of the budget or of the protocol.

    `depths` are those of `preview`.
    """
    last = len(sizes.sizes)
    usual = max(sizes.depths.values(), default=0)
    budget = None if hours is None else sizes.deepest_within(hours, seconds)
    notes = {} if depths else {usual: "the protocol"}
    notes |= {budget: "the budget"} if budget else {}
    if budget and budget == usual and not depths:
        notes[usual] = "the protocol, within the budget"
    chosen = min(max(1, depth or budget or usual or last), last)
    others = {"tops_up": tops_up.pk if tops_up else None, "max_runs_per_team": most}
    query = {name: value for name, value in others.items() if value is not None}
    new_pool = reverse("pooling:new_pool", args=[track.slug])
    hours_at, rows = sizes.hours(seconds).tolist(), []
    for k in sorted(k for k in {*ROWS, *notes, chosen, last} if 1 <= k <= last):
        kinds, counts = sizes.depth_by_kind(k), sizes.sizes[k - 1]
        filled_in = {f"depth_{kind}": depth for kind, depth in kinds.items()} | query
        rows.append(
            DepthRow(
                depth=k,
                kinds=kinds,
                n=int(counts.sum()),
                least=int(counts.min()) if len(counts) else 0,
                most=int(counts.max()) if len(counts) else 0,
                mean=float(counts.mean()) if len(counts) else 0.0,
                hours=hours_at[k - 1],
                address=f"{new_pool}?{urlencode(filled_in)}",
                note=notes.get(k, ""),
            )
        )
    return PreviewTables(
        preview=sizes,
        seconds=seconds,
        rows=rows,
        plot=plots.costs(
            f"{track.slug}-depths",
            f"{track.name}: Units to judge and hours of judging by depth",
            sizes.totals.tolist(),
            hours_at,
            list(notes.items()),
            across="Depth of the deepest kind of run" if len(sizes.depths) > 1 else "Depth",
        ),
        budget=budget,
        chosen=next(row for row in rows if row.depth == chosen),
        topics=[
            (code, n, n * sizes.judges * seconds / 3600)
            for code, n in zip(sizes.topics.tolist(), sizes.sizes[chosen - 1].tolist(), strict=True)
        ],
    )
