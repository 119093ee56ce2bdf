"""Inputs of analyses: the runs of a leaderboard in a fixed order, their scores, and other versions of the qrels."""

from collections.abc import Sequence

import numpy as np
from django.db.models import Q, QuerySet
from numpy.typing import NDArray

from accounts.access import AnyUser, overseen_by
from assay.protocols.description import label_value
from assay.statistics.ranking_comparison import RankingComparison, compare_by_label
from scoring.evaluations.selectors import topic_values
from scoring.models import Analysis, Evaluation, Leaderboard, Qrels
from scoring.selectors import leaderboards_for


def analyses_for(user: AnyUser) -> QuerySet[Analysis]:
    """Analyses of the leaderboards that the user may see. Organizers see all of them, others the finished ones."""
    analyses = Analysis.objects.select_related(
        "leaderboard__track", "leaderboard__qrels", "job", "created_by"
    ).defer("leaderboard__qrels__report")
    visible = analyses.filter(leaderboard__in=leaderboards_for(user).order_by().values("pk"))
    is_overseen = Q(leaderboard__track__in=overseen_by(user))
    return visible.filter(Q(status=Analysis.Status.READY) | is_overseen)


def newest(user: AnyUser, board: Leaderboard) -> dict[str, Analysis]:
    """The latest analysis of each kind that the user may see, by kind."""
    latest = analyses_for(user).filter(leaderboard=board).order_by("kind", "-pk").distinct("kind")
    return {analysis.kind: analysis for analysis in latest}


def evaluated(board: Leaderboard) -> list[Evaluation]:
    """The evaluations of a leaderboard, in the order of every array of runs."""
    evaluations = board.evaluations.select_related("run__team").defer("run__report", "curves")
    return list(evaluations.order_by("run__team__name", "run__tag", "pk"))


def other_versions(board: Leaderboard) -> QuerySet[Qrels]:
    """Other versions of the track's qrels, to score the same runs with."""
    return (
        Qrels.objects.filter(track=board.track_id)
        .exclude(pk=board.qrels_id)
        .select_related("track")
        .order_by("pk")
    )


def has_instances(board: Leaderboard) -> bool:
    """Return whether instances of formulas were judged, and which distinct formulas they belong to is known."""
    protocol, collection = board.track.protocol.parsed, board.track.collection
    if protocol.scoring.collapse_instances:
        return board.qrels.pool_id is not None
    is_known = collection is not None and collection.formulas.exclude(visual="").exists()
    return protocol.unit == "formula" and is_known


def scores_of(board: Leaderboard, evaluations: Sequence[Evaluation], measure: str) -> NDArray[np.float64]:
    """(runs, topics) values of a measure, for the topics in the means of all runs, by code."""
    return _scores(board, evaluations, measure)[1]


def _scores(
    board: Leaderboard, evaluations: Sequence[Evaluation], measure: str
) -> tuple[list[str], NDArray[np.float64]]:
    """The codes of the topics of `scores_of`, and its values. One query."""
    values = topic_values(board, measure).items()
    by_topic = {code: of_topic for code, of_topic in values if len(of_topic) == len(evaluations)}
    rows = [[of_topic[evaluation.pk] for of_topic in by_topic.values()] for evaluation in evaluations]
    return list(by_topic), np.array(rows, dtype=np.float64).reshape(len(evaluations), len(by_topic))


def rankings_by_label(board: Leaderboard, measure: str) -> dict[str, RankingComparison]:
    """The means of the runs over the topics of each value of a label, by label; from stored scores, without a job.

    The labels are the topic classes of the protocol or, if the topics have none of them, all labels.
    """
    labeled = dict(board.track.topics.exclude(labels={}).values_list("code", "labels"))
    evaluations = evaluated(board) if labeled else []
    if not evaluations:
        return {}
    topics, scores = _scores(board, evaluations, measure)
    labels: dict[str, dict[str, str]] = {}
    for code in filter({*topics}.__contains__, labeled):
        for name, value in labeled[code].items():
            labels.setdefault(name, {})[code] = label_value(value, name)
    classes = [name for name in board.track.protocol.parsed.scoring.topic_classes if name in labels]
    return {name: compare_by_label(scores, topics, labels[name]) for name in classes or sorted(labels)}
