"""Pools: asked for in one short transaction, built by a job, stored in another."""

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import replace
from io import StringIO
from typing import Any, BinaryIO, cast

from django.db import connection, transaction

from corpus import jobs
from corpus.models import Topic, Track, User
from corpus.services import lock_track
from pooling import columns
from pooling.errors import PoolRefused
from pooling.models import Contribution, Pool, PoolEntry, PoolRun, Run
from pooling.order import MAX_SEED, ORDERS
from pooling.pool_files import pool_tsv
from pooling.statistics import statistics
from pooling.strategies import BuiltPool, PoolError, PoolInput, check_strategies, with_depth
from pooling.strategies import build_pool as build_units
from pooling.units import document_ids, has_units
from protocols.schema import JudgingOrder, Protocol


def new_seed() -> int:
    """A seed nobody chose, short enough to read aloud."""
    return secrets.randbelow(10**9)


@transaction.atomic
def request_pool(
    *,
    track: Track,
    name: str,
    seed: int,
    depth: Mapping[str, int],
    by: User,
    order: str = "",
    tops_up: Pool | None = None,
) -> Pool:
    """Record a pool of the runs that stand at this moment, and queue its building.

    `depth` replaces the protocol's by kind of run, `order` its order of judging; what was used is recorded with the
    pool. A pool that tops up another holds only what that one, and those that it tops up, do not hold.

    Raises
    ------
    PoolRefused
        The name is taken, the protocol cannot be followed, there is no run to pool, or the pool to be topped up is
        not ready or of another track or protocol.
    """
    track = lock_track(track.pk)
    protocol = track.protocol.parsed
    _check_request(track, name=name, seed=seed, tops_up=tops_up)
    try:
        check_strategies(protocol)
        rules = with_depth(protocol.pool, depth)
        order = with_order(protocol, order).pool.order
    except PoolError as error:
        raise PoolRefused(f"{error}.") from error
    runs = Run.objects.filter(track=track, status=Run.Status.SUBMITTED).select_related("team")
    depths = {run: rules.depth_of(run.kind, run.tag, run.pooled_as) for run in runs}
    if not any(depths.values()):
        raise PoolRefused(f"{track} has no run that would be pooled to a depth above 0.")
    pool = Pool.objects.create(
        track=track,
        name=name,
        protocol=track.protocol,
        protocol_digest=protocol.digest,
        seed=seed,
        depth=dict(rules.depth),
        order=order,
        tops_up=tops_up,
        created_by=by,
    )
    PoolRun.objects.bulk_create(
        [PoolRun(pool=pool, run=run, sha256=run.sha256, depth=k) for run, k in depths.items()]
    )
    title = f"Build the pool {name} of {track}"[:200]
    pool.job = jobs.request(
        kind="pooling.build_pool", title=title, arguments={"pool_id": pool.pk}, by=by, track=track
    )
    pool.save(update_fields=["job"])
    return pool


def _check_request(track: Track, *, name: str, seed: int, tops_up: Pool | None) -> None:
    if Pool.objects.filter(track=track, name=name).exists():
        raise PoolRefused(f"{track} has a pool of the name {name} already.")
    if not 0 <= seed <= MAX_SEED:
        raise PoolRefused(f"The seed is a whole number from 0 to {MAX_SEED}; got {seed}.")
    if tops_up is None:
        return
    if tops_up.track_id != track.pk or tops_up.protocol_id != track.protocol_id:
        raise PoolRefused(
            f"The pool {tops_up} was not built for {track} by its protocol: it cannot be topped up."
        )
    if tops_up.status != Pool.Status.READY:
        raise PoolRefused(f"The pool {tops_up} is not ready; it can be topped up once it is built.")


def with_order(protocol: Protocol, order: str) -> Protocol:
    """The protocol with another order of judging; empty: as it is.

    Raises
    ------
    PoolError
        There is no such order.
    """
    if not order:
        return protocol
    if order not in ORDERS:
        raise PoolError(f"there is no order of judging {order}; use {', '.join(ORDERS)}")
    return replace(protocol, pool=replace(protocol.pool, order=cast(JudgingOrder, order)))


def _pool_failed(*, pool_id: int) -> None:
    Pool.objects.filter(pk=pool_id, status=Pool.Status.BUILDING).update(status=Pool.Status.FAILED)


def _pool_retried(*, pool_id: int) -> None:
    Pool.objects.filter(pk=pool_id, status=Pool.Status.FAILED).update(status=Pool.Status.BUILDING)


@jobs.handler("pooling.build_pool", failed=_pool_failed, retried=_pool_retried)
def build_pool(progress: jobs.Progress, *, pool_id: int) -> dict[str, Any]:
    """Build a requested pool. All of it is stored in one transaction, so that no half pool is ever seen.

    Raises
    ------
    PoolRefused
        A run's columns are gone or damaged, or the protocol cannot be followed.
    JobLost
        Another worker has taken the job over.
    """
    pool = Pool.objects.select_related("track__collection", "protocol").get(pk=pool_id)
    if pool.status == Pool.Status.READY:  # stored by an attempt that died before it could say so
        return {"pool": pool.pk, "n": pool.statistics["n"]}
    pool_runs = sorted(
        pool.pool_runs.select_related("run__team"),
        key=lambda one: (one.run.team.name, one.run.tag, one.run_id),
    )
    inputs = _inputs(pool_runs, progress)
    try:
        protocol = with_order(pool.protocol.parsed, pool.order)
        built = build_units(inputs, protocol=protocol, seed=pool.seed, depth=pool.depth)
    except PoolError as error:
        raise PoolRefused(f"{error}.") from error
    found = statistics(built, inputs)
    for said, pool_run in zip(found["runs"], pool_runs, strict=True):
        said["run"] = pool_run.run_id
        said["sha256"] = pool_run.sha256
    progress.update(len(inputs), len(inputs) + 1, f"storing {len(built.units):,} units")
    documents = _documents(pool, built)
    with progress.storing():
        Pool.objects.select_for_update(of=("self",)).get(pk=pool.pk)
        _copy(pool, built, documents, [one.run_id for one in pool_runs])
        pool.sha256 = hashlib.sha256(pool_tsv(built)).hexdigest()
        pool.statistics = found
        pool.status = Pool.Status.READY
        pool.save(update_fields=["sha256", "statistics", "status"])
    return {"pool": pool.pk, "n": len(built.units)}


def _inputs(pool_runs: list[PoolRun], progress: jobs.Progress) -> list[PoolInput]:
    inputs = []
    for i, pool_run in enumerate(pool_runs):
        run = pool_run.run
        progress.update(i, len(pool_runs) + 1, f"reading {run.tag}")
        try:
            with run.columns.open("rb") as stored:
                loaded = columns.load(cast(BinaryIO, stored))
        except (OSError, ValueError, KeyError) as error:
            raise PoolRefused(f"The stored columns of the run {run.tag} cannot be read: {error}.") from error
        inputs.append(PoolInput(loaded, run.team.name, run.tag, run.kind, run.pooled_as))
    return inputs


def _documents(pool: Pool, built: BuiltPool) -> dict[str, int]:
    """Primary keys of the pooled documents, where the collection is loaded."""
    collection_id = pool.track.collection_id
    if collection_id is None or not has_units(pool.track, pool.protocol.parsed):
        return {}
    return document_ids(collection_id, built.units.docno)


def _copy(pool: Pool, built: BuiltPool, documents: Mapping[str, int], run_ids: list[int]) -> None:
    """Entries and contributions by COPY, under keys that were drawn from the tables' own sequences."""
    units = built.units
    topic_ids = dict(Topic.objects.filter(track=pool.track).values_list("code", "pk"))
    missing = [code for code in units.topics.tolist() if code not in topic_ids]
    if missing:
        raise PoolRefused(f"The track has no topic {', '.join(missing[:5])} any more.")
    topics = [topic_ids[code] for code in units.topics.tolist()]
    docnos = [docno.decode() for docno in units.docno.tolist()]
    entry_ids = _new_keys(PoolEntry._meta.db_table, len(units))
    entries = zip(entry_ids, units.topic_index.tolist(), docnos, built.position.tolist(), strict=True)
    _copy_rows(
        PoolEntry._meta.db_table,
        ("id", "pool_id", "topic_id", "docno", "document_id", "position"),
        ((pk, pool.pk, topics[topic], docno, documents.get(docno), at) for pk, topic, docno, at in entries),
    )
    given = zip(units.entry.tolist(), units.run.tolist(), units.rank.tolist(), strict=True)
    _copy_rows(
        Contribution._meta.db_table,
        ("entry_id", "run_id", "rank"),
        ((entry_ids[entry], run_ids[run], rank) for entry, run, rank in given),
    )


def _new_keys(table: str, n: int) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)", [table, n]
        )
        return [row[0] for row in cursor.fetchall()]


def _copy_rows(table: str, names: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> None:
    text = StringIO()
    for row in rows:
        text.write("\t".join(_cell(value) for value in row))
        text.write("\n")
    text.seek(0)
    with connection.cursor() as cursor:
        cursor.copy_expert(f"COPY {table} ({', '.join(names)}) FROM STDIN", text)


def _cell(value: object) -> str:
    """A value as COPY's text form has it; docnos hold no white space, but may hold a backslash."""
    return r"\N" if value is None else str(value).replace("\\", "\\\\")
