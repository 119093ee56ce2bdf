"""Measures that are ratios of sums over topics: intervals, but no tiers and no tests of pairs."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from assay_extensions.analyses.site import services as analysis_services
from jobs import services as jobs
from scoring.models import Analysis, Evaluation
from tests.scoring.conftest import Scene, build_scene

pytestmark = pytest.mark.django_db

GOLD = (
    b"A.1 0 a 2\nA.1 0 b 0\nA.1 0 c 2\nA.10 0 a 0\nA.10 0 b 2\nA.10 0 c 0\nA.2 0 a 0\nA.2 0 b 0\nA.2 0 c 2\n"
)


def label_run(scene: Scene, tag: str, *labels: str) -> None:
    """A run of the documents a, b and c for each topic, with these labels."""
    lines = [
        f"{code}\t{docno}\t{rank}\t{1 / rank}\t{labels[number]}\n"
        for number, (code, (rank, docno)) in enumerate(
            (code, each) for code in ("A.1", "A.10", "A.2") for each in enumerate("abc", 1)
        )
    ]
    scene.submit_lines(scene.ours if tag == "good" else scene.theirs, tag, lines)


@pytest.fixture
def scored() -> Scene:
    scene = build_scene("semeval-2016-task3")
    label_run(scene, "good", *["true", "false", "true", "false", "true", "false", "true", "false", "true"])
    label_run(scene, "poor", *["true"] * 9)
    return scene


def test_ratio_has_an_interval_and_the_page_says_why_it_has_no_tiers(scored: Scene, client: Client) -> None:
    board = scored.leaderboard(scored.qrels(GOLD))
    client.force_login(scored.organizer)

    page = client.get(board.get_absolute_url(), {"sort": "labelP(rel=2)"})
    mean = client.get(board.get_absolute_url()).content.decode()
    first, second = Evaluation.objects.filter(leaderboard=board).order_by("run__tag")
    address = reverse("scoring:compare_runs", args=[first.pk, second.pk])
    pair = client.get(address, {"measure": "labelP(rel=2)"}).content.decode()

    column = board.measures.index("labelP(rel=2)")
    cells = {row.run.tag: row.cells[column] for row in page.context["rows"]}
    assert {tag: cell.text for tag, cell in cells.items()} == {
        "Ours-primary": "0.8000",
        "Theirs-primary": "0.4444",
    }
    assert all(float(cell.low) < cell.value < float(cell.high) for cell in cells.values())
    text = " ".join(page.content.decode().split())
    assert "labelP(rel=2) is a ratio of sums over all topics: there are no tiers" in text
    assert '<td class="tier">' not in text
    assert '<td class="tier">' in mean
    assert re.search(r"\+0\.3556</span>.*0\.8000 and 0\.4444<", pair, re.DOTALL)
    assert "There is no test" in pair
    assert "Paired randomization" not in pair


def test_ratios_are_not_ranked_by_fewer_topics(scored: Scene) -> None:
    board = scored.leaderboard(scored.qrels(GOLD))

    analysis = analysis_services.request(leaderboard=board, kind=Analysis.Kind.TOPICS, by=scored.organizer)
    assert analysis.job is not None
    jobs.run(analysis.job.pk)

    analysis.refresh_from_db()
    assert set(analysis.result["measures"]) == {"AP(rel=2,norm=retrieved)@10", "RR(rel=2)@10"}
