"""Statistics of a leaderboard: confidence intervals, tiers of runs, judged shares and mean curves.

The site stores them with the leaderboard and its seed, so that every number can be computed again.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from assay.measures.curves import CUTOFFS, RECALLS, precision_at, recall_precision
from assay.measures.kernels import judged_share
from assay.measures.matching import Hits, JudgedDocuments
from assay.measures.scores import RunScores
from assay.protocols.measures import FAMILIES, Measure
from assay.protocols.schema import Average
from assay.statistics.intervals import (
    LEVEL,
    N_RESAMPLES,
    Method,
    bootstrap,
    bootstrap_ratio,
    interval_of_ratio,
    intervals_of_means,
)
from assay.statistics.significance import PairTest, Progress, Scores, silent
from assay.statistics.tukey import letters, tiers, tukey_of_measures

JUDGED_AT_10 = Measure("judged", k=10)
NOT_COMPARABLE = "not comparable"  # in place of the tier of a run without a judged document
# What the best run is compared with; no oracle is among the automatic ones
Baselines = Literal["all", "automatic"]
STRONGEST: dict[Baselines, str] = {
    "all": "strongest baseline",
    "automatic": "strongest automatic baseline without oracles",
}


def counted(
    hits: Hits,
    judged: JudgedDocuments,
    scores: RunScores,
    measures: Sequence[Measure],
    *,
    level: int,
    judged_only: bool,
    average: Average,
    of_answers: bool,
) -> dict[str, Any]:
    """The figures of a run on a leaderboard besides its scores, as plain values.

    Args:
        n_topics, n_missing: topics that are averaged over, and topics of the qrels that the run does not have.
        judged_at_10: judged share of the top 10, averaged over topics as the measures are; a missing topic counts 0.
        unjudged: unjudged share of all documents returned for topics of the qrels; 0.0 if there are none.
        first_grades: see `first_grades`.
        first_hits: see `first_hits`.
        curves: see `mean_curves`.

    If runs are `of_answers`, only the topics are counted: generated answers rank nothing.
    """
    is_averaged = scores.averaged(average)
    averaged = judged_share(hits, judged, JUDGED_AT_10)[is_averaged]
    n_returned = int(hits.n_returned.sum())
    topics = {"n_topics": int(is_averaged.sum()), "n_missing": scores.n_missing}
    if of_answers:
        without: dict[str, Any] = {"first_grades": {}, "first_hits": {}, "curves": {}}
        return {**topics, "judged_at_10": None, "unjudged": None, **without}
    return {
        **topics,
        "judged_at_10": float(averaged.mean()) if len(averaged) else 0.0,
        "unjudged": 1.0 - len(hits.topic) / n_returned if n_returned else 0.0,
        "first_grades": first_grades(hits),
        "first_hits": first_hits(hits, judged),
        "curves": mean_curves(
            hits,
            judged,
            level=level,
            judged_only=judged_only,
            average=average,
            in_characters=any(measure.in_characters for measure in measures),
        ),
    }


def first_grades(hits: Hits) -> dict[str, int]:
    """The number of topics by the grade of the first document; -1 where it is not judged, or the run has none."""
    first = hits.grade[hits.rank == 1]
    counts = Counter(first.tolist())
    counts[-1] = len(hits.n_returned) - len(first)
    return {str(grade): n for grade, n in sorted(counts.items()) if n}


def first_hits(hits: Hits, judged: JudgedDocuments) -> dict[str, list[Any]]:
    """The first document of each topic that has a grade, and the grade; without topics that have no such document."""
    graded = hits.graded()
    if graded.entry is None:
        return {}
    topics, rows = np.unique(graded.topic, return_index=True)
    documents = judged.docno[graded.entry[rows]]
    named = zip(judged.topics[topics].tolist(), documents.tolist(), graded.grade[rows].tolist(), strict=True)
    return {topic: [docno.decode(), grade] for topic, docno, grade in named}


def mean_curves(
    hits: Hits,
    judged: JudgedDocuments,
    *,
    level: int,
    judged_only: bool,
    average: Average,
    in_characters: bool = False,
) -> dict[str, Any]:
    """Precision at cutoffs and at levels of recall, averaged over topics as the measures are, as plain values.

    Args:
        level: grade from which a document is relevant.
        judged_only: whether unjudged documents are removed first; not in characters, which have no unjudged documents.
        in_characters: whether to count characters of citations.
    """
    is_averaged = hits.n_returned > 0 if average == "common" else np.ones(judged.n_topics, np.bool_)
    hits = hits.judged_only() if judged_only and not in_characters else hits
    precision, by_recall = (
        curve_of(hits, judged, level=level, in_characters=in_characters)[is_averaged]
        for curve_of in (precision_at, recall_precision)
    )
    return {
        "level": level,
        "judged_only": judged_only,
        **({"in_characters": True} if in_characters else {}),  # left out where it is false
        "cutoffs": list(CUTOFFS),
        "precision": precision.mean(axis=0).tolist() if len(precision) else [0.0] * len(CUTOFFS),
        "recalls": list(RECALLS),
        "by_recall": by_recall.mean(axis=0).tolist() if len(by_recall) else [0.0] * len(RECALLS),
    }


@dataclass(frozen=True, slots=True)
class MeasureStatistics:
    """Statistics of one measure, in the order of the runs.

    Args:
        low, high: (runs,) ends of the confidence interval of each mean; None where it is undefined.
        tier: (runs,) letters; runs that share a letter do not differ significantly. Empty if there is no test.
        test: Tukey's test of all pairs of runs; None if the runs have fewer than two topics in common, or if the
            measure is a ratio of sums, because the test compares means over topics.
    """

    low: list[float | None]
    high: list[float | None]
    tier: list[str]
    test: PairTest | None

    @property
    def stored(self) -> dict[str, Any]:
        """The plain values, without the p-values of the test."""
        return {
            "low": self.low,
            "high": self.high,
            "tier": self.tier,
            "means": self.test.means.tolist() if self.test else [],
            "critical": self.test.critical if self.test else None,
            "n_permutations": self.test.n_permutations if self.test else 0,
        }


@dataclass(frozen=True, slots=True)
class LeaderboardStatistics:
    """Statistics of several measures of the same runs.

    Args:
        n_topics: number of topics that the means of all runs have in common; the tests are over these.
        level: confidence level of the intervals.
        method: of the intervals.
        measures: by the name of the measure.
    """

    n_topics: int
    level: float
    method: Method
    measures: dict[str, MeasureStatistics]

    @property
    def stored(self) -> dict[str, Any]:
        """The plain values that all measures share. Leaderboards had BCa intervals before they named a method."""
        shared = {"n_topics": self.n_topics, "level": self.level}
        return shared | ({"n_resamples": N_RESAMPLES} if self.method == "bca" else {"intervals": self.method})


def stored_method(statistics: Mapping[str, Any]) -> Method:
    method: Method = statistics.get("intervals", "bca")
    return method


def leaderboard_statistics(
    scored: Sequence[RunScores],
    measures: Sequence[Measure],
    *,
    average: Average,
    seed: int,
    method: Method = "skewed-t",
    progress: Progress = silent,
) -> LeaderboardStatistics | None:
    """Intervals and Tukey's test of every measure.

    With the average "judged", all topics of the qrels count, a missing one with 0. With "common", the interval of a run
    is over its own topics, and the test is over the topics that all runs have. Geometric means and sums (GMAP, NumRet)
    are left out.

    Args:
        scored: scores of each run, against the same qrels.
        method: of the intervals. Leaderboards with BCa intervals also had a test over a single topic.

    Returns:
        None for no runs or no topics.
    """
    is_shared = (
        np.all([scores.averaged(average) for scores in scored], axis=0) if scored else np.zeros(0, np.bool_)
    )
    if not len(is_shared):
        return None
    n_topics = int(is_shared.sum())
    tested = [n for n, measure in enumerate(measures) if FAMILIES[measure.family].summary == "mean"]
    tested = tested if n_topics >= (1 if method == "bca" else 2) else []
    values = [
        np.array([scores.values[is_shared, column] for scores in scored]) for column in range(len(measures))
    ]
    tukey = tukey_of_measures([values[column] for column in tested], seed=seed, progress=progress)
    tests = dict(zip(tested, tukey, strict=True))
    by_measure: dict[str, MeasureStatistics] = {}
    for column, measure in enumerate(measures):
        summary = FAMILIES[measure.family].summary
        if summary not in {"mean", "ratio of sums"}:
            continue  # the interval of a mean does not apply, nor does the test
        shared = values[column]
        if summary == "mean" and is_shared.all():
            ends = _ends_of_means(shared, measure, method, seed)
        else:
            own = [_own_ends(scores, column, measure, average, method, seed) for scores in scored]
            ends = [low for low, _ in own], [high for _, high in own]
        test = tests.get(column)
        tier = letters(tiers(test), len(scored)) if test else [""] * len(scored)
        by_measure[str(measure)] = MeasureStatistics(*ends, tier, test)
    return LeaderboardStatistics(n_topics, LEVEL, method, by_measure)


def _ends_of_means(
    scores: Scores, measure: Measure, method: Method, seed: int
) -> tuple[list[float | None], list[float | None]]:
    if method == "bca":
        intervals = bootstrap(scores, seed=seed)
    else:
        intervals = intervals_of_means(scores, within=possible_range(scores, measure))
    return _defined(intervals.low), _defined(intervals.high)


def possible_range(scores: Scores, measure: Measure) -> tuple[float, float]:
    """The lowest and the highest value that a measure can have."""
    family = FAMILIES[measure.family]
    return min(family.least, float(scores.min())), max(family.most, float(scores.max()))


def _defined(ends: Scores) -> list[float | None]:
    return [None if math.isnan(end) else end for end in ends.tolist()]


def _own_ends(
    scores: RunScores, column: int, measure: Measure, average: Average, method: Method, seed: int
) -> tuple[float | None, float | None]:
    """The interval of a run over its own topics that count; None for a run without topics, which was 0 to 0."""
    is_counted = scores.averaged(average)
    if not is_counted.any():
        return (0.0, 0.0) if method == "bca" else (None, None)
    if column not in scores.pooled:
        (low,), (high,) = _ends_of_means(scores.values[None, is_counted, column], measure, method, seed)
        return low, high
    counts, value_of = scores.pooled[column]
    if method == "bca":
        return bootstrap_ratio(counts[is_counted], value_of, seed=seed)
    family = FAMILIES[measure.family]
    ends = interval_of_ratio(counts[is_counted], value_of, within=(family.least, family.most))
    low, high = _defined(np.array(ends))
    return low, high
