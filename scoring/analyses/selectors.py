"""What analyses read: the runs of a leaderboard in one order, their scores as arrays, other versions of the qrels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from accounts.access import Visitor, is_organizer
from assay.statistics.ranking_comparison import RankingComparison, compare_by_label
from scoring.evaluations.selectors import topic_values
from scoring.leaderboards.selectors import leaderboards_for
from scoring.models import Analysis, Evaluation, Leaderboard, Qrels


def analyses_for(user: Visitor) -> QuerySet[Analysis]:
    """Analyses that a person may see: of the leaderboards that they may see, finished ones; organizers all."""
    analyses = Analysis.objects.select_related(
        "leaderboard__track", "leaderboard__qrels", "job", "created_by"
    )
    seen = analyses.filter(leaderboard__in=leaderboards_for(user).order_by().values("pk"))
    return seen if is_organizer(user) else seen.filter(status=Analysis.Status.READY)


def newest(user: Visitor, board: Leaderboard) -> dict[str, Analysis]:
    """The latest analysis of each kind that a person may see, by kind."""
    latest = analyses_for(user).filter(leaderboard=board).order_by("kind", "-pk").distinct("kind")
    return {analysis.kind: analysis for analysis in latest}


def evaluated(board: Leaderboard) -> list[Evaluation]:
    """The evaluations of a leaderboard, in the order of all arrays of runs."""
    found = board.evaluations.select_related("run__team").defer("run__report", "curves")
    return list(found.order_by("run__team__name", "run__tag", "pk"))


def versions_beside(board: Leaderboard) -> QuerySet[Qrels]:
    """Other versions of the track's qrels, by which the same runs may be scored."""
    return (
        Qrels.objects.filter(track=board.track_id)
        .exclude(pk=board.qrels_id)
        .select_related("track")
        .order_by("pk")
    )


def scores_of(board: Leaderboard, evaluations: Sequence[Evaluation], measure: str) -> NDArray[np.float64]:
    """(runs, topics) values of a measure, for the topics that all of the runs are averaged over, by code."""
    by_topic = [values for values in topic_values(board, measure).values() if len(values) == len(evaluations)]
    rows = [[values[one.pk] for values in by_topic] for one in evaluations]
    return np.array(rows, dtype=np.float64).reshape(len(evaluations), len(by_topic))


def rankings_by_label(board: Leaderboard, measure: str) -> dict[str, RankingComparison]:
    """The runs' means by the topics of each label's values: no job is needed for what is stored already."""
    evaluations = evaluated(board)
    values = topic_values(board, measure)
    topics = [code for code, of in values.items() if len(of) == len(evaluations)]
    if not topics or not evaluations:
        return {}
    scores = scores_of(board, evaluations, measure)
    labels: dict[str, dict[str, str]] = {}
    for code, of_topic in board.track.topics.filter(code__in=topics).values_list("code", "labels"):
        for name, value in of_topic.items():
            labels.setdefault(name, {})[code] = value
    return {name: compare_by_label(scores, topics, found) for name, found in sorted(labels.items())}


def label_page(board: Leaderboard, measure: str) -> dict[str, Any]:
    """`rankings_by_label`, with the runs in their order."""
    return {"runs": [one.run for one in evaluated(board)], "labels": rankings_by_label(board, measure)}
