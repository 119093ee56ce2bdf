"""The page of what the interaction changed: from submitted runs and a time log to the table, the plot and the file."""

import csv
import io
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from assay.formats.qrels.reader import parse_qrels
from jobs import services as jobs
from participation.interaction import services as interaction_services
from participation.models import Team
from participation.teams import services as team_services
from pooling.runs import services as run_services
from scoring.evaluations.selectors import means_of
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Leaderboard
from scoring.qrels import services as qrels_services
from tests.helpers.factories import make_organizer, make_topic, make_track, make_user
from tests.helpers.form_runs import bolt_run
from tests.scoring.conftest import Scene, build_scene
from tracks.models import Assessor, Track

pytestmark = pytest.mark.django_db
QRELS = b"T1 0 bolt-eng-DF-1:2:p2:20:20 2\nT2 0 bolt-eng-DF-1:0:p0:0:20 1\n"


def submit(team: Team, kind: str, content: bytes) -> None:
    run_services.submit(
        track=team.track,
        team=team,
        by=team.members.get(),
        file=io.BytesIO(content.replace(b'run="evaluation"', f'run="{kind}"'.encode())),
        file_name="run.xml",
        declared=run_services.Declaration(kind=kind),
        seconds=io.BytesIO(b"T1 10\nT2 25\n"),
    )


@pytest.fixture
def board(db: None) -> Leaderboard:
    """T1: the evaluation run finds its only relevant citation third, the run after a session of 90 seconds first."""
    track = make_track("forum", protocol="bolt-ir-p3", collection=None)
    for code in ("T1", "T2"):
        make_topic(track, code)
    for name, user in (("Owls", "olive"), ("Hawks", "eve")):
        team = team_services.create(track=track, name=name, members=[make_user(user)])
        submit(team, "evaluation", bolt_run())
    owls = Team.objects.get(name="Owls")
    interaction_services.nominate(team=owls, codes=["T1"], by=owls.members.get())
    interaction_services.log(team=owls, file=io.BytesIO(b"T1 90\n"), by=owls.members.get())
    submit(owls, "post-interaction", bolt_run('score="0.7"', 'score="0.99"'))
    qrels = qrels_services.import_file(
        track=track, columns=parse_qrels(QRELS), file_name="q", by=make_organizer("olga")
    )
    board = leaderboard_services.request(qrels=qrels, by=make_organizer())
    jobs.run(board.job_id or 0)
    board.refresh_from_db()
    return board


def test_page_compares_the_measure_of_the_protocol(board: Leaderboard) -> None:
    """charRprec of T1 rises from 0 to 1; T2 has no session and stays at 1."""
    client = Client()
    client.force_login(make_organizer("otto"))

    page = client.get(reverse("scoring:interaction", args=[board.pk]))
    file = client.get(reverse("scoring:interaction_tsv", args=[board.pk])).getvalue()
    of_program = client.get(reverse("api:leaderboard_interaction", args=[board.pk])).getvalue()
    lines = file.decode().splitlines()

    text = page.content.decode()
    assert of_program == file
    assert "of each team's evaluation run, and of its post-interaction run" in text
    (row,) = page.context["rows"]
    assert (row.team, row.change.mean_seconds) == ("Owls", 90.0)
    assert row.change.interacted[1:] == (0.0, 1.0)
    assert row.change.all_topics == (2, 0.5, 1.0)
    assert page.context["plot"].series == [{"name": "Owls", "values": [None] * 5 + [1.0, 1.0, 1.0]}]
    table = (
        client.get(reverse("scoring:leaderboard_file", args=[board.pk, "tsv"])).content.decode().splitlines()
    )
    content = client.get(reverse("scoring:leaderboard_file", args=[board.pk, "json"])).json()
    assert [line.split("\t")[-1] for line in table] == ["seconds per topic", "17.5", "17.5", "17.5"]
    assert {each["seconds_per_topic"] for each in content["runs"]} == {17.5}
    assert lines == [
        "team\ttopic\tseconds\tbefore\tafter\tchange",
        "Owls\tT1\t90.0\t0.0000\t1.0000\t1.0000",
        "Owls\tinteracted\t90.0\t0.0000\t1.0000\t1.0000",
        "Owls\tall\t\t0.5000\t1.0000\t0.5000",
    ]
    board_page = client.get(board.get_absolute_url()).content.decode()
    assert reverse("scoring:interaction", args=[board.pk]) in board_page


def test_another_team_does_not_see_the_change(board: Leaderboard) -> None:
    leaderboard_services.release(
        leaderboard=board, level="participants", by=make_organizer("otto"), reason="A test."
    )
    client = Client()

    client.force_login(Team.objects.get(name="Owls").members.get())
    assert "Sessions" in client.get(reverse("scoring:interaction", args=[board.pk])).content.decode()
    client.force_login(Team.objects.get(name="Hawks").members.get())
    assert "No team has both" in client.get(reverse("scoring:interaction", args=[board.pk])).content.decode()

    Leaderboard.objects.update(release="public")
    Track.objects.update(names_hidden_until=timezone.now() + timedelta(days=1))
    page = client.get(reverse("scoring:interaction", args=[board.pk])).content.decode()
    file = client.get(reverse("scoring:interaction_tsv", args=[board.pk])).getvalue().decode()
    assert [("Owls" in text, "anon-t-" in text) for text in (page, file)] == 2 * [(False, True)]


@pytest.fixture
def scored() -> Scene:
    """The graduate finds only document 10 relevant, the undergraduate only 9; the partial grades differ too."""
    scene = build_scene("ntcir-12-wikipedia")
    choices = {"relevant": 2, "partially-relevant": 1, "not-relevant": 0}
    assert {row.key: row.value for row in scene.track.protocol.parsed.judging.grades} == choices
    people = (
        (scene.ada, "graduate", ("relevant", "partially-relevant", "not-relevant")),
        (scene.bob, "undergraduate", ("partially-relevant", "relevant", "not-relevant")),
    )
    for user, group, _ in people:
        Assessor.objects.filter(user=user).update(group=group)
    batch = scene.batch({scene.ada: ["A.1"], scene.bob: ["A.1"]})
    for user, _, grades in people:
        scene.judge(batch, user, *grades)
    for team, tag, ranking in (
        (scene.ours, "first", "10 x y z w 9"),
        (scene.theirs, "second", "9 x y z w 10"),
    ):
        lines = [f"A.1 1 {docno} {rank} {-rank} {tag}\n" for rank, docno in enumerate(ranking.split(), 1)]
        scene.submit_lines(team, tag, lines)
    return scene


def score(scene: Scene, client: Client) -> Leaderboard:
    """Freeze the judgments, press "Score the runs" on the page of the version, and run the jobs."""
    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)
    client.force_login(scene.organizer)
    client.post(reverse("scoring:score", args=[qrels.pk]))
    for board in Leaderboard.objects.order_by("pk"):
        assert board.job_id is not None
        jobs.run(board.job_id)
    return Leaderboard.objects.get(qrels=qrels)


def test_scoring_a_version_scores_the_same_runs_by_each_group(scored: Scene, client: Client) -> None:
    board = score(scored, client)

    by_group = {each.qrels.report.get("group", ""): each for each in Leaderboard.objects.all()}
    assert board.measures[0] == "P(rel=3)@5"
    assert by_group["graduate"].measures[0] == "P(rel=2)@5"
    values = {
        group: {
            evaluation.run.tag: means_of(each)[evaluation.pk][each.measures[0]]
            for evaluation in each.evaluations.all()
        }
        for group, each in by_group.items()
    }
    assert values == {
        "": {"first": 0.2, "second": 0.2},
        "graduate": {"first": 0.2, "second": 0.0},
        "undergraduate": {"first": 0.0, "second": 0.2},
    }


def test_page_and_file_show_the_groups_side_by_side(scored: Scene, client: Client) -> None:
    board = score(scored, client)

    linked = client.get(board.get_absolute_url()).content.decode()
    page = client.get(reverse("scoring:groups", args=[board.pk])).content.decode()
    file = client.get(reverse("scoring:groups_file", args=[board.pk])).content.decode()
    of_program = client.get(reverse("api:leaderboard_groups", args=[board.pk])).content.decode()

    assert of_program == file
    assert reverse("scoring:groups", args=[board.pk]) in linked
    assert "P(rel=3)@5" in page
    assert "P(rel=2)@5" in page
    assert "-1.0000" in page.replace("\N{MINUS SIGN}", "-")
    rows = list(csv.DictReader(io.StringIO(file)))
    assert {
        "team": "Ours",
        "run": "first",
        "group": "graduate",
        "measure": "P(rel=2)@5",
        "value": "0.2000",
    } in rows
    assert len(rows) == 2 * 3 * len(board.measures)


def test_teams_see_only_the_groups_that_are_released_to_them(scored: Scene, client: Client) -> None:
    board = score(scored, client)
    leaderboard_services.release(leaderboard=board, level="public", by=scored.organizer, reason="Test")
    client.logout()

    page = client.get(reverse("scoring:groups", args=[board.pk])).content.decode()

    assert "All judgments" in page
    assert "ndergraduate" not in page
    assert "Ours" in page

    Track.objects.update(names_hidden_until=timezone.now() + timedelta(days=1))
    page = client.get(reverse("scoring:groups", args=[board.pk])).content.decode()
    file = client.get(reverse("scoring:groups_file", args=[board.pk])).content.decode()
    assert [("Ours" in text, "anon-r-" in text) for text in (page, file)] == 2 * [(False, True)]
