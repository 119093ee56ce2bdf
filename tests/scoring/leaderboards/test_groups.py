"""The same runs scored with all judgments and with those of each group of assessors (NTCIR-12)."""

import csv
import io

import pytest
from django.test import Client
from django.urls import reverse

from jobs import services as jobs
from scoring.evaluations.selectors import means_of
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Leaderboard
from scoring.qrels import services as qrels_services
from tests.scoring.conftest import Scene, build_scene
from tracks.models import Assessor

pytestmark = pytest.mark.django_db


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
