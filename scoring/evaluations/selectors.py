"""A run among the others of its leaderboard: topic by topic, on its curves, and against one other run."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Q, QuerySet
from django.shortcuts import get_object_or_404

from accounts.access import Visitor, is_organizer
from accounts.models import User
from assay.charts import curve_chart, difference_chart, topic_chart
from assay.evaluation.scores import ALL, shown
from assay.protocols.measures import parse_measure
from assay.statistics.rank_correlation import overlap_of_runs
from assay.statistics.significance import paired_t, randomization
from pooling.models import Team
from scoring.evaluations.stored_runs import columns_of
from scoring.leaderboards.errors import LeaderboardRefused
from scoring.leaderboards.selectors import leaderboards_for
from scoring.models import Evaluation, Leaderboard, Score

EXTREMES = 5  # topics named where a run wins and loses most

ByTopic = dict[str, dict[int, float]]  # topic -> evaluation -> value


class TopicRow(NamedTuple):
    """A topic of an evaluation page."""

    topic: str
    values: list[str]
    median: str
    best: str
    above: str


class Extreme(NamedTuple):
    """A topic on which a run is far from the median."""

    topic: str
    value: str
    median: str
    above: str


def topic_values(board: Leaderboard, measure: str) -> ByTopic:
    """One measure of all runs of a leaderboard; a run has only the topics that it is averaged over."""
    values: defaultdict[str, dict[int, float]] = defaultdict(dict)
    found = Score.objects.filter(evaluation__leaderboard=board, measure=measure).exclude(topic=ALL)
    for topic, evaluation_id, value in found.values_list("topic", "evaluation_id", "value"):
        values[topic][evaluation_id] = value
    return dict(sorted(values.items()))


def evaluation_page(user: Visitor, evaluation: Evaluation, measure: str = "") -> dict[str, Any]:
    """The values of a run, topic by topic, against the median and the best of all runs of its leaderboard."""
    board = evaluation.leaderboard
    measures = board.measures
    values: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for topic, name, value in Score.objects.filter(evaluation=evaluation).values_list(
        "topic", "measure", "value"
    ):
        values[topic][name] = value
    means = values.pop(ALL)
    charted = measure if measure in measures else measures[0]
    of_all = topic_values(board, charted)
    rows, others, gaps = [], [], []
    for topic in sorted(values):
        median, best = float(np.median(list(of_all[topic].values()))), max(of_all[topic].values())
        own = values[topic][charted]
        others.append((median, best))
        gaps.append((own - median, Extreme(topic, shown(own), shown(median), f"{own - median:+.4f}")))
        shown_values = [shown(values[topic][name]) for name in measures]
        rows.append(TopicRow(topic, shown_values, shown(median), shown(best), f"{own - median:+.4f}"))
    gaps.sort(key=lambda gap: -gap[0])
    return {
        "track": board.track,
        "board": board,
        "evaluation": evaluation,
        "run": evaluation.run,
        "measures": [(name, parse_measure(name).title) for name in measures],
        "rows": rows,
        "means": [shown(means[name]) for name in measures],
        "charted": charted,
        "chart": topic_chart(
            [(topic, values[topic][charted]) for topic in sorted(values)], means[charted], others
        ),
        "extremes": [
            ("Farthest above the median", [said for gap, said in gaps[:EXTREMES] if gap > 0]),
            ("Farthest below the median", [said for gap, said in reversed(gaps[-EXTREMES:]) if gap < 0]),
        ],
        "n_runs": board.evaluations.count(),
        "curves": _curves(evaluation),
        "rivals": _rivals(user, evaluation),
        "is_organizer": is_organizer(user),
        "tab": "leaderboards",
    }


def _rivals(user: Visitor, evaluation: Evaluation) -> list[Evaluation]:
    """Other runs of the leaderboard that a person may open."""
    found = evaluations_for(user).filter(leaderboard=evaluation.leaderboard_id).exclude(pk=evaluation.pk)
    return sorted(found, key=lambda one: (one.run.team.name, one.run.tag, one.pk))


def _curves(evaluation: Evaluation) -> dict[str, Any] | None:
    """Charts and tables of the stored curves; None where there are none."""
    stored = evaluation.curves
    if not stored:
        return None
    cutoffs, recalls = [str(k) for k in stored["cutoffs"]], [f"{recall:.1f}" for recall in stored["recalls"]]
    top = max([0.05, *stored["precision"]])
    return {
        "level": stored["level"],
        "judged_only": stored["judged_only"],
        "precision": list(zip(cutoffs, map(shown, stored["precision"]), strict=True)),
        "by_recall": list(zip(recalls, map(shown, stored["by_recall"]), strict=True)),
        "precision_chart": curve_chart(cutoffs, [("precision", stored["precision"])], top=top),
        "recall_chart": curve_chart(recalls, [("precision", stored["by_recall"])]),
    }


class Compared(NamedTuple):
    """A topic on which two runs are compared."""

    topic: str
    first: str
    second: str
    difference: str


def compare_page(user: Visitor, first: Evaluation, second_id: int, measure: str = "") -> dict[str, Any]:
    """Two runs of one leaderboard, topic by topic, and whether chance may have parted them.

    Raises
    ------
    Http404
        There is no such other run on the leaderboard that the person may open.
    """
    board = first.leaderboard
    second = get_object_or_404(evaluations_for(user).filter(leaderboard=board), pk=second_id)
    charted = measure if measure in board.measures else board.measures[0]
    values = topic_values(board, charted)
    both = [
        (topic, of[first.pk], of[second.pk])
        for topic, of in values.items()
        if first.pk in of and second.pk in of
    ]
    differences = [(topic, one - other) for topic, one, other in both]
    return {
        "track": board.track,
        "board": board,
        "first": first,
        "second": second,
        "measures": [(name, parse_measure(name).title) for name in board.measures],
        "charted": charted,
        "rows": [
            Compared(topic, shown(one), shown(other), f"{one - other:+.4f}") for topic, one, other in both
        ],
        "means": _means(both),
        "overlap": _overlap(first, second),
        "mean_difference": f"{sum(gap for _, gap in differences) / len(both):+.4f}" if both else "",
        "n_better": sum(gap > 0 for _, gap in differences),
        "n_worse": sum(gap < 0 for _, gap in differences),
        "n_equal": sum(gap == 0 for _, gap in differences),
        "chart": difference_chart(sorted(differences, key=lambda one: -one[1])),
        "tests": _tests(np.array([[one, other] for _, one, other in both]).T, board.seed) if both else None,
        "is_organizer": is_organizer(user),
        "tab": "leaderboards",
    }


def _means(both: Sequence[tuple[str, float, float]]) -> tuple[str, str]:
    if not both:
        return "", ""
    return shown(sum(one for _, one, _ in both) / len(both)), shown(sum(two for *_, two in both) / len(both))


def _overlap(first: Evaluation, second: Evaluation) -> str:
    """Mean rank-biased overlap over topics of the whole runs; empty where a stored run cannot be read."""
    try:
        found = overlap_of_runs(columns_of(first.run), columns_of(second.run))
    except LeaderboardRefused:
        return ""
    return shown(sum(one.extrapolated for one in found.values()) / len(found)) if found else ""


def _tests(scores: np.ndarray[Any, np.dtype[np.float64]], seed: int) -> dict[str, Any]:
    """The two tests of one pair; nothing to adjust, as it is one."""
    lots = randomization(scores, seed=seed)
    return {
        "randomization": float(lots.p[0, 1]),
        "is_exact": lots.is_exact,
        "n_permutations": lots.n_permutations,
        "seed": seed,
        "t": float(paired_t(scores).p[0, 1]),
    }


def evaluations_for(user: Visitor) -> QuerySet[Evaluation]:
    """Evaluations whose topics a person may see, one by one."""
    evaluations = Evaluation.objects.select_related(
        "leaderboard__track__protocol", "leaderboard__qrels", "run__team"
    )
    evaluations = evaluations.defer("run__report")
    if is_organizer(user):
        return evaluations
    may_see = Q(leaderboard__release=Leaderboard.Release.PUBLIC)
    if isinstance(user, User):
        may_see |= Q(run__team__in=Team.objects.filter(members=user))
    return evaluations.filter(may_see, leaderboard__in=leaderboards_for(user).order_by().values("pk"))
