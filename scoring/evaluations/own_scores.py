"""The scores of some runs on every leaderboard that a user may see, for the pages of runs."""

from collections import defaultdict
from typing import NamedTuple

from django.db.models import QuerySet

from accounts.access import AnyUser
from assay.evaluation.score_table import ALL, shown
from pooling.models import Run
from scoring.evaluations.selectors import evaluations_for
from scoring.leaderboards.pages import titled
from scoring.models import Evaluation, Leaderboard, Score


class ScoredRun(NamedTuple):
    """A run with its means, in the order of the leaderboard's measures."""

    evaluation: Evaluation
    means: list[str]


class BoardScores(NamedTuple):
    """The scores of some runs on one leaderboard; `measures` are names with titles."""

    board: Leaderboard
    measures: list[tuple[str, str]]
    runs: list[ScoredRun]


def scores_of(user: AnyUser, runs: QuerySet[Run]) -> list[BoardScores]:
    """The scores of runs by leaderboard, newest first. Two queries."""
    evaluations = evaluations_for(user).filter(
        run__in=runs.order_by(), leaderboard__status=Leaderboard.Status.READY
    )
    newest_first = evaluations.defer("run__report", "curves").order_by("-leaderboard", "run__priority", "run")
    ordered = sorted(newest_first, key=lambda each: (-each.leaderboard_id, not each.run.is_submitted))
    means: defaultdict[int, dict[str, float]] = defaultdict(dict)
    scores = Score.objects.filter(evaluation__in=[evaluation.pk for evaluation in ordered], topic=ALL)
    for pk, measure, value in scores.values_list("evaluation_id", "measure", "value"):
        means[pk][measure] = value
    boards: dict[int, BoardScores] = {}
    for evaluation in ordered:
        board = evaluation.leaderboard
        of_board = boards.setdefault(board.pk, BoardScores(board, titled(board.measures), []))
        row = [shown(means[evaluation.pk][measure]) for measure in board.measures]
        of_board.runs.append(ScoredRun(evaluation, row))
    return list(boards.values())
