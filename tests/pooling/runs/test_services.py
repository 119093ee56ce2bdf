"""Submitting and withdrawing runs: each rule, each refusal, and no files left behind."""

import hashlib
import io
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import IntegrityError, connection, transaction

from accounts.models import Event
from assay.errors import Refused
from assay.formats.declaration import Declaration
from assay.formats.runs import columns
from corpus.models import Collection
from participation.models import Team
from participation.teams import services as team_services
from pooling.errors import (
    RunRefused,
    SameBytes,
    SubmissionRefused,
    TagTaken,
)
from pooling.models import Run
from pooling.runs import services as run_services
from tests.helpers.factories import make_deadline, make_track
from tests.helpers.runs import BROKEN, GOOD, run_bytes
from tests.pooling.conftest import Scene, build_scene
from tracks.models import Track
from tracks.tracks import services as track_services

PRIMARY = Declaration(kind="primary")


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good run.tsv"
    path.write_bytes(GOOD)
    return path


def submit(scene: Scene, data: bytes = GOOD, **options: Any) -> Run:
    options = {
        "track": scene.track,
        "team": scene.ours,
        "by": scene.member,
        "file": io.BytesIO(data),
        "file_name": "run.tsv",
        "declared": PRIMARY,
    } | options
    return run_services.submit(**options)


# ---- what is stored


def test_submitted_run_keeps_its_bytes_and_columns(scene: Scene, good: Path) -> None:
    run = scene.submit(good, is_manual=True, uses="math", description="How.")

    with run.original.open("rb") as file:
        assert file.read() == GOOD
    with run.columns.open("rb") as file:
        assert columns.load(file).docno.tolist()[:2] == [b"101", b"102"]
    assert run.sha256 == hashlib.sha256(GOOD).hexdigest()
    assert (run.tag, run.n_lines, run.n_topics, run.file_name) == ("run-1", 12, 3, "good run.tsv")
    assert (run.is_manual, run.uses, run.description) == (True, "math", "How.")
    assert len(scene.files()) == 2


def test_stored_names_are_random(scene: Scene, good: Path) -> None:
    run = scene.submit(good)

    assert "good" not in run.original.name
    assert len(Path(run.original.name).name) == 32


def test_declared_tag_replaces_that_of_the_file(scene: Scene) -> None:
    assert submit(scene, declared=Declaration(kind="primary", tag="better")).tag == "better"


def test_checking_stores_nothing(scene: Scene) -> None:
    checked = run_services.check(track=scene.track, file=io.BytesIO(GOOD), file_name="run.tsv")

    assert checked.report.is_acceptable
    assert not Run.objects.exists()
    assert scene.files() == []


def test_broken_file_stores_nothing(scene: Scene) -> None:
    for broken in (BROKEN["score NaN"], BROKEN["gz bomb"], BROKEN["zip encrypted"]):
        with pytest.raises(RunRefused) as refusal:
            submit(scene, broken.make(), file_name=broken.file_name)

        assert broken.code in [error.code for error in refusal.value.checked.report.errors]
        assert refusal.value.message
    assert not Run.objects.exists()
    assert scene.files() == []


def test_failed_transaction_removes_the_files(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(**fields: object) -> Run:
        raise IntegrityError("no")

    monkeypatch.setattr(Run.objects, "create", fails)
    with pytest.raises(IntegrityError):
        submit(scene)

    assert scene.files() == []


def test_files_are_stored_before_the_track_is_locked(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers_of_files = []
    lock = track_services.lock

    def count_and_lock(track_id: int) -> Track:
        numbers_of_files.append(len(scene.files()))
        return lock(track_id)

    monkeypatch.setattr(track_services, "lock", count_and_lock)
    submit(scene)

    assert numbers_of_files == [2]


def test_failed_storage_leaves_no_file(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    save = default_storage._wrapped.save  # type: ignore[attr-defined]

    def save_or_fail(name: str, content: Any, **options: Any) -> str:
        if "columns" in name:
            raise OSError("disk full")
        return str(save(name, content, **options))

    monkeypatch.setattr(default_storage._wrapped, "save", save_or_fail)  # type: ignore[attr-defined]
    with pytest.raises(Refused, match="disk full"):
        submit(scene)

    assert scene.files() == []
    assert not Run.objects.exists()


# ---- who may submit what and when


def test_stranger_may_not_submit_for_a_team(scene: Scene) -> None:
    for user in (scene.stranger, scene.other, scene.assessor):
        with pytest.raises(SubmissionRefused, match="is not a member of Ours"):
            submit(scene, by=user)


def test_organizer_submits_for_any_team(scene: Scene) -> None:
    run = submit(scene, by=scene.organizer)

    assert (run.team, run.submitted_by) == (scene.ours, scene.organizer)


def test_run_that_an_organizer_submits_for_a_team_is_in_the_audit_log(scene: Scene) -> None:
    submit(scene, by=scene.member)
    run = submit(scene, run_bytes(tag="run-2", first=120), by=scene.organizer)

    event = Event.objects.get(action="run.submitted-for-team")
    assert (event.by, event.subject, event.details["team"]) == (scene.organizer, str(run), "Ours")


def test_team_of_another_track_is_refused(scene: Scene) -> None:
    elsewhere = team_services.create(track=make_track(), name="Elsewhere", members=[scene.member])

    with pytest.raises(SubmissionRefused, match="Elsewhere is not a team of ARQ"):
        submit(scene, team=elsewhere)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"status": Track.Status.DRAFT}, "the track is not open yet"),
        ({"status": Track.Status.CLOSED}, "the track is closed"),
    ],
)
def test_runs_are_neither_submitted_nor_withdrawn_unless_the_track_is_open(
    scene: Scene, fields: dict[str, Any], reason: str
) -> None:
    run = submit(scene)
    Track.objects.filter(pk=scene.track.pk).update(**fields)
    scene.track.refresh_from_db()

    with pytest.raises(SubmissionRefused, match=reason):
        submit(scene, run_bytes(tag="run-2"))
    with pytest.raises(Refused, match=reason):
        run_services.withdraw(run=run, by=scene.member)

    assert len(scene.files()) == 2


def test_late_run_is_accepted_in_the_grace_period_and_marked(scene: Scene) -> None:
    make_deadline(scene.track, closes_at=-60, grace_minutes=5)
    make_deadline(scene.track, "alternate", closes_at=-60)

    late = submit(scene)
    with pytest.raises(SubmissionRefused, match="alternate runs closed on"):
        submit(scene, run_bytes(tag="run-2"), declared=Declaration(kind="alternate"))

    assert late.is_late
    assert run_services.withdraw(run=late, by=scene.member).status == Run.Status.WITHDRAWN


def test_run_that_arrived_in_time_is_in_time_however_long_its_check_takes(scene: Scene) -> None:
    closed_at = make_deadline(scene.track, closes_at=-60).closes_at
    arrived_at = closed_at - timedelta(seconds=30)

    run = submit(scene, arrived_at=arrived_at)
    with pytest.raises(SubmissionRefused, match="closed on"):
        submit(scene, run_bytes(tag="run-2"), arrived_at=closed_at + timedelta(seconds=30))
    assert Track.objects.get().status == Track.Status.CLOSED
    submit(scene, run_bytes(tag="run-3"), arrived_at=arrived_at)
    track_services.close(track=scene.track)
    with pytest.raises(SubmissionRefused, match="closed"):
        submit(scene, run_bytes(tag="run-4"), arrived_at=arrived_at)

    assert (run.is_late, run.submitted_at) == (False, arrived_at)


def test_draft_accepts_runs_from_its_opening_time_on(scene: Scene) -> None:
    Track.objects.update(status=Track.Status.DRAFT)
    make_deadline(scene.track, opens_at=-1, closes_at=60)

    run = submit(scene)

    assert not run.is_late
    assert Track.objects.get(pk=scene.track.pk).status == Track.Status.OPEN


def test_track_closed_during_the_check_refuses_the_run(scene: Scene) -> None:
    stale = Track.objects.get(pk=scene.track.pk)
    Track.objects.filter(pk=scene.track.pk).update(status=Track.Status.CLOSED)

    with pytest.raises(SubmissionRefused, match="the track is closed"):
        submit(scene, track=stale)

    assert scene.files() == []


def test_kind_outside_the_protocol_is_refused(scene: Scene) -> None:
    with pytest.raises(
        SubmissionRefused, match="Unknown kind of run 'phase2'; ARQ accepts primary, alternate, baseline"
    ):
        submit(scene, declared=Declaration(kind="phase2"))


def test_kind_of_organizers_is_refused_from_others(scene: Scene) -> None:
    baseline = Declaration(kind="baseline", pooled_as="alternate")

    with pytest.raises(SubmissionRefused, match="Only organizers submit baseline runs"):
        submit(scene, declared=baseline)

    assert submit(scene, declared=baseline, by=scene.organizer).pooled_as == "alternate"


@pytest.mark.parametrize(("kind", "pooled_as"), [("primary", "alternate"), ("baseline", "baseline")])
def test_run_is_pooled_as_another_kind_only_where_the_protocol_says_so(
    scene: Scene, kind: str, pooled_as: str
) -> None:
    with pytest.raises(SubmissionRefused, match="use primary or alternate, and only for baseline runs"):
        submit(scene, by=scene.organizer, declared=Declaration(kind=kind, pooled_as=pooled_as))


@pytest.mark.parametrize("tag", ["two words", "x" * 101, "tab\there", "\u202edrow"])
def test_tag_is_one_printable_word(scene: Scene, tag: str) -> None:
    with pytest.raises(SubmissionRefused, match="use one word of at most"):
        submit(scene, declared=Declaration(kind="primary", tag=tag))


def test_refusal_of_a_repeated_file_names_the_earlier_run(scene: Scene) -> None:
    first = submit(scene)

    with pytest.raises(SameBytes, match="already submitted this file as run-1") as refusal:
        submit(scene, declared=Declaration(kind="alternate", tag="other"))

    assert refusal.value.earlier == first
    assert len(scene.files()) == 2


def test_two_teams_may_submit_the_same_file_under_two_tags(scene: Scene) -> None:
    submit(scene)

    assert submit(
        scene, team=scene.theirs, by=scene.other, declared=Declaration(kind="primary", tag="theirs")
    )


def test_taken_tag_is_refused(scene: Scene) -> None:
    submit(scene)

    with pytest.raises(TagTaken, match="run-1"):
        submit(scene, run_bytes(n=3), team=scene.theirs, by=scene.other)


@pytest.mark.django_db(transaction=True)
def test_two_submissions_at_once_of_one_tag_give_one_run(folder: Path) -> None:
    scene = build_scene()
    start = threading.Barrier(2)
    outcomes: list[str] = []

    def submit_for(team: Team, by: Any, n: int) -> None:
        try:
            start.wait()
            submit(scene, run_bytes(n=n), team=team, by=by)
            outcomes.append("stored")
        except TagTaken:
            outcomes.append("refused")
        finally:
            connection.close()

    threads = [
        threading.Thread(target=submit_for, args=[scene.ours, scene.member, 3]),
        threading.Thread(target=submit_for, args=[scene.theirs, scene.other, 4]),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(outcomes) == ["refused", "stored"]
    assert Run.objects.count() == 1
    assert len(scene.files()) == 2


@pytest.mark.django_db(transaction=True)
def test_two_submissions_at_once_do_not_exceed_the_disk_limit(folder: Path, settings: Any) -> None:
    scene = build_scene()
    stored = submit(scene, run_bytes(n=3))
    settings.TEAM_MAX_BYTES = int(stored.n_bytes * 2.5)
    start = threading.Barrier(2)
    outcomes: list[str] = []

    def submit_another(tag: str) -> None:
        try:
            start.wait()
            submit(scene, run_bytes(n=3, tag=tag))
            outcomes.append("stored")
        except SubmissionRefused:
            outcomes.append("refused")
        finally:
            connection.close()

    threads = [threading.Thread(target=submit_another, args=[tag]) for tag in ("run-2", "run-3")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(outcomes) == ["refused", "stored"]
    assert len(scene.files()) == 4


@pytest.mark.parametrize(
    ("keys", "phase", "message"),
    [
        (
            "max_per_team = 2",
            "",
            "Ours already has 2 primary runs, and ARQ accepts no more. Withdraw one of them",
        ),
        (
            'phase = "test"',
            '[[runs.phase]]\nkey = "test"\nmax_per_day = 2\n\n',
            "Ours cannot submit another run today: ",
        ),
    ],
)
@pytest.mark.django_db(transaction=True)
def test_two_submissions_at_once_for_the_last_place_of_a_quota_give_one_run(
    folder: Path, keys: str, phase: str, message: str
) -> None:
    scene = build_scene()
    protocol = scene.track.protocol
    protocol.text = protocol.text.replace("depth = 50\n", f"depth = 50\n{keys}\n")
    protocol.text = protocol.text.replace("[pool]\n", f"{phase}[pool]\n")
    protocol.digest = "f" * 64
    protocol.save()
    scene.track.refresh_from_db()
    submit(scene)
    start = threading.Barrier(2)
    outcomes: list[str] = []

    def submit_another(tag: str, first: int) -> None:
        try:
            start.wait()
            submit(scene, run_bytes(first=first, tag=tag))
            outcomes.append("stored")
        except SubmissionRefused as refusal:
            outcomes.append(refusal.message)
        finally:
            connection.close()

    threads = [threading.Thread(target=submit_another, args=[f"run-{n}", 100 + n]) for n in (2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    refused, stored = sorted(outcomes)
    assert refused.startswith(message)
    assert stored == "stored"
    assert Run.objects.count() == 2
    assert len(scene.files()) == 4


def test_database_enforces_unique_tags(scene: Scene) -> None:
    run = submit(scene)
    run.pk = None
    run.sha256 = "0" * 64

    with pytest.raises(IntegrityError, match="run_tag_unique"), transaction.atomic():
        run.save(force_insert=True)


# ---- the collection


def test_id_outside_the_collection_is_refused(scene: Scene) -> None:
    with pytest.raises(RunRefused) as refusal:
        submit(scene, GOOD.replace(b"\t102\t", b"\t999\t", 1))

    (error,) = refusal.value.checked.report.errors
    assert (error.code, error.where) == ("unknown-document", "line 2")


def test_question_is_not_an_answer(scene: Scene) -> None:
    with pytest.raises(RunRefused) as refusal:
        submit(scene, GOOD.replace(b"\t102\t", b"\t1\t", 1))

    assert [error.code for error in refusal.value.checked.report.errors] == ["wrong-unit"]


def test_docnos_are_not_looked_up_in_an_unfinished_collection(scene: Scene) -> None:
    assert scene.track.collection is not None
    scene.track.collection.status = Collection.Status.IMPORTING
    scene.track.collection.save()

    assert submit(scene, GOOD.replace(b"\t102\t", b"\t999\t", 1))


def test_lookup_of_many_docnos_takes_few_queries(scene: Scene, django_assert_max_num_queries: Any) -> None:
    data = run_bytes([f"A.1\td{i}\t{i}\t{-i}\trun-1" for i in range(1, 1001)])

    with django_assert_max_num_queries(4):
        checked = run_services.check(track=scene.track, file=io.BytesIO(data), file_name="run.tsv")

    assert [error.n for error in checked.report.errors] == [1000]


# ---- withdrawal


def test_withdrawn_run_is_kept_but_its_tag_and_file_can_be_submitted_again(scene: Scene) -> None:
    run = run_services.withdraw(run=submit(scene), by=scene.member)

    assert (run.status, run.withdrawn_by) == ("withdrawn", scene.member)
    assert len(scene.files()) == 2
    assert submit(scene).tag == run.tag


def test_run_is_withdrawn_once(scene: Scene) -> None:
    run = submit(scene)
    run_services.withdraw(run=run, by=scene.member)

    with pytest.raises(Refused, match="is already withdrawn"):
        run_services.withdraw(run=run, by=scene.member)


def test_another_team_cannot_withdraw_a_run(scene: Scene) -> None:
    run = submit(scene)

    for user in (scene.other, scene.stranger, scene.assessor):
        with pytest.raises(Refused, match="is not a member"):
            run_services.withdraw(run=run, by=user)
