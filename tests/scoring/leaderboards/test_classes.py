"""The means of runs by topic class: the page and its file."""

import csv
import io

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from scoring.leaderboards import services as leaderboard_services
from tests.scoring.conftest import Scene
from tests.scoring.test_protocol_keys import change
from tracks.models import Track

pytestmark = pytest.mark.django_db


def label(scene: Scene) -> None:
    """A.1 and A.2 are easy, A.10 is hard; all have a category."""
    for code, difficulty in (("A.1", "easy"), ("A.10", "hard"), ("A.2", "easy")):
        scene.topics[code].labels = {"difficulty": difficulty, "category": "proof"}
        scene.topics[code].save(update_fields=["labels"])


@pytest.mark.parametrize("classes", ['["difficulty"]', ""])
def test_page_and_file_have_the_means_of_each_class(
    scored: Scene, client: Client, classes: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    label(scored)
    shipped = 'topic_classes = ["category", "difficulty", "dependence"]'
    change(scored, shipped, f"topic_classes = {classes}" if classes else "")
    board = scored.leaderboard()
    client.force_login(scored.organizer)
    measure = board.measures[0]

    linked = client.get(board.get_absolute_url()).content.decode()
    with django_assert_max_num_queries(14):
        page = client.get(reverse("scoring:classes", args=[board.pk]))
    file = client.get(reverse("scoring:classes_file", args=[board.pk])).content.decode()

    assert reverse("scoring:classes", args=[board.pk]) in linked
    assert {
        cell.step == min(4, int(5 * float(cell.text)))
        and f'<td class="q{cell.step}">{cell.text}</td>' in page.content.decode()
        for table in page.context["tables"]
        for row in table.rows
        for cell in row.cells
    } == {True}
    assert [table.label for table in page.context["tables"]] == (
        ["difficulty"] if classes else ["category", "difficulty"]
    )
    rows = [
        row
        for row in csv.DictReader(io.StringIO(file))
        if row["measure"] == measure and row["label"] == "difficulty" and row["run"] == "good"
    ]
    values = client.get(reverse("scoring:topics_file", args=[board.pk, "csv"]))
    text = b"".join(values.streaming_content) if values.streaming else values.content
    by_topic = {
        row["topic"]: float(row["value"])
        for row in csv.DictReader(io.StringIO(text.decode()))
        if row["measure"] == measure and row["run"].endswith("good")
    }
    assert [(row["value"], row["topics"]) for row in rows] == [("easy", "2"), ("hard", "1")]
    assert float(rows[0]["mean"]) == pytest.approx((by_topic["A.1"] + by_topic["A.2"]) / 2, abs=1e-4)
    assert float(rows[1]["mean"]) == pytest.approx(by_topic["A.10"], abs=1e-4)


def test_leaderboard_links_classes_only_if_topics_have_labels(scored: Scene, client: Client) -> None:
    board = scored.leaderboard(release="public")
    address = reverse("scoring:classes", args=[board.pk])

    before = client.get(board.get_absolute_url()).content.decode()
    label(scored)

    assert address not in before
    assert address in client.get(board.get_absolute_url()).content.decode()


def test_teams_see_their_own_runs_and_no_hidden_labels(scored: Scene, client: Client) -> None:
    label(scored)
    board = scored.leaderboard()
    leaderboard_services.release(leaderboard=board, level="participants", by=scored.organizer, reason="Test")
    client.force_login(scored.member)
    address = reverse("scoring:classes", args=[board.pk])

    hidden = client.get(address)
    Track.objects.update(shows_labels=True)
    shown = client.get(address)

    assert hidden.context["tables"] == []
    [_, difficulty] = shown.context["tables"]
    assert [row.run and row.run.run.tag for row in difficulty.rows] == [None, "good"]
