"""A run among the others of its leaderboard: by topic, as curves, and compared with one other run."""

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Q, QuerySet, Value
from django.shortcuts import get_object_or_404

from accounts.access import AnyUser, overseen_by
from accounts.models import User
from assay import plots
from assay.formats.spreadsheet import csv_lines
from assay.measures.scores import ALL, HEADER
from assay.protocols.measures import FAMILIES, parse_measure
from assay.statistics.rank_correlation import overlap_of_runs
from assay.statistics.significance import paired_t, randomization, unpacked_pairs, wilcoxon
from assay.tables import natural, one_word, shown, tsv_lines
from participation.models import Team
from pooling.models import Run
from pooling.runs.names import Names, names_for
from scoring.errors import LeaderboardRefused
from scoring.evaluations.stored_runs import columns_of
from scoring.models import Evaluation, Leaderboard, Score
from scoring.selectors import LeaderboardPage, leaderboards_for, seen_by, shared_page, titled
from tracks.models import Organizer
from web.statements import Prepared, is_among

OF_FAMILY = (
    "judge's family"  # column: whether a run declares a model of the family of the machine that judged
)
EXTREMES = 5  # topics listed on which a run is farthest from the median
RUNS_AT_ONCE = 20  # whose values by topic are in memory

ByTopic = dict[str, dict[int, float]]  # topic -> evaluation -> value


def evaluations_for(user: AnyUser) -> QuerySet[Evaluation]:
    """Evaluations whose values by topic the user may see."""
    may_see = Q(leaderboard__release=Leaderboard.Release.PUBLIC)
    if isinstance(user, User):
        may_see |= Q(run__team__in=Team.objects.filter(members=user))
    may_see |= Q(leaderboard__track__in=overseen_by(user))
    return _evaluations().filter(may_see, leaderboard__in=leaderboards_for(user).order_by().values("pk"))


def _evaluations() -> QuerySet[Evaluation]:
    evaluations = Evaluation.objects.select_related(
        "leaderboard__track__protocol",
        "leaderboard__track__collection",
        "leaderboard__qrels__machine",
        "run__team",
    )
    return evaluations.defer("run__report", "leaderboard__qrels__report")


def named(names: Names, evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """Evaluations of one track whose runs have the names that a reader may read."""
    evaluations = list(evaluations)
    if names.are_hidden:
        for evaluation in evaluations:
            evaluation.run = names.run(evaluation.run)
    return evaluations


def name_order(evaluation: Evaluation) -> tuple[str, str, int]:
    """Sorts evaluations by team and tag."""
    return evaluation.run.team.name, evaluation.run.tag, evaluation.pk


def means_of(board: Leaderboard) -> dict[int, dict[str, float]]:
    """The mean of each measure, by evaluation."""
    means: defaultdict[int, dict[str, float]] = defaultdict(dict)
    scores = Score.objects.filter(evaluation__leaderboard=board, topic=ALL)
    for evaluation_id, measure, value in scores.values_list("evaluation_id", "measure", "value"):
        means[evaluation_id][measure] = value
    return means


def places_of(board: Leaderboard) -> dict[int, int]:
    """The position of each evaluation in the arrays of the stored statistics."""
    return {pk: position for position, pk in enumerate(board.statistics.get("evaluations", []))}


def topic_values(board: Leaderboard, measure: str, **only: object) -> ByTopic:
    """One measure of all runs of a leaderboard; a run has only the topics that its mean includes.

    `only` selects some of the scores: `topic="T1"`, `evaluation__in=[1, 2]`.
    """
    values: defaultdict[str, dict[int, float]] = defaultdict(dict)
    scores = Score.objects.filter(evaluation__leaderboard=board, measure=measure, **only).exclude(topic=ALL)
    for topic, evaluation_id, value in scores.values_list("topic", "evaluation_id", "value"):
        values[topic][evaluation_id] = value
    return dict(sorted(values.items()))


@lru_cache(maxsize=32)
def _summaries(board: Leaderboard, measure: str) -> dict[str, tuple[float, float]]:
    """The median and the best value of each topic. They never change, so a process keeps those of the last pages."""
    values = topic_values(board, measure).items()
    return {topic: (float(np.median([*of.values()])), max(of.values())) for topic, of in values}


def score_file(
    user: AnyUser, board: Leaderboard, evaluations: QuerySet[Evaluation], kind: str
) -> Iterator[str]:
    """The lines of some evaluations of a leaderboard by topic, then the means, as `tsv` or `csv`.

    They are the lines of `assay evaluate`, with a mark of the judge's family if a machine judged. Only the values of a
    few runs are in memory at a time.
    """
    lines = csv_lines if kind == "csv" else tsv_lines
    rows = _score_rows(board, named(names_for(user, board.track), with_names(evaluations)))
    if not board.judge_family:
        return lines(HEADER, (cells for _, cells in rows))
    marked = ((*cells, "yes" if run.is_of_family(board.judge_family) else "no") for run, cells in rows)
    return lines((*HEADER, OF_FAMILY), marked)


def with_names(evaluations: QuerySet[Evaluation]) -> QuerySet[Evaluation]:
    """Evaluations with their runs and teams only, for lists of many: reading JSON takes longer than the rest."""
    wide = "run__report", "curves", "first_grades", "first_hits"
    return evaluations.select_related(None).select_related("run__team").defer(*wide)


def _score_rows(
    board: Leaderboard, evaluations: Iterable[Evaluation]
) -> Iterator[tuple[Run, tuple[str, ...]]]:
    """The rows of each run: topics by code, then the means."""
    ordered = sorted(evaluations, key=lambda evaluation: (one_word(evaluation.run.tag), evaluation.pk))
    for start in range(0, len(ordered), RUNS_AT_ONCE):
        some = ordered[start : start + RUNS_AT_ONCE]
        values: dict[int, defaultdict[str, dict[str, float]]] = {run.pk: defaultdict(dict) for run in some}
        scores = Score.objects.filter(evaluation__in=values)
        for pk, topic, measure, value in scores.values_list("evaluation_id", "topic", "measure", "value"):
            values[pk][topic][measure] = value
        for evaluation in some:
            of_run = values[evaluation.pk]
            for topic in sorted(of_run, key=lambda code: (code == ALL, code)):
                for measure in board.measures:
                    cells = one_word(evaluation.run.tag), topic, measure, shown(of_run[topic][measure])
                    yield evaluation.run, cells


class TopicRow(NamedTuple):
    """A topic of an evaluation page; `above` is the distance to the median."""

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


@dataclass(frozen=True)
class Curves:
    """Charts and tables of the curves of a run; `level` is the lowest relevant grade."""

    level: int
    judged_only: bool
    in_characters: bool
    precision: list[tuple[str, str]]
    by_recall: list[tuple[str, str]]
    precision_plot: plots.Plot
    recall_plot: plots.Plot


@dataclass(frozen=True, kw_only=True)
class EvaluationPage(LeaderboardPage):
    """A run by topic, among the `n_runs` of its leaderboard. `others` are runs to compare it with."""

    evaluation: Evaluation
    run: Run
    rows: list[TopicRow]
    means: list[str]
    plot: plots.Plot
    mean: str
    n_above: int  # topics on which it is above the median
    n_below: int
    judged_share: float | None  # percent of the top 10 ranks
    extremes: list[tuple[str, list[Extreme]]]
    n_runs: int
    curves: Curves | None
    others: list[Evaluation]


def evaluation_page(user: AnyUser, evaluation: Evaluation, measure: str = "") -> EvaluationPage:
    """The values of a run by topic, with the median and the best of all runs of its leaderboard."""
    board, names = evaluation.leaderboard, names_for(user, evaluation.leaderboard.track)
    [evaluation] = named(names, [evaluation])
    shared = shared_page(user, board, measure)
    charted = shared.charted
    values = values_by_topic(evaluation)
    means = values.pop(ALL)
    of_topics = _summaries(board, charted)
    rows, summaries, gaps = [], [], []
    for topic in sorted(values, key=natural):
        own, (median, best) = values[topic][charted], of_topics[topic]
        above = f"{own - median:+.4f}"
        summaries.append((median, best))
        gaps.append((own - median, Extreme(topic, shown(own), shown(median), above)))
        cells = [shown(values[topic][name]) for name in board.measures]
        rows.append(TopicRow(topic, cells, shown(median), shown(best), above))
    gaps.sort(key=lambda item: -item[0])
    of_board = evaluations_for(user).filter(leaderboard=board)
    bars = [(topic, values[topic][charted]) for topic in sorted(values, key=natural)]
    return EvaluationPage(
        **vars(shared),
        evaluation=evaluation,
        run=evaluation.run,
        rows=rows,
        means=[shown(means[name]) for name in board.measures],
        plot=plots.bars(
            f"{board.track.slug}-{evaluation.run_id}-topics",
            f"{charted} of {evaluation.run.tag} by topic",
            bars,
            up=charted,
            mean=means[charted],
            others=summaries,
        ),
        mean=shown(means[charted]),
        n_above=sum(gap > 0 for gap, _ in gaps),
        n_below=sum(gap < 0 for gap, _ in gaps),
        judged_share=None if evaluation.judged_at_10 is None else 100 * evaluation.judged_at_10,
        extremes=[
            ("Farthest above the median", [extreme for gap, extreme in gaps[:EXTREMES] if gap > 0]),
            (
                "Farthest below the median",
                [extreme for gap, extreme in gaps[: -EXTREMES - 1 : -1] if gap < 0],
            ),
        ],
        n_runs=board.evaluations.count(),
        curves=_curves(evaluation),
        others=sorted(named(names, with_names(of_board.exclude(pk=evaluation.pk))), key=name_order),
    )


def values_by_topic(evaluation: Evaluation) -> dict[str, dict[str, float]]:
    """The value of each measure, by topic; the means have the topic `ALL`."""
    values: defaultdict[str, dict[str, float]] = defaultdict(dict)
    scores = Score.objects.filter(evaluation=evaluation)
    for topic, name, value in scores.values_list("topic", "measure", "value"):
        values[topic][name] = value
    return values


def _curves(evaluation: Evaluation) -> Curves | None:
    """Charts and tables of the stored curves; None if no curves are stored."""
    stored = evaluation.curves
    if not stored:
        return None
    recalls = [f"{recall:.1f}" for recall in stored["recalls"]]
    run, slug = evaluation.run, evaluation.leaderboard.track.slug
    in_characters = stored.get("in_characters", False)
    n = len(stored["cutoffs"])
    if not in_characters:  # the curve ends where the ranks of the run do, at the mean of its topics
        n = max(2, 1 + bisect_left(stored["cutoffs"], run.mean_depth))
    cutoffs, precision = [str(k) for k in stored["cutoffs"][:n]], stored["precision"][:n]
    return Curves(
        level=stored["level"],
        judged_only=stored["judged_only"],
        in_characters=in_characters,
        precision=list(zip(cutoffs, map(shown, precision), strict=True)),
        by_recall=list(zip(recalls, map(shown, stored["by_recall"]), strict=True)),
        precision_plot=plots.lines(
            f"{slug}-{evaluation.run_id}-cutoffs",
            f"Precision at cutoffs of {run.tag}",
            cutoffs,
            [("precision", precision)],
            across="Rank",
            up="Precision",
        ),
        recall_plot=plots.lines(
            f"{slug}-{evaluation.run_id}-recall",
            f"Interpolated precision by recall of {run.tag}",
            recalls,
            [("precision", stored["by_recall"])],
            across="Recall",
            up="Precision",
        ),
    )


class ComparedTopic(NamedTuple):
    """A topic on which two runs are compared."""

    topic: str
    first: str
    second: str
    difference: str


class PairTests(NamedTuple):
    """p-values of the tests of one pair of runs, without adjustment, because it is a single pair.

    `t` is None if the runs are equal on all topics. `tukey` holds for all pairs of the leaderboard together; it is None
    if the leaderboard has no such test.
    """

    randomization: float
    is_exact: bool
    n_permutations: int
    seed: int
    t: float | None
    wilcoxon: float
    tukey: float | None


@dataclass(frozen=True, kw_only=True)
class RunComparisonPage(LeaderboardPage):
    """Two runs by topic. `overlap` is their rank-biased overlap; `tests` is None with fewer than two common topics."""

    first: Evaluation
    second: Evaluation
    rows: list[ComparedTopic]
    means: list[str]
    summary: str  # of the measure over topics; only means are tested
    overlap: str
    mean_difference: str
    n_better: int
    n_worse: int
    n_equal: int
    plot: plots.Plot
    tests: PairTests | None


def compare_page(user: AnyUser, first: Evaluation, second_id: int, measure: str = "") -> RunComparisonPage:
    """Two runs of one leaderboard by topic, and whether they differ significantly.

    Raises:
        Http404: The leaderboard has no other run with this id that the user may open.
    """
    board = first.leaderboard
    second = get_object_or_404(evaluations_for(user).filter(leaderboard=board), pk=second_id)
    first, second = named(names_for(user, board.track), [first, second])
    shared = shared_page(user, board, measure)
    values = topic_values(board, shared.charted)
    topics = [topic for topic, of_topic in values.items() if first.pk in of_topic and second.pk in of_topic]
    pairs = np.array([[values[topic][run.pk] for topic in topics] for run in (first, second)])
    differences = list(zip(topics, (pairs[0] - pairs[1]).tolist(), strict=True))
    summary = FAMILIES[parse_measure(shared.charted).family].summary
    is_mean = summary == "mean"
    overall = pairs
    if topics and not is_mean:  # the values of the two runs over all topics, as on their leaderboard
        of_board = means_of(board)
        overall = np.array([[of_board[run.pk][shared.charted]] for run in (first, second)])
    means = [shown(_mean(values)) for values in overall.tolist()] if topics else ["", ""]
    tests = None
    if len(topics) > 1 and is_mean:
        test = randomization(pairs, seed=board.seed)
        tests = PairTests(
            randomization=float(test.p[0, 1]),
            is_exact=test.is_exact,
            n_permutations=test.n_permutations,
            seed=board.seed,
            t=None if math.isnan(t := float(paired_t(pairs).p[0, 1])) else t,
            wilcoxon=float(wilcoxon(pairs).p[0, 1]),
            tukey=_tukey(first, second, shared.charted),
        )
    return RunComparisonPage(
        **vars(shared),
        first=first,
        second=second,
        rows=[
            ComparedTopic(topic, shown(left), shown(right), f"{left - right:+.4f}")
            for topic, left, right in sorted(
                zip(topics, *pairs.tolist(), strict=True), key=lambda row: natural(row[0])
            )
        ],
        means=means,
        summary=summary,
        overlap=_overlap(first, second),
        mean_difference=f"{_mean((overall[0] - overall[1]).tolist()):+.4f}" if topics else "",
        n_better=sum(gap > 0 for _, gap in differences),
        n_worse=sum(gap < 0 for _, gap in differences),
        n_equal=sum(gap == 0 for _, gap in differences),
        plot=plots.bars(
            f"{board.track.slug}-{first.run_id}-{second.run_id}-difference",
            f"{shared.charted}: {first.run.tag} minus {second.run.tag}, by topic",
            sorted(differences, key=lambda item: -item[1]),
            up=f"Difference in {shared.charted}",
        ),
        tests=tests,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _overlap(first: Evaluation, second: Evaluation) -> str:
    """Mean rank-biased overlap of the complete runs over topics; empty if a stored run cannot be read."""
    try:
        overlaps = overlap_of_runs(columns_of(first.run), columns_of(second.run)).values()
    except LeaderboardRefused:
        return ""
    return shown(_mean([overlap.extrapolated for overlap in overlaps])) if overlaps else ""


def _tukey(first: Evaluation, second: Evaluation, measure: str) -> float | None:
    """The stored p-value of a pair of runs in the test of all pairs of their leaderboard."""
    board = first.leaderboard
    stored = board.by_measure.filter(measure=measure).first()
    places = places_of(board)
    if stored is None or stored.pairs is None or first.pk not in places or second.pk not in places:
        return None
    p = unpacked_pairs(bytes(stored.pairs), len(stored.means))
    return float(p[places[first.pk], places[second.pk]])


class ScoredRun(NamedTuple):
    """A run with the names of the leaderboard's measures and its means."""

    evaluation: Evaluation
    means: list[tuple[str, str]]


class BoardScores(NamedTuple):
    """The scores of some runs on one leaderboard; `measures` are names with titles."""

    board: Leaderboard
    measures: list[tuple[str, str]]
    runs: list[ScoredRun]


def _scored(user: Any, runs: Value) -> QuerySet[Evaluation]:
    """As `evaluations_for`, of some runs on finished leaderboards, newest first."""
    may_see = Q(leaderboard__release=Leaderboard.Release.PUBLIC)
    may_see |= Q(run__team__in=Team.objects.filter(members=user).order_by().values("pk"))
    may_see |= Q(leaderboard__track__in=Organizer.objects.filter(user=user).order_by().values("track"))
    evaluations = _evaluations().filter(may_see, is_among("run", runs)).defer("curves")
    finished = seen_by(user).filter(status=Leaderboard.Status.READY).order_by().values("pk")
    return evaluations.filter(leaderboard__in=finished).order_by("-leaderboard", "run__priority", "run")


_SCORED = Prepared(_scored)
_MEANS = Prepared(lambda evaluations: Score.objects.filter(is_among("evaluation", evaluations), topic=ALL))


def scores_of(user: AnyUser, runs: QuerySet[Run]) -> list[BoardScores]:
    """The scores of runs by leaderboard, newest first. Three queries."""
    newest_first = _SCORED(user=user.pk, runs=list(runs.order_by().values_list("pk", flat=True)))
    ordered = sorted(
        newest_first, key=lambda evaluation: (-evaluation.leaderboard_id, not evaluation.run.is_submitted)
    )
    means: defaultdict[int, dict[str, float]] = defaultdict(dict)
    for mean in _MEANS(evaluations=[evaluation.pk for evaluation in ordered]):
        means[mean.evaluation_id][mean.measure] = mean.value
    boards: dict[int, BoardScores] = {}
    for evaluation in ordered:
        board = evaluation.leaderboard
        of_board = boards.setdefault(board.pk, BoardScores(board, titled(board), []))
        row = [(measure, shown(means[evaluation.pk][measure])) for measure in board.measures]
        of_board.runs.append(ScoredRun(evaluation, row))
    return list(boards.values())
