"""Request pools and build them. A request is one short transaction; a job builds the pool and stores it in another."""

import secrets
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

from django.db import transaction
from django.db.models import Exists, Max, Min, OuterRef

from accounts.audit import services as audit
from accounts.models import User
from assay.pools.files import members_digest, pool_digest
from assay.pools.order import MAX_SEED, ORDERS
from assay.pools.pairs import votes_in
from assay.pools.preview import why_no_preview
from assay.pools.statistics import statistics
from assay.pools.strategies import BuiltPool, PoolError, check_strategies, with_depth
from assay.pools.strategies import build_pool as build_units
from assay.protocols.schema import JudgingOrder, Protocol
from corpus.models import Collection
from jobs import services as jobs
from jobs.files.deletion import check_unused, delete_unused
from jobs.models import Job
from pooling.errors import pool_refused
from pooling.models import Contribution, MemberContribution, Pool, PoolEntry, PoolMember, PoolRun
from pooling.pools import answers, inputs, previews, recounts, rows, selectors
from pooling.pools.selectors import runs_to_pool
from pooling.runs.changes import RECOUNT
from pooling.runs.units import cited_post_ids, document_ids, formula_post_ids, has_units
from tracks.models import Track
from tracks.rows.selectors import rows_of
from tracks.tracks import services as track_services
from web.pages import counted

ROWS = "rows"  # the number of rows of a pool, among its depths


def new_seed() -> int:
    """A random seed of at most nine digits."""
    return secrets.randbelow(10**9)


@transaction.atomic
def request(
    *,
    track: Track,
    name: str,
    seed: int,
    depth: Mapping[str, int],
    by: User,
    order: str = "",
    tops_up: Pool | None = None,
    max_runs_per_team: int | None = None,
) -> Pool:
    """Record a pool of the currently submitted runs, and queue the job that builds it.

    `depth` overrides the protocol's depths by kind of run, `order` its order of judging; the pool records both. A pool
    that tops up another one contains only units that neither that pool nor those that it tops up contain. With
    `max_runs_per_team`, only the first runs of each team are pooled, in the order that the team chose; the pool records
    which were left out.
    """
    track = track_services.lock(track.pk)
    protocol = track.protocol.parsed
    _check_request(track, name=name, seed=seed, tops_up=tops_up)
    try:
        check_strategies(protocol)
        by_kind = with_depth(protocol.runs, depth)
        order = with_order(protocol, order).pool.order
    except PoolError as error:
        raise pool_refused(f"{error}.") from error
    if max_runs_per_team is not None and max_runs_per_team < 1:
        raise pool_refused(
            f"The limit of runs per team must be at least 1, got {max_runs_per_team}.",
            field="max_runs_per_team",
        )
    depths = selectors.pooled_depths(track, by_kind)
    left_out = selectors.left_out(protocol.runs, depths, max_runs_per_team)
    if protocol.pool.strategy == "rows":
        by_kind = {ROWS: rows_of(track).count()}  # those that are imported later belong to a later pool
        if not by_kind[ROWS]:
            raise pool_refused(f"{track} has no rows yet. Import a table first.")
    elif not any(depths.values()):
        raise pool_refused(f"{track} has no runs to pool at a depth above 0.")
    pool = Pool.objects.create(
        track=track,
        name=name,
        protocol=track.protocol,
        protocol_digest=protocol.digest,
        seed=seed,
        depth=by_kind,
        order=order,
        tops_up=tops_up,
        max_runs_per_team=max_runs_per_team,
        nuggets=answers.frozen_versions(track),
        left_out=[run.reference for run in left_out],
        created_by=by,
    )
    PoolRun.objects.bulk_create(
        PoolRun(pool=pool, run=run, sha256=run.sha256, depth=k)
        for run, k in depths.items()
        if run not in left_out
    )
    title = f"Build the pool {name} of {track}"
    jobs.request_for(pool, "pool_id", kind="pooling.build_pool", title=title, by=by, subject=track)
    name_of = track.protocol.parsed.runs.name_of
    depths_by_name = {name_of(kind): k for kind, k in by_kind.items()}
    details = {"seed": seed, "depth": depths_by_name, "order": Pool.Order(order).label, "runs": len(depths)}
    audit.record(action="pool.requested", subject=pool, track=track, details=details, by=by)
    return pool


def _check_request(track: Track, *, name: str, seed: int, tops_up: Pool | None) -> None:
    if Pool.objects.filter(track=track, name=name).exists():
        raise pool_refused(f"{track} already has a pool named {name}; choose another name.", field="name")
    if not 0 <= seed <= MAX_SEED:
        raise pool_refused(f"The seed must be a whole number from 0 to {MAX_SEED}, got {seed}.", field="seed")
    if tops_up is None:
        return
    if tops_up.track_id != track.pk or tops_up.protocol_id != track.protocol_id:
        raise pool_refused(
            f"The pool {tops_up} cannot be topped up: it was not built for {track} with its current protocol.",
            field="tops_up",
        )
    if tops_up.protocol.parsed.pool.pairs is not None and seed != tops_up.seed:
        raise pool_refused(
            f"All rounds of pairs have one seed. Use that of the pool {tops_up}, {tops_up.seed}.",
            field="seed",
        )
    if tops_up.status != Pool.Status.READY:
        raise pool_refused(
            f"The pool {tops_up} is not ready. You can top it up once it is built.", field="tops_up"
        )


def with_order(protocol: Protocol, order: str) -> Protocol:
    """The protocol with another order of judging; unchanged if `order` is empty."""
    if not order:
        return protocol
    if order not in ORDERS:
        raise PoolError(f"unknown order of judging {order}; use {', '.join(ORDERS)}")
    if order == Pool.Order.BY_ANSWER and not protocol.judged.has_nuggets:
        raise PoolError(f"the order of judging {order} is for generated answers; use another one")
    return replace(protocol, pool=replace(protocol.pool, order=cast(JudgingOrder, order)))


@jobs.handler(
    "pooling.build_pool",
    failed=jobs.changing_status(Pool, "pool_id", Pool.Status.BUILDING, Pool.Status.FAILED),
    retried=jobs.changing_status(Pool, "pool_id", Pool.Status.FAILED, Pool.Status.BUILDING),
    words=lambda result: f"The pool is built: {counted(result['n'], 'unit')}.",
)
def build(progress: jobs.Progress, *, pool_id: int) -> dict[str, Any]:
    """Build a requested pool. One transaction stores all of it, so a partial pool never exists.

    That can take longer than the time after which a silent job counts as lost. So the job's row, with its heartbeat, is
    locked at the end of the transaction only; if the job was lost meanwhile (`JobLost`), nothing is stored.
    """
    pool = Pool.objects.select_related("track__collection", "protocol", "tops_up").get(pk=pool_id)
    if pool.status == Pool.Status.READY:  # an earlier attempt stored it, but did not finish the job
        return {"pool": pool.pk, "n": pool.statistics["n"]}
    pool_runs = sorted(
        pool.pool_runs.select_related("run__team"),
        key=lambda pool_run: (pool_run.run.team.name, pool_run.run.tag, pool_run.run_id),
    )
    protocol = with_order(pool.protocol.parsed, pool.order)
    runs = [pool_run.run for pool_run in pool_runs]
    total = len(runs) + 2
    nuggets = answers.nuggets_of(pool.track, pool.nuggets)
    read = inputs.read(
        pool.track,
        protocol,
        runs,
        tops_up=pool.tops_up,
        report=lambda n, step: progress.update(n, total, step),
        makes_ids=True,
        depth=pool.depth,
        n_rows=pool.depth.get(ROWS),
        nuggets=answers.keys_of(nuggets),
    )
    try:
        pool.votes = selectors.votes_so_far(pool)
        built = build_units(
            protocol=protocol,
            seed=pool.seed,
            depth=pool.depth,
            votes=votes_in(pool.votes),
            **read._asdict(),
        )
    except PoolError as error:
        raise pool_refused(f"{error}.") from error
    computed = statistics(built, read.inputs)
    for run_statistics, pool_run in zip(computed["runs"], pool_runs, strict=True):
        run_statistics["run"] = pool_run.run_id
        run_statistics["sha256"] = pool_run.sha256
    texts = answers.texts_of(built, protocol, runs, nuggets, [run.columns for run in read.inputs])
    progress.update(total - 1, total, f"storing {counted(len(built.units), 'unit')}")
    pool.sha256 = pool_digest(built)
    if built.members is not None:
        computed["members"]["sha256"] = members_digest(built)
    with transaction.atomic():
        rows.store(
            pool,
            built,
            **_lookups(pool, built),
            passages=texts.passages,
            answers=texts.store(pool),
            run_ids=[run.pk for run in runs],
        )
        with progress.storing():
            Pool.objects.select_for_update(of=("self",)).get(pk=pool.pk)
            pool.statistics = computed
            pool.recount = recounts.recount_of(pool)  # a run may have been disqualified meanwhile
            pool.status = Pool.Status.READY
            pool.save(update_fields=["sha256", "statistics", "recount", "status", "votes"])
    return {"pool": pool.pk, "n": len(built.units)}


@transaction.atomic
def request_ids(*, track: Track, by: User) -> Job:
    """Queue the job that makes visual ids for the formulas of the submitted runs, for a preview of their pool.

    If such a job is already queued or running, it is returned instead.
    """
    track = track_services.lock(track.pk)
    states = [Job.State.QUEUED, Job.State.RUNNING]
    unfinished = Job.objects.filter(
        kind="pooling.make_ids", arguments__track_id=track.pk, state__in=states
    ).first()
    if unfinished is not None:
        return unfinished
    title = f"Make visual ids for the formulas of the runs of {track}"
    return jobs.request(
        kind="pooling.make_ids", title=title, arguments={"track_id": track.pk}, by=by, subject=track
    )


@jobs.handler(
    "pooling.make_ids", words=lambda result: f"Visual ids are made for {counted(result['n'], 'formula')}."
)
def make_ids(progress: jobs.Progress, *, track_id: int) -> dict[str, Any]:
    """Make visual ids for the formulas of the submitted runs. Safe to repeat: existing ids stay."""
    track = Track.objects.select_related("collection", "protocol").get(pk=track_id)
    progress.update(0, 1, "comparing formulas")
    return {"n": inputs.make_ids(track, list(runs_to_pool(track)))}


def _lookups(pool: Pool, built: BuiltPool) -> dict[str, rows.DocumentLookup]:
    """Return the lookups of documents and posts for `rows.store`; none if no collection is loaded."""
    collection, protocol = pool.track.collection, pool.protocol.parsed
    if collection is None or collection.status != Collection.Status.READY:
        return {}
    by_docno = partial(document_ids, collection.pk)
    if protocol.judged.has_nuggets:
        return {"documents": partial(answers.cited_segments, collection.pk)}
    if protocol.cites_posts:
        return {"documents": partial(cited_post_ids, collection.pk)}
    if built.members is not None:
        return {"posts": by_docno}
    if protocol.unit == "formula":
        return {"documents": partial(formula_post_ids, collection.pk)}
    return {"documents": by_docno} if has_units(pool.track, protocol) else {}


@transaction.atomic
def request_preview(
    *,
    track: Track,
    tops_up: Pool | None,
    most: int | None = None,
    depths: Mapping[str, int] | None = None,
    by: User,
) -> Job:
    """Queue the job that previews a pool of the runs submitted so far, of at most `most` runs per team.

    `depths` by kind of run replace the protocol's.

    A job that already previews these runs, or has done so, is returned instead.

    Raises:
        Refused: The pool strategy has no preview.
    """
    track = track_services.lock(track.pk)
    if refusal := why_no_preview(track.protocol.parsed):
        raise pool_refused(f"{refusal}.")
    job = previews.job_of(track, tops_up, most, depths)
    if job is not None and job.state != Job.State.FAILED:
        return job
    return jobs.request(
        kind=previews.KIND,
        title=f"Preview a pool of {track}",
        arguments={
            "track_id": track.pk,
            "tops_up_id": tops_up.pk if tops_up else None,
            "most": most,
            "depths": depths,
            "key": previews.key_of(track, tops_up, most, depths),
        },
        by=by,
        subject=track,
    )


@jobs.handler(previews.KIND, words=lambda _: "The preview is computed.")
def compute_preview(
    progress: jobs.Progress,
    *,
    track_id: int,
    tops_up_id: int | None,
    key: str,
    most: int | None,
    depths: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Compute a preview. Safe to repeat: it writes nothing but the result of the job."""
    track = Track.objects.select_related("collection", "protocol").get(pk=track_id)
    tops_up = None if tops_up_id is None else Pool.objects.get(pk=tops_up_id)
    if previews.key_of(track, tops_up, most, depths) != key:
        raise pool_refused("The runs or formulas changed after the preview was requested. Compute it again.")
    total = runs_to_pool(track).count() + 2
    report = lambda n, step: progress.update(n, total, step)  # noqa: E731
    return previews.packed(previews.preview(track, tops_up=tops_up, most=most, depths=depths, report=report))


@jobs.handler(RECOUNT)
def recount(progress: jobs.Progress, *, run_id: int) -> dict[str, Any]:
    """Count the statistics of the pools that contain a run again, without their disqualified runs.

    The lock of a pool makes it wait for a pool that is just being stored. Safe to repeat.
    """
    ids = list(Pool.objects.filter(pool_runs__run=run_id).order_by("pk").values_list("pk", flat=True))
    for n, pool_id in enumerate(ids):
        progress.update(n, len(ids), "counting")
        with progress.storing():
            pool = Pool.objects.select_for_update(of=("self",)).get(pk=pool_id)
            pool.recount = recounts.recount_of(pool)
            pool.save(update_fields=["recount"])
    return {"pools": len(ids)}


PARTS = frozenset({
    "pooling.PoolRun", "pooling.PooledAnswer", "pooling.PoolEntry", "pooling.PoolMember",
    "pooling.Contribution", "pooling.MemberContribution",
})  # fmt: skip
CONTRIBUTIONS = {"entry_id": (Contribution, PoolEntry), "member_id": (MemberContribution, PoolMember)}
SWEEP = "pooling.delete_contributions"
AT_ONCE = 10_000  # entries or members whose contributions one transaction deletes


def check_deletion(pool: Pool) -> None:
    """Refuse to delete a pool that is being built, or that a batch, qrels or another pool refers to.

    Raises:
        Refused: It is one of these.
    """
    if pool.status == Pool.Status.BUILDING:
        raise pool_refused(f"The pool “{pool}” is being built. Wait for its job, or cancel it.")
    check_unused(pool, PARTS)


@track_services.checks_collection
def check_collection(*, track: Track) -> None:
    """Refuse to choose the collection of an opened track that has a pool: its units were linked to texts."""
    if track.pools.exclude(status=Pool.Status.FAILED).exists():
        raise pool_refused(f"{track} has a pool, which was built without a collection.")


@transaction.atomic
def delete(*, pool: Pool, by: User) -> None:
    """Delete a pool with its units. It can be built again from the same runs with the same seed.

    A job deletes the contributions, which can be millions. Nothing reads them without their entries.

    Raises:
        Refused: As `check_deletion`.
    """
    track = track_services.lock(pool.track_id)
    current = Pool.objects.select_for_update(of=("self",)).get(pk=pool.pk)
    check_deletion(current)
    entries = PoolEntry.objects.filter(pool=current)
    ids = Min("pk", default=0), Max("pk", default=-1)  # without rows, an empty span
    spans = {"entry_id": [*entries.aggregate(*ids).values()]}
    spans["member_id"] = [*PoolMember.objects.filter(entry__in=entries).aggregate(*ids).values()]
    details = {"seed": current.seed, "depth": current.depth, "sha256": current.sha256}
    audit.record(action="pool.deleted", subject=current.name, track=track, details=details, by=by)
    delete_unused(current, PARTS, later=[kind._meta.label for kind, _ in CONTRIBUTIONS.values()])
    title = f"Delete the contributions of the pool {current.name}"
    jobs.request(kind=SWEEP, title=title, arguments={"spans": spans}, by=by, subject=track)


@jobs.handler(SWEEP)
def delete_contributions(progress: jobs.Progress, *, spans: dict[str, list[int]]) -> dict[str, Any]:
    """Delete contributions whose entries or members, with ids in these spans, are deleted. Safe to repeat."""
    for field, (first, last) in spans.items():
        contributions, rows = CONTRIBUTIONS[field]
        for start in range(first, last + 1, AT_ONCE):
            progress.update(start - first, last - first, "deleting contributions")
            kept = rows._base_manager.filter(pk=OuterRef(field))  # of a pool that was built at the same time
            span = {f"{field}__gte": start, f"{field}__lt": min(start + AT_ONCE, last + 1)}
            without = contributions._base_manager.filter(~Exists(kept), **span)
            without._raw_delete(without.db)
    return {}
