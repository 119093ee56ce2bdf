"""Pools as jobs: what is stored, what is refused, and that a partial pool never exists."""

import hashlib
import io
import json
from pathlib import Path
from typing import Any, get_args

import pytest
from django.conf import LazySettings
from django.utils import timezone

from assay.errors import Refused
from assay.formulas import PLACES
from assay.pools import files as pool_files
from assay.pools.order import ORDERS
from assay.protocols.schema import JudgingOrder
from corpus.models import Collection
from jobs import services as jobs
from jobs.models import Job
from pooling.models import Contribution, Pool, PoolEntry, Run
from pooling.pools import exports as pool_exports
from pooling.pools import rows
from pooling.pools import services as pool_services
from pooling.runs import services as run_services
from tests.helpers.factories import make_track
from tests.helpers.formula_scene import build_formula_scene
from tests.helpers.pool_files import pool
from tests.helpers.runs import TOPICS, run_bytes
from tests.pooling.conftest import Scene
from tracks.models import Topic


def submit_run(scene: Scene, tag: str, *, n: int = 4, first: int = 100, **options: Any) -> Run:
    declared = run_services.Declaration(kind=options.pop("kind", "primary"), **options)
    return run_services.submit(
        track=scene.track,
        team=scene.ours,
        by=scene.organizer,
        file=io.BytesIO(run_bytes(n=n, first=first, tag=tag)),
        file_name=f"{tag}.tsv",
        declared=declared,
    )


def request(scene: Scene, **options: Any) -> Pool:
    options = {"name": "Pool 1", "seed": 7, "depth": {}} | options
    return pool_services.request(track=scene.track, by=scene.organizer, **options)


def build(scene: Scene, **options: Any) -> Pool:
    pool = request(scene, **options)
    assert pool.job is not None
    jobs.run(pool.job.pk)
    pool.refresh_from_db()
    pool.job.refresh_from_db()
    return pool


def test_pool_is_the_union_of_the_top_documents(scene: Scene) -> None:
    first = submit_run(scene, "a")
    second = submit_run(scene, "b", first=102, kind="alternate")

    pool = build(scene, depth={"primary": 3, "alternate": 2})

    assert (pool.status, pool.job.state if pool.job else "") == ("ready", "done")
    entries = PoolEntry.objects.filter(pool=pool, topic__code="A.1").order_by("docno")
    assert [entry.docno for entry in entries] == ["101", "102", "103", "104"]
    assert sorted(entry.position for entry in entries) == [1, 2, 3, 4]
    contributions = Contribution.objects.filter(entry=entries[2]).order_by("run_id")
    assert list(contributions.values_list("run", "rank")) == [(first.pk, 3), (second.pk, 1)]
    assert pool.statistics["n"] == 12
    assert pool.statistics["runs"][0]["run"] == first.pk


def test_pool_records_its_protocol_depths_and_runs(scene: Scene) -> None:
    run = submit_run(scene, "a")

    pool = build(scene, depth={"primary": 3})

    assert pool.protocol_digest == scene.track.protocol.digest
    assert pool.depth == {"primary": 3, "alternate": 20}
    assert list(pool.pool_runs.values_list("run", "sha256", "depth")) == [(run.pk, run.sha256, 3)]


def test_sha256_is_that_of_the_download(scene: Scene) -> None:
    submit_run(scene, "a")
    submit_run(scene, "b", first=110)

    pool = build(scene)

    assert hashlib.sha256(b"".join(pool_exports.pool_lines(pool))).hexdigest() == pool.sha256


def test_contributions_are_sent_topic_by_topic(scene: Scene, django_assert_num_queries: Any) -> None:
    submit_run(scene, "a")
    pool = build(scene)

    with django_assert_num_queries(3):  # the track, its topics, and the contributions to the first
        first = next(pool_exports.contribution_lines(pool))
    with django_assert_num_queries(1 + len(TOPICS)):
        lines = [*pool_exports.contribution_lines(pool)]

    assert lines[0] == first
    assert lines == sorted(lines)
    assert len(lines) == pool.statistics["n"]


def test_contributions_of_a_deleted_pool_are_deleted_in_a_job(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pooling.pools.services.AT_ONCE", 2)
    submit_run(scene, "a")
    first, second = build(scene, name="Pool 1"), build(scene, name="Pool 2")
    kept = set(Contribution.objects.filter(entry__pool=second).values_list("pk", flat=True))
    moved = PoolEntry.objects.filter(pool=first).earliest("pk")  # as if both had been built at the same time
    PoolEntry.objects.filter(pk=moved.pk).update(pool=second, docno="moved", position=99)
    kept |= set(Contribution.objects.filter(entry=moved).values_list("pk", flat=True))

    pool_services.delete(pool=first, by=scene.organizer)
    before = Contribution.objects.count()
    jobs.run(Job.objects.get(kind=pool_services.SWEEP).pk)

    assert Job.objects.get(kind=pool_services.SWEEP).state == Job.State.DONE
    assert set(Contribution.objects.values_list("pk", flat=True)) == kept
    assert before > len(kept)


def test_same_runs_and_seed_give_the_same_pool(scene: Scene) -> None:
    submit_run(scene, "a")
    submit_run(scene, "b", first=110)

    first, second = build(scene), build(scene, name="Pool 2")
    other = build(scene, name="Pool 3", seed=8)

    assert first.sha256 == second.sha256 != other.sha256


def test_entries_refer_to_the_documents_of_a_loaded_collection(scene: Scene) -> None:
    submit_run(scene, "a")

    build(scene)

    entry = PoolEntry.objects.select_related("document").first()
    assert entry is not None
    assert entry.document is not None
    assert entry.document.docno == entry.docno


def test_docnos_are_pooled_without_a_collection(scene: Scene) -> None:
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


def test_pool_contains_the_runs_at_the_time_of_the_request(scene: Scene) -> None:
    run = submit_run(scene, "a")
    pool = request(scene)
    submit_run(scene, "b", first=120)
    run_services.withdraw(run=run, by=scene.member)

    assert pool.job is not None
    jobs.run(pool.job.pk)

    pool.refresh_from_db()
    assert [run["tag"] for run in pool.statistics["runs"]] == ["a"]


def test_withdrawn_run_is_not_pooled(scene: Scene) -> None:
    run_services.withdraw(run=submit_run(scene, "a"), by=scene.member)

    with pytest.raises(Refused, match="has no runs to pool"):
        request(scene)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"name": "Taken"}, "already has a pool named Taken"),
        ({"seed": -1}, "whole number from 0"),
        ({"seed": 2**63}, "whole number from 0"),
        ({"depth": {"phase2": 3}}, "no depth for the kind phase2"),
        ({"depth": {"primary": 0}}, "has no runs to pool"),
    ],
)
def test_impossible_pool_is_refused(scene: Scene, options: dict[str, Any], reason: str) -> None:
    submit_run(scene, "a")
    request(scene, name="Taken")

    with pytest.raises(Refused, match=reason):
        request(scene, **({"name": "New"} | options))

    assert Pool.objects.count() == 1
    assert Job.objects.count() == 1


def test_damaged_columns_fail_the_pool_with_a_reason(scene: Scene) -> None:
    run = submit_run(scene, "a")
    with run.columns.open("wb") as file:
        file.write(b"not npz")

    pool = build(scene)

    assert pool.status == "failed"
    assert pool.job is not None
    assert "The stored columns of the run a cannot be read" in pool.job.error
    assert not PoolEntry.objects.exists()


def test_missing_topic_fails_the_pool(scene: Scene) -> None:
    submit_run(scene, "a")
    Topic.objects.filter(code="A.2").delete()

    pool = build(scene)

    assert (pool.status, PoolEntry.objects.count()) == ("failed", 0)
    assert pool.job is not None
    assert "no longer has the topic A.2" in pool.job.error


def test_job_delivered_again_after_storing_changes_nothing(scene: Scene) -> None:
    submit_run(scene, "a")
    pool = build(scene)
    before = list(PoolEntry.objects.values_list("id", "position"))
    assert pool.job is not None
    Job.objects.filter(pk=pool.job.pk).update(state="running", attempt=5)

    result = pool_services.build(jobs.Progress(pool.job.pk, 5), pool_id=pool.pk)

    assert result == {"pool": pool.pk, "n": 12}
    assert list(PoolEntry.objects.values_list("id", "position")) == before


def test_attempt_that_lost_its_job_stores_nothing(scene: Scene) -> None:
    submit_run(scene, "a")
    pool = request(scene)
    assert pool.job is not None
    Job.objects.filter(pk=pool.job.pk).update(state="running", attempt=2, heartbeat_at=timezone.now())

    with pytest.raises(jobs.JobLost):
        pool_services.build(jobs.Progress(pool.job.pk, 1), pool_id=pool.pk)

    pool.refresh_from_db()
    assert (pool.status, PoolEntry.objects.count(), Contribution.objects.count()) == ("building", 0, 0)


def test_pool_stored_in_small_parts_has_the_same_rows(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    submit_run(scene, "a")
    submit_run(scene, "b", first=110)
    whole = build(scene)
    monkeypatch.setattr(rows, "PART", 7)
    monkeypatch.setattr(pool_files, "PART", 7)

    in_parts = build(scene, name="parts")

    assert in_parts.sha256 == whole.sha256
    for export in (pool_exports.pool_lines, pool_exports.contribution_lines):
        assert list(export(in_parts)) == list(export(whole))


def test_retried_pool_is_built(scene: Scene) -> None:
    run = submit_run(scene, "a")
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


def test_order_of_judging_is_stored_and_in_the_record(scene: Scene) -> None:
    submit_run(scene, "a")

    assert build(scene).order == "random"
    chosen = build(scene, name="Pool 2", order="by-run-votes")
    assert (chosen.order, chosen.status) == ("by-run-votes", "ready")
    assert pool_exports.pool_record(chosen)["order"] == "by-run-votes"


def test_every_order_of_protocols_can_be_stored() -> None:
    assert set(Pool.Order.values) == set(get_args(JudgingOrder)) == set(ORDERS)


def test_top_up_of_an_unfinished_or_foreign_pool_is_refused(scene: Scene) -> None:
    submit_run(scene, "a")
    building = request(scene)

    with pytest.raises(Refused, match="is not ready"):
        request(scene, name="Pool 2", tops_up=building)
    foreign = pool_of_another_track(scene)
    with pytest.raises(Refused, match="cannot be topped up"):
        request(scene, name="Pool 2", tops_up=foreign)


def pool_of_another_track(scene: Scene) -> Pool:
    track = make_track("other")
    return Pool.objects.create(
        track=track, name="Pool", protocol=track.protocol, seed=1, status="ready", created_by=scene.organizer
    )


@pytest.fixture
def folder_of_files(tmp_path: Path, settings: LazySettings) -> None:
    """The folder where the site stores the files of this test."""
    settings.MEDIA_ROOT = tmp_path / "files"


@pytest.mark.django_db
@pytest.mark.usefixtures("folder_of_files")
def test_pool_of_formulas_has_the_bytes_of_the_pool_on_the_site(tmp_path: Path) -> None:
    scene = build_formula_scene()
    runs = [scene.submit("a", [4 * i for i in range(12)]), scene.submit("b", [12, 0, 3, 8], team=1)]
    rows = scene.collection.formulas.values_list("code", "post", "thread", "place", "visual", "latex")
    index = (
        f"{code}\t{post}\t{thread}\t{PLACES[place]}\t{visual}\t{latex}\n"
        for code, post, thread, place, visual, latex in rows
    )
    (tmp_path / "index.tsv").write_text("".join(index))
    lines = ["file,team,tag,kind"]
    for run in runs:
        with run.original.open("rb") as original:
            (tmp_path / f"{run.tag}.tsv").write_bytes(original.read())
        lines.append(f"{run.tag}.tsv,{run.team.name},{run.tag},{run.kind}")
    (tmp_path / "m.csv").write_text("\n".join(lines))

    pool(tmp_path, "--formulas", str(tmp_path / "index.tsv"))
    built = pool_services.request(track=scene.track, name="P", seed=7, depth={}, by=scene.organizer)
    assert built.job_id is not None
    jobs.run(built.job_id)

    record = json.loads((tmp_path / "pool.tsv.json").read_text())
    built.refresh_from_db()
    assert built.sha256 == record["sha256"]
    assert built.statistics["members"] == record["members"]
