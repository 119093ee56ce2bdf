"""A small campaign with everything that an archive contains."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.db import transaction

from accounts.models import User
from assay.html.sanitize import clean_body
from assay_extensions.analyses.site import services as analysis_services
from assay_extensions.machines.site import services as machine_services
from assessment.imports import staging
from assessment.judging import services as task_services
from jobs import services as jobs
from jobs.models import Job
from participation.models import Nomination, Team
from pooling.models import Pool, Run
from pooling.pools import services as pool_services
from pooling.runs import changes
from pooling.runs import services as run_services
from publishing.archives import services
from publishing.models import Archive
from scoring.models import Leaderboard
from scoring.qrels import services as qrels_services
from tests.helpers.judging import accept, judge, make_batch, make_machine
from tests.helpers.remembered import remembered
from tests.scoring.conftest import Scene, build_scene
from tracks.assessors import services as assessor_services
from tracks.guidelines import services as guidelines_services
from tracks.models import Assessor, Machine, Topic, Track
from tracks.tracks import services as track_services


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, settings: LazySettings, tmp_path: Path) -> None:
    """Tests run jobs themselves. Each test has its own folder for files."""
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    monkeypatch.setattr(staging, "PART", 2)  # judgments come in several parts, as those of a large file
    settings.MEDIA_ROOT = tmp_path / "files"


@dataclass
class Campaign:
    """A track whose pool was judged and whose runs were scored."""

    scene: Scene
    board: Leaderboard

    def archive(self, **options: bool | str) -> Archive:
        return archive_of(self.scene.track, self.scene.organizer, **options)

    def file(self, folder: Path, **options: bool | str) -> Path:
        """The file of a new archive."""
        return written(self.archive(**options), folder)


def archive_of(track: Track, by: User, **options: bool | str) -> Archive:
    archive = services.request(track=track, by=by, **options)  # type: ignore[arg-type]
    assert archive.job is not None
    jobs.run(archive.job.pk)
    archive.refresh_from_db()
    archive.job.refresh_from_db()
    assert archive.status == Archive.Status.READY, archive.job.error
    return archive


def written(archive: Archive, folder: Path) -> Path:
    """The file of an archive, in a folder."""
    path = folder / "campaign.zip"
    with archive.file.open("rb") as file:
        path.write_bytes(file.read())
    return path


@remembered
def build_campaign() -> Campaign:
    """Two pools, the second of which tops up the first; a revised judgment; a withdrawn run; a leaderboard."""
    scene = build_scene()
    scene.pool.entries.all().delete()
    scene.pool.delete()
    _describe(scene)
    scene.submit(scene.ours, "good", "10 é 9")
    declared = {
        "description": "BM25 and a proof checker.",
        "is_manual": True,
        "is_late": True,
        "priority": 1,
        "models_used": "Qwen; Qwen; 3 Wh",
    }
    Run.objects.filter(track=scene.track).update(**declared)
    withdrawn = scene.submit(scene.theirs, "slip", "10 11")
    run_services.withdraw(run=withdrawn, by=scene.other)
    scene.submit(scene.theirs, "poor", "x 9 10", kind="alternate")
    scene.pool = _pool(scene, "First")
    batch = scene.batch({scene.ada: list(scene.topics)})
    n = scene.pool.entries.count()
    scene.judge(batch, scene.ada, *(["high", "low", "not-relevant", "high"] * n)[:n])
    task = batch.tasks.earliest("pk")
    judge(task, "medium", comment="on second thoughts", seconds=7)
    late = scene.submit(scene.ours, "late", "11 10", kind="alternate")
    scene.pool = _pool(scene, "Second", tops_up=scene.pool)
    second = make_batch(scene.pool, {scene.bob: list(scene.topics.values())}, judges=1)
    while (task_of_bob := task_services.accept_next(batch=second, assessor=scene.bob)) is not None:
        judge(task_of_bob, "low")
    scene.track.refresh_from_db()
    track_services.close(track=scene.track)
    changes.disqualify(run=late, by=scene.organizer, reason="It used the qrels.")
    jobs.run(Job.objects.get(kind=changes.RECOUNT).pk)
    _judge_by_machine(scene)
    for place, (code, seconds) in enumerate((("A.2", 61.5), ("A.1", None)), 1):
        topic = scene.topics[code]
        Nomination.objects.create(team=scene.ours, topic=topic, place=place, logged_seconds=seconds)
    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)
    board = scene.leaderboard(qrels)
    assessor_services.remove(track=scene.track, user=scene.bob, by=scene.organizer)
    other = scene.qrels(name="Other")
    for kind, versions in (("topics", []), ("reusability", []), ("compare", [other])):
        analysis = analysis_services.request(
            leaderboard=board, kind=kind, by=scene.organizer, versions=versions
        )
        jobs.run(analysis.job_id)  # type: ignore[arg-type]
    return Campaign(scene, board)


def _pool(scene: Scene, name: str, tops_up: Pool | None = None) -> Pool:
    pool = pool_services.request(
        track=scene.track, name=name, seed=3, depth={}, by=scene.organizer, tops_up=tops_up
    )
    assert pool.job is not None
    jobs.run(pool.job.pk)
    pool.refresh_from_db()
    assert pool.status == Pool.Status.READY
    return pool


@pytest.fixture
def campaign(db: None) -> Campaign:
    return build_campaign()


_made: list[bytes] = []  # the campaign takes seconds to build, and its archive never changes


@pytest.fixture
def archive_file(db: None, tmp_path: Path) -> Path:
    """The archive of the campaign, which is not in the database itself."""
    if not _made:
        with transaction.atomic():
            _made.append(build_campaign().file(tmp_path).read_bytes())
            transaction.set_rollback(True)
    path = tmp_path / "campaign.zip"
    path.write_bytes(_made[0])
    return path


def _judge_by_machine(scene: Scene) -> None:
    """A machine judges two units, which count for no qrels of people."""
    machine = make_machine(scene.track, scene.organizer)
    Machine.objects.filter(pk=machine.pk).update(description="One prompt for each grade.", family="Qwen")
    batch = machine_services.start(machine=machine, pool=scene.pool, by=scene.organizer)
    for choice in ("high", "low"):
        judge(accept(batch, machine.assessor.user), choice, comment="As the prompt says.")


def _describe(scene: Scene) -> None:
    """Texts of the track, its topics, teams, runs and guidelines."""
    Track.objects.filter(pk=scene.track.pk).update(
        description="A small campaign.",
        reminder_days=9,
        names_hidden_until=datetime(2020, 5, 1, 12, tzinfo=UTC),
    )
    Assessor.objects.filter(track=scene.track, user=scene.ada).update(group="expert")
    Team.objects.filter(pk=scene.ours.pk).update(organization="Owl Labs")
    Topic.objects.filter(track=scene.track, code="A.1").update(
        body=clean_body("<p>Find $x^2$.</p>"),
        narrative=clean_body("<p>A proof is relevant.</p>"),
        labels={"category": "proof"},
        split="test",
        tags=["algebra"],
        scenario="You learn.",
        criteria="It is a proof.",
        subtopics=[{"number": "1", "text": "A short proof.", "type": "inf"}],
        formula_id="7",
        latex="x^2",
        thread="12",
        known_item="9",
    )
    guidelines_services.publish(
        track=scene.track, text="Judge *well*.", summary="The first.", revision=0, by=scene.organizer
    )
