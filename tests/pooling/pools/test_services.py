"""Pools as jobs: what is stored, what is refused, and that no half pool is ever seen."""

import hashlib
import io
import signal
from collections.abc import Callable
from typing import Any, get_args

import pytest
from django.db import connection
from django.utils import timezone

from assay.pools.order import ORDERS
from assay.protocols.schema import JudgingOrder
from corpus.models import Collection
from jobs import services as jobs
from jobs.models import Job
from pooling.models import Contribution, Pool, PoolEntry, Run
from pooling.pools import exports as pool_exports
from pooling.pools import services as pool_services
from pooling.pools.errors import PoolRefused
from pooling.runs import services as run_services
from tests.conftest import wait_until
from tests.helpers.factories import make_track
from tests.helpers.runs import run_bytes
from tests.pooling.conftest import Scene, build_scene
from tracks.models import Topic


def hand_in(scene: Scene, tag: str, *, n: int = 4, first: int = 100, **options: Any) -> Run:
    declared = run_services.Declaration(kind=options.pop("kind", "primary"), **options)
    return run_services.submit(
        track=scene.track,
        team=scene.ours,
        by=scene.organizer,
        file=io.BytesIO(run_bytes(n=n, first=first, tag=tag)),
        file_name=f"{tag}.tsv",
        declared=declared,
    )


def ask(scene: Scene, **options: Any) -> Pool:
    options = {"name": "Pool 1", "seed": 7, "depth": {}} | options
    return pool_services.request(track=scene.track, by=scene.organizer, **options)


def build(scene: Scene, **options: Any) -> Pool:
    pool = ask(scene, **options)
    assert pool.job is not None
    jobs.run(pool.job.pk)
    pool.refresh_from_db()
    pool.job.refresh_from_db()
    return pool


def test_pool_is_the_union_of_the_tops(scene: Scene) -> None:
    first = hand_in(scene, "a")
    second = hand_in(scene, "b", first=102, kind="alternate")

    pool = build(scene, depth={"primary": 3, "alternate": 2})

    assert (pool.status, pool.job.state if pool.job else "") == ("ready", "done")
    found = PoolEntry.objects.filter(pool=pool, topic__code="A.1").order_by("docno")
    assert [entry.docno for entry in found] == ["101", "102", "103", "104"]
    assert sorted(entry.position for entry in found) == [1, 2, 3, 4]
    given = Contribution.objects.filter(entry=found[2]).order_by("run_id").values_list("run", "rank")
    assert list(given) == [(first.pk, 3), (second.pk, 1)]
    assert pool.statistics["n"] == 12
    assert pool.statistics["runs"][0]["run"] == first.pk


def test_pool_records_what_it_was_made_from(scene: Scene) -> None:
    run = hand_in(scene, "a")

    pool = build(scene, depth={"primary": 3})

    assert pool.protocol_digest == scene.track.protocol.digest
    assert pool.depth == {"primary": 3, "alternate": 20}
    assert list(pool.pool_runs.values_list("run", "sha256", "depth")) == [(run.pk, run.sha256, 3)]


def test_sha256_is_that_of_the_download(scene: Scene) -> None:
    hand_in(scene, "a")
    hand_in(scene, "b", first=110)

    pool = build(scene)

    assert hashlib.sha256(b"".join(pool_exports.pool_lines(pool))).hexdigest() == pool.sha256


def test_same_runs_and_seed_give_the_same_pool(scene: Scene) -> None:
    hand_in(scene, "a")
    hand_in(scene, "b", first=110)

    one, two, other = build(scene), build(scene, name="Pool 2"), build(scene, name="Pool 3", seed=8)

    assert one.sha256 == two.sha256 != other.sha256


def test_documents_are_linked_where_the_collection_is_loaded(scene: Scene) -> None:
    hand_in(scene, "a")

    build(scene)

    entry = PoolEntry.objects.select_related("document").first()
    assert entry is not None
    assert entry.document is not None
    assert entry.document.docno == entry.docno


def test_ids_without_a_collection_are_pooled_as_they_are(scene: Scene) -> None:
    assert scene.track.collection is not None
    Collection.objects.filter(pk=scene.track.collection.pk).update(status=Collection.Status.EMPTY)
    scene.track.refresh_from_db()
    data = 'A.1\t\\back\\slash\\n,"é#\t1\t1\tr\n'.encode()
    run_services.submit(
        track=scene.track,
        team=scene.ours,
        by=scene.member,
        file=io.BytesIO(data),
        file_name="r",
        declared=run_services.Declaration(kind="primary"),
    )

    pool = build(scene)

    entry = PoolEntry.objects.get(pool=pool)
    assert (entry.docno, entry.document) == ('\\back\\slash\\n,"é#', None)


def test_run_withdrawn_or_submitted_later_changes_no_pool(scene: Scene) -> None:
    run = hand_in(scene, "a")
    pool = ask(scene)
    hand_in(scene, "b", first=120)
    run_services.withdraw(run=run, by=scene.member)

    assert pool.job is not None
    jobs.run(pool.job.pk)

    pool.refresh_from_db()
    assert [one["tag"] for one in pool.statistics["runs"]] == ["a"]


def test_withdrawn_run_goes_into_no_new_pool(scene: Scene) -> None:
    run_services.withdraw(run=hand_in(scene, "a"), by=scene.member)

    with pytest.raises(PoolRefused, match="no run that would be pooled"):
        ask(scene)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"name": "Taken"}, "has a pool of the name Taken already"),
        ({"seed": -1}, "whole number from 0"),
        ({"seed": 2**63}, "whole number from 0"),
        ({"depth": {"phase2": 3}}, "no depth for the kind phase2"),
        ({"depth": {"primary": 0}}, "no run that would be pooled"),
    ],
)
def test_pool_that_cannot_be_is_refused(scene: Scene, options: dict[str, Any], why: str) -> None:
    hand_in(scene, "a")
    ask(scene, name="Taken")

    with pytest.raises(PoolRefused, match=why):
        ask(scene, **({"name": "New"} | options))

    assert Pool.objects.count() == 1
    assert Job.objects.count() == 1


def test_damaged_columns_fail_the_pool_with_a_reason(scene: Scene) -> None:
    run = hand_in(scene, "a")
    with run.columns.open("wb") as file:
        file.write(b"not npz")

    pool = build(scene)

    assert pool.status == "failed"
    assert pool.job is not None
    assert "The stored columns of the run a cannot be read" in pool.job.error
    assert not PoolEntry.objects.exists()


def test_topic_that_is_gone_fails_the_pool(scene: Scene) -> None:
    hand_in(scene, "a")
    Topic.objects.filter(code="A.2").delete()

    pool = build(scene)

    assert (pool.status, PoolEntry.objects.count()) == ("failed", 0)
    assert pool.job is not None
    assert "no topic A.2" in pool.job.error


def test_job_delivered_again_after_storing_changes_nothing(scene: Scene) -> None:
    hand_in(scene, "a")
    pool = build(scene)
    before = list(PoolEntry.objects.values_list("id", "position"))
    assert pool.job is not None
    Job.objects.filter(pk=pool.job.pk).update(state="running", attempt=5)

    result = pool_services.build(jobs.Progress(pool.job.pk, 5), pool_id=pool.pk)

    assert result == {"pool": pool.pk, "n": 12}
    assert list(PoolEntry.objects.values_list("id", "position")) == before


def test_attempt_that_lost_its_job_stores_nothing(scene: Scene) -> None:
    hand_in(scene, "a")
    pool = ask(scene)
    assert pool.job is not None
    Job.objects.filter(pk=pool.job.pk).update(state="running", attempt=2, heartbeat_at=timezone.now())

    with pytest.raises(jobs.JobLost):
        pool_services.build(jobs.Progress(pool.job.pk, 1), pool_id=pool.pk)

    pool.refresh_from_db()
    assert (pool.status, PoolEntry.objects.count(), Contribution.objects.count()) == ("building", 0, 0)


@pytest.mark.django_db(transaction=True)
def test_worker_killed_while_storing_leaves_no_half_pool_and_the_job_is_taken_up_again(
    folder: Any,
    monkeypatch: pytest.MonkeyPatch,
    worker: Callable[..., Any],
    process_environment: dict[str, str],
) -> None:
    scene = build_scene(folder)
    process_environment["ASSAY_VAR"] = str(folder.parent)
    hand_in(scene, "a")
    hand_in(scene, "b", first=110)
    pool = ask(scene)
    assert pool.job is not None

    # The worker copies entries, then waits for this lock on contributions, in the middle of its transaction.
    from django.db import transaction

    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("LOCK TABLE pooling_contribution IN ACCESS EXCLUSIVE MODE")
        running = worker(ASSAY_VAR=str(folder.parent))
        jobs.current_app.send_task("jobs.tasks.run_job", args=[pool.job.pk])
        wait_until(waits_for_a_lock, reason="the worker stores")
        running.kill()
    assert (running.process.returncode, PoolEntry.objects.count()) == (-signal.SIGKILL, 0)
    pool.refresh_from_db()
    assert pool.status == "building"

    worker(ASSAY_VAR=str(folder.parent))

    def is_done() -> bool:
        jobs.relaunch_lost()
        jobs.current_app.send_task("jobs.tasks.run_job", args=[pool.job.pk])  # type: ignore[union-attr]
        pool.refresh_from_db()
        return pool.status == "ready"

    wait_until(is_done, reason="the second worker takes the job up")
    assert PoolEntry.objects.count() == pool.statistics["n"] == 24
    assert hashlib.sha256(b"".join(pool_exports.pool_lines(pool))).hexdigest() == pool.sha256


def waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM pg_locks WHERE relation = 'pooling_contribution'::regclass AND NOT granted"
        )
        return cursor.fetchone() is not None


def test_failed_pool_that_is_tried_again_is_being_built(scene: Scene) -> None:
    run = hand_in(scene, "a")
    with run.columns.open("rb") as file:
        stored = file.read()
    run.columns.storage.delete(run.columns.name)
    pool = build(scene)
    assert (pool.status, pool.job and pool.job.state) == ("failed", "failed")
    run.columns.storage.save(run.columns.name, io.BytesIO(stored))
    assert pool.job is not None

    jobs.retry(job=pool.job)

    pool.refresh_from_db()
    assert pool.status == "building"
    jobs.run(pool.job.pk)
    pool.refresh_from_db()
    assert pool.status == "ready"


def test_order_of_judging_is_recorded_and_part_of_the_record(scene: Scene) -> None:
    hand_in(scene, "a")

    assert build(scene).order == "random"
    chosen = build(scene, name="Pool 2", order="by-run-votes")
    assert (chosen.order, chosen.status) == ("by-run-votes", "ready")
    assert pool_exports.pool_record(chosen)["order"] == "by-run-votes"


def test_every_order_of_the_protocols_can_be_recorded() -> None:
    assert set(Pool.Order.values) == set(get_args(JudgingOrder)) == set(ORDERS)


def test_top_up_of_what_is_not_there_is_refused(scene: Scene) -> None:
    hand_in(scene, "a")
    building = ask(scene)

    with pytest.raises(PoolRefused, match="is not ready"):
        ask(scene, name="Pool 2", tops_up=building)
    foreign = build_scene_of_another_track(scene)
    with pytest.raises(PoolRefused, match="cannot be topped up"):
        ask(scene, name="Pool 2", tops_up=foreign)


def build_scene_of_another_track(scene: Scene) -> Pool:
    track = make_track("other")
    return Pool.objects.create(
        track=track, name="Pool", protocol=track.protocol, seed=1, status="ready", created_by=scene.organizer
    )
