"""The best runs of leaderboards as a few bars."""

from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from participation.teams import services as team_services
from pooling.models import Run
from scoring.leaderboards.summaries import summaries_of
from scoring.models import Leaderboard
from scoring.selectors import leaderboards_for
from tests.scoring.conftest import Scene


def names_of(board: Leaderboard) -> list[tuple[str, str]]:
    (summary,) = summaries_of(AnonymousUser(), [board])
    return [(bar.name, bar.style) for bar in summary.bars]


def test_summary_has_the_best_run_of_each_team_and_the_strongest_baseline(scored: Scene) -> None:
    scored.submit(scored.ours, "second", "é 10 9", kind="alternate")
    for number in range(3):
        team = team_services.create(track=scored.track, name=f"Team {number}", members=[])
        scored.submit(team, f"run-{number}", "10 é 9")
    board = scored.leaderboard(release="public")

    assert names_of(board) == [("Ours", "first"), ("Team 0", ""), ("poor", "base")]
    page = " ".join(Client().get(scored.track.get_absolute_url()).content.decode().split())
    assert "of the best run of each team, 3 topics; 3 of 5 shown" in page


def test_disqualified_run_is_in_no_summary(scored: Scene) -> None:
    board = scored.leaderboard(release="public")
    Run.objects.filter(tag="good").update(status=Run.Status.DISQUALIFIED)

    assert names_of(board) == [("poor", "base")]


def test_summaries_of_several_leaderboards_take_one_query(scored: Scene) -> None:
    qrels = scored.qrels()
    for _ in range(2):
        scored.leaderboard(qrels, release="public")
    boards = list(leaderboards_for(scored.organizer))
    with CaptureQueriesContext(connection) as queries:
        summaries = summaries_of(AnonymousUser(), boards)

    assert [summary.board for summary in summaries] == boards
    assert len(queries) == 1


def test_leaderboard_without_valid_runs_has_no_bars(scored: Scene) -> None:
    board = scored.leaderboard()
    Run.objects.update(status=Run.Status.DISQUALIFIED)

    assert names_of(board) == []
