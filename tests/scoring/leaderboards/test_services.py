import csv
import json
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.core.files.base import ContentFile
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from accounts.models import User
from assay.measures.scores import ALL
from assay_extensions.analyses.site import services as analysis_services
from jobs import services as jobs
from jobs.models import Job
from pooling.models import Run
from pooling.runs import changes
from pooling.runs import services as runs
from scoring.errors import LeaderboardRefused
from scoring.leaderboards import schedules, services
from scoring.leaderboards import services as leaderboard_services
from scoring.leaderboards.files import leaderboard_file
from scoring.leaderboards.selectors import board_rows
from scoring.models import Evaluation, Leaderboard, ScheduledRelease, Score
from tests.helpers.letters import deliver_at_once
from tests.helpers.real_files import KNOWN, real_qrels
from tests.scoring.conftest import Scene
from tracks.models import Track
from tracks.tracks import services as track_services
from web.times import now

MEASURES = ["nDCG'", "AP(rel=2)'", "P(rel=2)@10'", "bpref(rel=2)", "judged@10"]


def means(board: Leaderboard) -> dict[str, list[str]]:
    by_tag: dict[str, list[str]] = {}
    for evaluation in board.evaluations.select_related("run"):
        values = dict(evaluation.scores.filter(topic=ALL).values_list("measure", "value"))
        by_tag[evaluation.run.tag] = [f"{values[measure]:.4f}" for measure in board.measures]
    return by_tag


def test_every_submitted_run_is_scored(scored: Scene) -> None:
    withdrawn = scored.submit(scored.ours, "old", "9 10")
    runs.withdraw(run=withdrawn, by=scored.organizer)

    board = scored.leaderboard()

    assert board.status == Leaderboard.Status.READY
    assert board.measures == MEASURES
    assert set(means(board)) == {"good", "poor"}
    assert means(board)["good"][2] == "0.1000"


def test_evaluation_records_the_topics_of_its_means_and_the_digest_of_the_run(scored: Scene) -> None:
    part = scored.submit_lines(scored.ours, "part", ["A.1 10 1 5 part\n"])

    board = scored.leaderboard()

    evaluation = board.evaluations.get(run=part)
    assert (evaluation.n_topics, evaluation.n_missing, evaluation.run_sha256) == (3, 2, part.sha256)
    assert evaluation.scores.filter(measure="judged@10").count() == 4
    assert evaluation.scores.get(measure="judged@10", topic=ALL).value == pytest.approx(1 / 3)


def test_job_reports_its_progress_and_result(scored: Scene) -> None:
    board = scored.leaderboard()

    assert board.job is not None
    assert board.job.state == Job.State.DONE
    assert board.job.result == {"leaderboard": board.pk, "runs": 2}


def test_a_leaderboard_needs_a_run(scene: Scene) -> None:
    with pytest.raises(LeaderboardRefused, match="ARQ has no runs to score"):
        leaderboard_services.request(qrels=scene.qrels(), by=scene.organizer)


def test_one_leaderboard_at_a_time_is_scored_for_a_version(scored: Scene) -> None:
    qrels = scored.qrels()
    leaderboard_services.request(qrels=qrels, by=scored.organizer)

    with pytest.raises(LeaderboardRefused, match="are already being scored against version 1"):
        leaderboard_services.request(qrels=qrels, by=scored.organizer)


def test_runs_are_scored_again_into_a_leaderboard_of_its_own(scored: Scene) -> None:
    first = scored.leaderboard()
    scored.submit(scored.ours, "late", "é 10")

    second = scored.leaderboard(first.qrels)

    assert set(means(first)) == {"good", "poor"}
    assert set(means(second)) == {"good", "poor", "late"}


def test_a_protocol_that_cannot_be_scored_is_refused(scored: Scene) -> None:
    qrels = scored.qrels()
    stored = scored.track.protocol
    stored.text = stored.text.replace("[scoring]", "[scoring]\ncollapse_instances = true")
    stored.save()

    with pytest.raises(LeaderboardRefused, match=r"scoring\.collapse_instances"):
        leaderboard_services.request(qrels=qrels, by=scored.organizer)


def test_a_lost_file_fails_the_job_with_a_reason_and_stores_nothing(scored: Scene) -> None:
    run = Run.objects.get(tag="poor")
    run.columns.storage.delete(run.columns.name)

    board = scored.leaderboard()

    assert board.status == Leaderboard.Status.FAILED
    assert board.job is not None
    assert "The stored columns of the run poor cannot be read" in board.job.error
    assert not Evaluation.objects.exists()


def test_a_failed_job_that_is_tried_again_makes_the_leaderboard(scored: Scene) -> None:
    run = Run.objects.get(tag="poor")
    with run.columns.open("rb") as stored:
        content = stored.read()
    run.columns.storage.delete(run.columns.name)
    board = scored.leaderboard()
    assert board.job is not None
    run.columns.storage.save(run.columns.name, ContentFile(content))

    jobs.retry(job=board.job)
    board.refresh_from_db()
    assert board.status == Leaderboard.Status.SCORING
    jobs.run(board.job.pk)

    board.refresh_from_db()
    assert board.status == Leaderboard.Status.READY
    assert set(means(board)) == {"good", "poor"}


def test_a_failed_job_waits_while_the_runs_are_scored_again(scored: Scene) -> None:
    Run.objects.filter(tag="poor").update(columns="nowhere.npz")
    failed = scored.leaderboard()
    leaderboard_services.request(qrels=failed.qrels, by=scored.organizer)
    assert failed.job is not None

    with pytest.raises(LeaderboardRefused, match="already being scored"):
        jobs.retry(job=failed.job)

    failed.job.refresh_from_db()
    assert failed.job.state == Job.State.FAILED


def take(job: Job) -> jobs.Progress:
    """A worker's hold of a job, without the worker."""
    job.state, job.attempt = Job.State.RUNNING, job.attempt + 1
    job.save()
    return jobs.Progress(job.pk, job.attempt)


def test_work_done_twice_is_stored_once(scored: Scene) -> None:
    board = leaderboard_services.request(qrels=scored.qrels(), by=scored.organizer)
    assert board.job is not None
    leaderboard_services.score(take(board.job), leaderboard_id=board.pk)
    n_scores = Score.objects.count()

    result = leaderboard_services.score(take(board.job), leaderboard_id=board.pk)

    assert result == {"leaderboard": board.pk, "runs": 2}
    assert (Evaluation.objects.count(), Score.objects.count()) == (2, n_scores)


def test_a_worker_that_lost_the_job_stores_nothing(scored: Scene) -> None:
    board = leaderboard_services.request(qrels=scored.qrels(), by=scored.organizer)
    assert board.job is not None
    lost = take(board.job)
    take(board.job)

    with pytest.raises(jobs.JobLost):
        leaderboard_services.score(lost, leaderboard_id=board.pk)

    board.refresh_from_db()
    assert board.status == Leaderboard.Status.SCORING
    assert not Evaluation.objects.exists()


def test_a_leaderboard_is_hidden_until_released_and_after_its_withdrawal(scored: Scene) -> None:
    board = scored.leaderboard()
    assert (board.release, board.released_at, board.released_by) == ("hidden", None, None)

    released = leaderboard_services.release(
        leaderboard=board, level="participants", by=scored.organizer, reason="A test."
    )
    assert released.released_at is not None
    assert released.released_by == scored.organizer

    hidden = leaderboard_services.release(leaderboard=board, level="hidden", by=scored.organizer)
    assert (hidden.release, hidden.released_at, hidden.released_by) == ("hidden", None, None)


def test_a_release_that_is_asked_for_twice_keeps_its_time(scored: Scene) -> None:
    board = scored.leaderboard(release="public")

    again = leaderboard_services.release(
        leaderboard=board, level="public", by=scored.organizer, reason="A test."
    )

    assert again.released_at == board.released_at


def test_an_unfinished_leaderboard_is_not_released(scored: Scene) -> None:
    board = leaderboard_services.request(qrels=scored.qrels(), by=scored.organizer)

    with pytest.raises(LeaderboardRefused, match="You can release it when it is ready"):
        leaderboard_services.release(leaderboard=board, level="public", by=scored.organizer)


def test_there_is_no_other_level(scored: Scene) -> None:
    with pytest.raises(LeaderboardRefused, match="Use one of: hidden, participants, public"):
        leaderboard_services.release(leaderboard=scored.leaderboard(), level="press", by=scored.organizer)


def test_the_database_keeps_an_unfinished_leaderboard_hidden(scored: Scene) -> None:
    board = leaderboard_services.request(qrels=scored.qrels(), by=scored.organizer)

    with pytest.raises(IntegrityError, match="leaderboard_released_when"), transaction.atomic():
        Leaderboard.objects.filter(pk=board.pk).update(release="public")


def values_in_files(scene: Scene, board: Leaderboard) -> list[dict[str, tuple[str, ...]]]:
    """The first three values of each run, in the JSON file and in the TSV."""
    content = json.loads(leaderboard_file(board, "json"))
    in_json = {
        run["run"]: tuple(f"{run['measures'][name]['value']:.4f}" for name in board.measures[:3])
        for run in content["runs"]
    }
    rows = list(csv.DictReader(StringIO(leaderboard_file(board, "tsv")), delimiter="\t"))
    in_tsv = {row["run"]: tuple(row[name] for name in board.measures[:3]) for row in rows}
    return [in_json, in_tsv]


def test_real_runs_have_their_published_values_through_the_database(scene: Scene, data: Path) -> None:
    for code in {f"A.{n}" for n in range(1, 101)} - set(scene.topics):
        scene.track.topics.create(code=code)
    stored = scene.track.protocol
    stored.text = stored.text.replace('average = "judged"', 'average = "common"')
    stored.save()
    for name in KNOWN:
        with (data / "arqmath" / "runs" / name).open("rb") as file:
            declared = runs.Declaration(kind="primary", tag=name)
            options = {"track": scene.track, "team": scene.ours, "by": scene.organizer, "file_name": name}
            runs.submit(file=file, declared=declared, **options)

    board = scene.leaderboard(scene.qrels(real_qrels(data).read_bytes()))

    assert {name: tuple(values[:3]) for name, values in means(board).items()} == KNOWN
    assert values_in_files(scene, board) == [KNOWN, KNOWN]
    tiers = {row.run.tag: row.cells[0].tier for row in board_rows(scene.organizer, board)}
    best, worst = "scm_ensemble-task1.tsv.gz", "prim_zbMATH-task1-auto-both-P.tsv"
    assert set(tiers[best]).isdisjoint(tiers[worst])
    analysis = analysis_services.request(leaderboard=board, kind="topics", by=scene.organizer)
    jobs.run(analysis.job_id or 0)
    client = Client()
    client.force_login(scene.organizer)
    evaluation = board.evaluations.get(run__tag=best)
    for name, arguments in {
        "scoring:leaderboard": [board.pk],
        "scoring:topics": [board.pk],
        "scoring:topic": [board.pk, "A.1"],
        "analyses:reports": [board.pk],
        "scoring:evaluation": [evaluation.pk],
        "scoring:compare_runs": [evaluation.pk, board.evaluations.get(run__tag=worst).pk],
    }.items():
        assert client.get(reverse(name, args=arguments)).status_code == 200, name


@pytest.fixture
def board(scored: Scene) -> Leaderboard:
    Track.objects.update(status=Track.Status.CLOSED)
    return scored.leaderboard()


def schedule(
    scene: Scene, board: Leaderboard, level: str = "participants", hours: int = 1
) -> ScheduledRelease:
    return schedules.schedule(
        leaderboard=board,
        level=level,
        release_at=now() + timedelta(hours=hours),
        zone="AoE",
        by=scene.organizer,
    )


def let_time_pass() -> None:
    ScheduledRelease.objects.update(release_at=now())


def test_leaderboard_is_released_at_its_time_and_once(scored: Scene, board: Leaderboard) -> None:
    schedule(scored, board)

    early = schedules.release_due()
    let_time_pass()
    released = [schedules.release_due(), schedules.release_due()]

    board.refresh_from_db()
    assert (early, released) == (0, [1, 0])
    assert (board.release, board.released_by) == ("participants", scored.organizer)
    assert not ScheduledRelease.objects.exists()


def test_release_that_is_hindered_keeps_the_reason_and_is_not_tried_again(
    scored: Scene, board: Leaderboard, client: Client
) -> None:
    schedule(scored, board)
    Track.objects.update(status=Track.Status.OPEN)
    let_time_pass()

    assert schedules.release_due() == 0
    Track.objects.update(status=Track.Status.CLOSED)
    assert schedules.release_due() == 0

    client.force_login(scored.organizer)
    page = client.get(board.get_absolute_url()).content.decode()
    assert "It was not released at the set time" in page
    assert "is open for runs" in page


def test_organizer_schedules_and_cancels_on_the_page(
    scored: Scene, board: Leaderboard, client: Client
) -> None:
    client.force_login(scored.organizer)
    address = reverse("scoring:release", args=[board.pk])

    form = {"level": "public", "release_at": "2036-05-01T23:59", "zone": "AoE"}
    page = client.post(address, form, follow=True).content.decode()
    wrong = client.post(address, form | {"release_at": "2020-05-01T23:59"})
    canceled = client.post(reverse("scoring:cancel_release", args=[board.pk]), follow=True).content.decode()

    assert "from 2036-05-01 23:59 AoE (2036-05-02 11:59 UTC)" in page
    assert wrong.status_code == 409
    assert "Cancel the scheduled release" not in canceled
    board.refresh_from_db()
    assert board.release == "hidden"


@pytest.mark.parametrize(
    ("level", "hours", "message"), [("public", -1, "has passed"), ("hidden", 1, "more people")]
)
def test_release_that_cannot_be_is_not_scheduled(
    scored: Scene, board: Leaderboard, level: str, hours: int, message: str
) -> None:
    with pytest.raises(LeaderboardRefused, match=message):
        schedule(scored, board, level, hours)


@pytest.mark.django_db
def test_first_release_is_mailed_once_to_members_who_chose_it_and_without_scores(
    scene: Scene, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for user in (scene.member, scene.other):
        User.objects.filter(pk=user.pk).update(email=f"{user.username}@example.org")
    User.objects.filter(pk=scene.member.pk).update(is_mailed_about_runs=True)
    scene.submit(scene.ours, "good", "10 é 9")
    scene.submit(scene.theirs, "poor", "9 10")
    board = scene.leaderboard()
    deliver_at_once(settings, monkeypatch)

    for level in ("participants", "hidden", "participants", "public"):
        services.release(leaderboard=board, level=level, by=scene.organizer, reason="A test.")

    (letter,) = mail.outbox
    assert letter.to == ["mia@example.org"]
    assert "is released to the track's teams" in letter.body
    assert not any(character in letter.body for character in "0123456789")


def page(board: Leaderboard, user: object) -> str:
    client = Client()
    client.force_login(user)  # type: ignore[arg-type]
    return client.get(board.get_absolute_url()).content.decode()


@pytest.mark.django_db
def test_old_leaderboard_marks_a_disqualified_run_and_a_new_one_names_it(scene: Scene) -> None:
    run = scene.submit(scene.ours, "good", "10 é 9")
    scene.submit(scene.theirs, "poor", "9 10")
    old = scene.leaderboard(release=Leaderboard.Release.PARTICIPANTS)
    track_services.close(track=scene.track)

    changes.disqualify(run=run, reason="It used the qrels.", by=scene.organizer)
    new = scene.leaderboard(old.qrels, release=Leaderboard.Release.PARTICIPANTS)

    before, after = page(old, scene.other), page(new, scene.other)
    assert "disqualified since" in before
    assert "1 run was withdrawn or disqualified after these runs were scored" in " ".join(before.split())
    assert old.evaluations.count() == 2
    assert [evaluation.run.tag for evaluation in new.evaluations.all()] == ["poor"]
    assert "Left out, because it was disqualified before the runs were scored" in " ".join(after.split())
    assert "It used the qrels." not in before + after  # the reason is for the team
    client = Client()
    client.force_login(scene.organizer)
    content = client.get(reverse("scoring:leaderboard_file", args=[new.pk, "json"])).content
    assert [left_out["tag"] for left_out in json.loads(content)["disqualified"]] == ["good"]


@pytest.mark.django_db
def test_team_reads_its_scores_with_its_runs_after_the_release_only(scene: Scene) -> None:
    run = scene.submit(scene.ours, "good", "10 é 9")
    scene.submit(scene.theirs, "poor", "9 10")
    board = scene.leaderboard()
    client = Client()
    client.force_login(scene.member)
    addresses = [reverse("pooling:team_runs", args=[scene.track.slug, scene.ours.pk]), run.get_absolute_url()]

    before = [client.get(address).content.decode() for address in addresses]
    Leaderboard.objects.filter(pk=board.pk).update(release="participants", released_at=board.created_at)
    after = [client.get(address).content.decode() for address in addresses]

    own = board.evaluations.get(run=run)
    for hidden, shown in zip(before, after, strict=True):
        assert "Scores</h2>" not in hidden
        assert own.get_absolute_url() in shown
        assert board.get_absolute_url() in shown
        assert "poor" not in shown
