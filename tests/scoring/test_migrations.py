"""Migrations of scoring keep every value, in both directions."""

import json

from django.core.management import call_command
from django.db import connection

from assay.statistics.tukey import tukey_hsd
from scoring.analyses.selectors import evaluated, scores_of
from scoring.models import Leaderboard
from tests.scoring.conftest import Scene


def migrate(name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SET CONSTRAINTS ALL IMMEDIATE"
        )  # deferred checks would keep tables from being altered
    call_command("migrate", "scoring", name, verbosity=0)


def stored(board: Leaderboard) -> dict[str, object]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT statistics FROM scoring_leaderboard WHERE id = %s", [board.pk])
        return dict(json.loads(cursor.fetchone()[0]))


def test_statistics_of_old_leaderboards_are_kept(scored: Scene) -> None:
    board = scored.leaderboard(scored.qrels())
    rows = list(board.by_measure.order_by("measure").values())
    shared = board.statistics
    scores = scores_of(board, evaluated(board), board.measures[0])

    migrate("0001")
    before = stored(board)
    migrate("0002")

    assert before.pop("measures")[board.measures[0]]["tukey"] == tukey_hsd(scores, seed=board.seed).as_json()
    assert before == stored(board) == shared
    renumbered = [{**row, "id": 0} for row in board.by_measure.order_by("measure").values()]
    assert renumbered == [{**row, "id": 0} for row in rows]
