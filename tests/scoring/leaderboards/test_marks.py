"""The page of a leaderboard: its first numbers, places, marks in cells, values by topic."""

import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from assay.statistics.leaderboard import NOT_COMPARABLE
from pooling.models import Run
from scoring.leaderboards import marks
from scoring.leaderboards.rows import Cell
from scoring.leaderboards.selectors import leaderboard_page
from scoring.models import Leaderboard
from scoring.selectors import board_or_404
from tests.scoring.conftest import Scene

pytestmark = pytest.mark.django_db


@pytest.fixture
def board(scored: Scene) -> Leaderboard:
    scored.submit(scored.ours, "same", "10 é 9")
    return scored.leaderboard(release="public")


def page_of(board: Leaderboard, query: str = "") -> str:
    return " ".join(Client().get(board.get_absolute_url() + query).content.decode().split())


def test_page_begins_with_the_best_run_and_the_distance_to_the_strongest_baseline(
    scored: Scene, board: Leaderboard
) -> None:
    page = leaderboard_page(scored.organizer, board)
    text = page_of(board)

    assert page.lead
    assert page.gain
    assert page.lead.best.run.team == scored.ours
    assert f'<span class="big">{page.lead.value}</span>' in text
    assert f"poor, {page.gain.value} " in text
    assert text.index('class="stats"') < text.index("<table")
    assert page.lead.judged == 100 * page.lead.best.evaluation.judged_at_10


def test_star_marks_the_best_result_and_neither_coverage_nor_an_only_run(
    scored: Scene, board: Leaderboard
) -> None:
    stars = {
        measure
        for row in leaderboard_page(scored.organizer, board).rows
        for measure, cell in zip(board.measures, row.cells, strict=True)
        if cell.is_best
    }
    others = Run.objects.filter(track=scored.track).exclude(tag="same")
    others.update(status=Run.Status.WITHDRAWN, withdrawn_at=timezone.now())
    alone = leaderboard_page(scored.organizer, scored.leaderboard(board.qrels))

    assert stars == {*board.measures} - {"judged@10"}
    assert [cell.is_best for row in alone.rows for cell in row.cells if cell.is_best] == []


def test_runs_with_equal_values_share_a_place_in_any_order(scored: Scene, board: Leaderboard) -> None:
    by_value = leaderboard_page(scored.organizer, board)
    by_name = leaderboard_page(scored.organizer, board, sort="run")

    places = {each.row.run.tag: each.place for each in by_value.marked}
    assert sorted(places.values()) in ([1, 1, 3], [1, 2, 3])
    assert {each.row.run.tag: each.place for each in by_name.marked} == places
    assert [row.run.tag for row in by_name.rows] == [each.row.run.tag for each in by_name.marked]


def test_interval_is_drawn_from_its_numbers(scored: Scene, board: Leaderboard) -> None:
    page = leaderboard_page(scored.organizer, board)
    marked = page.marked[0]
    cell = marked.row.cells[0]
    drawing = re.search(r'<svg width="160".*?</svg>', page_of(board))

    assert (page.axis.low, page.axis.high) == (0, 1)
    assert marked.mark.x == round(4 + 152 * cell.value)
    if cell.low:
        assert marked.mark.low == round(4 + 152 * float(cell.low))
        assert marked.mark.high == round(4 + 152 * float(cell.high))
    assert drawing
    assert f'cx="{marked.mark.x}"' in drawing[0]
    assert f'class="m-ref" x1="{page.axis.reference}"' in drawing[0]


@pytest.mark.parametrize(
    ("value", "high", "ends"),
    [(0.07, "0.0900", (0, 0.1)), (0.07, "0.1400", (0, 0.2)), (0.3, "", (0, 0.5)), (3.5, "4.2", (0, 5))],
)
def test_axis_ends_at_the_next_round_value(
    scored: Scene, board: Leaderboard, value: float, high: str, ends: tuple[int, float]
) -> None:
    row = leaderboard_page(scored.organizer, board).rows[0]
    cell = row.cells[0]._replace(value=value, low="0.0100" if high else "", high=high)

    axis = marks.axis_of([row._replace(cells=[cell])], 0, None)

    assert axis[:2] == ends
    assert axis.x(value) == round(4 + 152 * value / ends[1])


def test_values_by_topic_have_five_steps(scored: Scene, board: Leaderboard) -> None:
    page = leaderboard_page(scored.organizer, board)
    text = page_of(board)

    assert page.heat
    assert page.heat.topics == ["A.1", "A.2", "A.10"]
    for _, shades, _ in page.heat.rows:
        assert [shade.step for shade in shades] == [min(4, int(5 * float(shade.text))) for shade in shades]
        assert all(f'<td class="q{shade.step}">{shade.text}</td>' in text for shade in shades)


def test_many_topics_or_hidden_runs_are_not_in_the_table_by_topic(
    scored: Scene, board: Leaderboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    Leaderboard.objects.filter(pk=board.pk).update(release=Leaderboard.Release.PARTICIPANTS)
    released = board_or_404(scored.member, board.pk)
    heat = leaderboard_page(scored.member, released).heat
    monkeypatch.setattr(marks, "MOST_TOPICS", 2)

    assert heat
    assert {row.run.team for row, _, _ in heat.rows} == {scored.ours}
    assert leaderboard_page(scored.organizer, board).heat is None


def test_letters_of_runs_that_do_not_differ_from_the_best_are_gold(board: Leaderboard) -> None:
    cells = [Cell(0.5, "0.5000", False, "", "", tier) for tier in ("a", "ab", "b", "", NOT_COMPARABLE)]

    assert [cell.is_near_best for cell in cells] == [True, True, False, False, False]
    assert '<td class="tier"><span class="chip gold">a</span></td>' in page_of(board)


def test_narrow_screens_get_all_columns_by_a_link(board: Leaderboard) -> None:
    text, whole = page_of(board), page_of(board, "?columns=all")

    assert 'columns=all">All columns</a>' in text
    assert '<table class="t board">' in text
    assert '<table class="t board whole">' in whole
    assert "&amp;columns=all" in whole.partition("<thead>")[2].partition("</thead>")[0]


def test_two_runs_are_compared_from_the_leaderboard(board: Leaderboard) -> None:
    first, second = board.evaluations.order_by("pk")[:2]
    address = reverse("scoring:choose_run", args=[second.pk])

    answer = Client().get(address, {"first": first.pk, "other": second.pk})

    assert '<select class="form-select mb-2" id="first" name="first">' in page_of(board)
    assert f'value="{first.pk}" selected> {first.run.tag}, {first.run.team.name}</option>' in page_of(board)
    assert answer["Location"] == reverse("scoring:compare_runs", args=[first.pk, second.pk])


def test_leaderboard_names_its_sources_and_is_cited(scored: Scene, board: Leaderboard) -> None:
    qrels = board.qrels
    type(qrels).objects.filter(pk=qrels.pk).update(
        report=qrels.report | {"dropped": [{"topic": "A.7", "judged": 3, "relevant": 1}]}
    )
    text = page_of(board)

    sources = text.partition("Where these numbers come from")[2]
    assert qrels.sha256 in sources
    assert f"assay evaluate --protocol {scored.track.protocol.slug} " in sources
    assert "A.7: 1 relevant unit" in sources
    assert "<title>Leaderboard of ARQ · Assay</title>" in text
    assert "<h1>Leaderboard</h1>" in text
    below = Client().get(reverse("scoring:topics", args=[board.pk])).content.decode()
    assert [text.count('<li class="breadcrumb-item">'), below.count('<li class="breadcrumb-item">')] == [1, 2]
    assert "title = {{Leaderboard of ARQ}}" in text
    assert f"SHA-256 {qrels.sha256}" in text
