"""`manage.py demo`: what it makes, that it may be repeated, and that it survives being killed."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import User
from assay.cli.main import main
from assay.errors import Refused
from assessment.models import Batch, Judgment, TopicAssignment
from corpus.models import Collection, Document, Import
from demo import campaign, content, judging, make_runs, people
from jobs import services as jobs
from jobs.models import Job
from participation.models import Team
from pooling.models import Pool, PoolEntry, Run
from pooling.runs import services as run_services
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Leaderboard, Qrels, Score
from tests.fixtures import Factory, wait_until
from tests.helpers.factories import make_track
from tracks.models import Topic, Track

SECOND_START_QUERIES = 60  # creating a campaign takes thousands


@jobs.handler("tests.demo.fails")
def _fails(progress: jobs.Progress, /) -> dict[str, Any]:
    raise Refused("It is a Friday.")


def demo(**options: str) -> str:
    out = StringIO()
    call_command("demo", stdout=out, **options)
    return out.getvalue()


def all_rows() -> dict[str, list[dict[str, Any]]]:
    """Every row of our apps, to see that nothing has changed."""
    models = [
        model
        for label in ("corpus", "pooling", "assessment", "scoring")
        for model in apps.get_app_config(label).get_models()
    ]
    return {model._meta.label: list(model._default_manager.order_by("pk").values()) for model in models}


def log_in(username: str, password: str) -> bool:
    answer = Client().post("/login/", {"username": username, "password": password})
    return answer.status_code == 302


def judged_by_topic(slug: str) -> dict[str, tuple[int, int]]:
    """Topic -> (judged in the main round, size of the pool)."""
    track = Track.objects.get(slug=slug)
    return {
        topic.code: (
            Judgment.objects.filter(topic=topic, batch__name=campaign.BATCH, is_current=True).count(),
            PoolEntry.objects.filter(topic=topic).count(),
        )
        for topic in Topic.objects.filter(track=track)
    }


def test_demo_creates_a_finished_track_and_one_in_progress_once(
    transactional_db: None, tmp_path: Path
) -> None:
    demo(password="for-this-test")

    check_content()
    check_baselines(Track.objects.get(slug="demo-2025"), tmp_path)
    check_second_demo()


def check_content() -> None:
    assert all(log_in(username, "for-this-test") for username in people.USERNAMES)
    assert User.objects.get(username=people.ORGANIZER).is_organizer
    assert Document.objects.filter(collection__slug=campaign.COLLECTION).count() >= 80
    assert set(Collection.objects.values_list("status", flat=True)) == {Collection.Status.READY}
    assert all(topic.thread and topic.labels for topic in Topic.objects.all())
    assert set(Job.objects.values_list("state", flat=True)) == {Job.State.DONE}
    over, under_way = Track.objects.get(slug="demo-2025"), Track.objects.get(slug="demo-2026")
    for track in (over, under_way):
        assert track.topics.count() >= 6
        systems = make_runs.systems_of(int(track.slug.removeprefix("demo-")))
        assert Run.objects.filter(track=track).count() == len(systems) + len(campaign.BASELINES)
        teams = {system.team for system in systems}
        assert Team.objects.filter(track=track).count() == len(teams) + bool(campaign.BASELINES)
        assert track.guidelines is not None
        assert track.guidelines.html.count("worked-example") == 2
        assert {judgment.guidelines for judgment in Judgment.objects.filter(batch__pool__track=track)} == {
            track.guidelines
        }
        assert set(track.assessors.values_list("user__username", flat=True)) == set(people.ASSESSORS)
        assert set(
            TopicAssignment.objects.filter(batch__pool__track=track).values_list(
                "assessor__username", flat=True
            )
        ) == set(people.ASSESSORS)
    assert over.status == Track.Status.CLOSED
    assert all(judged == size for judged, size in judged_by_topic("demo-2025").values())
    assert under_way.status == Track.Status.OPEN
    shares = {code: judged / size for code, (judged, size) in judged_by_topic("demo-2026").items()}
    assert [code for code, share in shares.items() if share == 1] == ["A.201", "A.202", "A.203"]
    assert [code for code, share in shares.items() if 0 < share < 1] == ["A.205"]
    check_qrels(over)
    check_leaderboard(over)
    check_runs()


def check_qrels(track: Track) -> None:
    qrels = Qrels.objects.get(track=track)

    codes = set(track.topics.values_list("code", flat=True))
    assert set(qrels.entries.values_list("topic", flat=True)) == codes - {"A.106"}
    assert not qrels.entries.filter(topic="A.102", docno="1073").exists()  # a system failure is no grade
    assert qrels.entries.get(topic="A.103", docno="1072").grade == 2  # the second opinion does not count
    truth = content.truth()
    graded = {(entry.topic, entry.docno): entry.grade for entry in qrels.entries.all()}
    assert {key: grade for key, grade in graded.items() if grade >= 2} == {
        key: grade for key, grade in truth.items() if grade >= 2 and key in graded
    }


def check_leaderboard(track: Track) -> None:
    board = Leaderboard.objects.get(track=track)
    means = Score.objects.filter(evaluation__leaderboard=board, topic="all")

    assert board.release == Leaderboard.Release.PUBLIC
    assert board.status == Leaderboard.Status.READY
    for measure in ("nDCG'", "AP(rel=2)'"):
        of_measure = means.filter(measure=measure).order_by("-value")
        ranked = list(of_measure.values_list("evaluation__run__tag", flat=True))
        of_both_years = [system.tag for system in make_runs.systems_of(2026)]
        assert [tag for tag in ranked if tag in of_both_years] == of_both_years, measure
        assert ranked[0] == "abacus-primary"  # the best team is above the baselines
    page = Client().get(board.get_absolute_url()).content.decode()
    assert ("Above the strongest baseline" in " ".join(page.split())) == bool(campaign.BASELINES)


def check_baselines(track: Track, tmp_path: Path) -> None:
    """The baselines are what the command makes of the demo's files, and everybody may download them."""
    content.write_dump(content.collection(), tmp_path)
    posts, topics = tmp_path / "Posts.xml", tmp_path / "topics.xml"
    topics.write_bytes(content.topic_file(content.topic_threads(2025)))
    for method in campaign.BASELINES:
        run, made = Run.objects.get(track=track, tag=method), tmp_path / f"{method}.tsv"
        paths = ["--topics", str(topics), "--collection", str(posts), "--output", str(made)]
        options = ["--depth", str(campaign.BASELINE_DEPTH), "--processes", "1", "--quiet"]
        assert main(["baseline", method, "--protocol", campaign.PROTOCOL, *paths, *options]) == 0
        address = reverse("tracks:download", args=[track.slug, f"{track.slug}-{method}.tsv"])
        assert run.kind == "baseline"
        assert b"".join(Client().get(address)) == made.read_bytes()


def check_runs() -> None:
    reports = {run.tag: run.report for run in Run.objects.filter(track__slug="demo-2025")}

    assert all(not report["errors"] for report in reports.values())
    assert [tag for tag, report in reports.items() if report["warnings"]] == ["lemma-manual"]
    assert len(reports["lemma-manual"]["warnings"]) >= 2  # ties, and a topic without an answer


def test_remarks_and_opinions_are_of_pooled_answers(transactional_db: None) -> None:
    named = {*judging.REMARKS, *((topic, docno) for _, topic, docno in judging.OPINIONS)}

    ranked = {
        tuple(line.split("\t")[:2])
        for year in make_runs.YEARS
        for system in make_runs.systems_of(year)
        for line in make_runs.run_lines(system, year)
    }

    assert named <= ranked


def check_second_demo() -> None:
    """A second demo changes nothing and needs few queries, whatever users have changed."""
    run_services.withdraw(
        run=Run.objects.get(track__slug="demo-2026", tag="abacus-text"), by=User.objects.get(username="pat")
    )
    organizer = User.objects.get(username=people.ORGANIZER)
    leaderboard_services.release(
        leaderboard=Leaderboard.objects.get(), level=Leaderboard.Release.HIDDEN, by=organizer
    )
    before = all_rows()

    with CaptureQueriesContext(connection) as asked:
        output = demo()

    assert len(asked) < SECOND_START_QUERIES
    assert "nothing was changed" in output
    assert all_rows() == before


@pytest.mark.nightly
def test_demo_that_was_killed_again_and_again_is_completed_by_the_next(fork: Factory, tmp_path: Path) -> None:
    moments = {
        "import": lambda: Import.objects.filter(position__gt=0).exists(),
        "runs": lambda: Run.objects.count() >= 2,
        "judging": lambda: Batch.objects.filter(status=Batch.Status.OPEN).exists(),
    }

    for moment, is_reached in moments.items():
        running = fork(["manage.py", "demo"], tmp_path / f"{moment}.log")
        wait_until(is_reached, reason=running.output)
        running.kill()
        assert not campaign.is_complete(), moment
    last = fork(["manage.py", "demo"], tmp_path / "last.log")

    assert last.process.wait(timeout=120) == 0, last.output()
    assert campaign.is_complete()
    runs_of_teams = sum(len(make_runs.systems_of(year)) for year in make_runs.YEARS)
    assert Run.objects.count() == runs_of_teams + 2 * len(campaign.BASELINES)
    assert Pool.objects.count() == 2
    assert Batch.objects.count() == 3
    assert all(judged == size for judged, size in judged_by_topic("demo-2025").values())
    assert Judgment.objects.filter(replaces__isnull=False).count() == 0
    assert Leaderboard.objects.get().release == Leaderboard.Release.PUBLIC


def test_logins_of_other_people_are_not_taken_over(db: None) -> None:
    User.objects.create_user("ada", email="ada@university.example", password="hers")

    with pytest.raises(CommandError, match="user ada does not belong to the demo"):
        demo()

    assert log_in("ada", "hers")
    assert User.objects.count() == 1


def test_password_is_public_only_with_the_embedded_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://db.example/assay")
    assert people.password_for_new() != people.password_for_new()
    assert people.PASSWORD not in " ".join(people.lines())

    monkeypatch.setenv("DATABASE_URL", "")
    assert people.password_for_new() == people.PASSWORD
    assert people.PASSWORD in " ".join(people.lines())


def test_failed_job_ends_the_demo_with_its_reason(transactional_db: None) -> None:
    job = jobs.request(kind="tests.demo.fails", title="Try", arguments={}, by=None, subject=make_track("try"))

    with pytest.raises(Refused, match=r"Try.* failed\. It is a Friday\."):
        campaign.finish(job)


def test_demo_does_not_wait_endlessly_for_a_job_of_a_worker(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = jobs.request(kind="tests.demo.fails", title="Try", arguments={}, by=None, subject=make_track("try"))
    jobs._claim(job.pk)
    monkeypatch.setattr(campaign, "WAIT_SECONDS", 0.3)

    with pytest.raises(Refused, match="did not finish within"):
        campaign.finish(job)
