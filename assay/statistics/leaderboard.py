"""What a leaderboard says beside its means: how sure each is, which runs are told apart, and how much is judged.

Kept with the leaderboard as plain values, with the seed, so that every figure can be computed again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.evaluation.curves import CUTOFFS, RECALLS, precision_at, recall_precision
from assay.measures.matching import Hits, JudgedDocuments
from assay.measures.registry import kernel_of
from assay.measures.scores import RunScores
from assay.protocols.measures import FAMILIES, Measure
from assay.protocols.schema import Average
from assay.statistics.intervals import LEVEL, N_RESAMPLES, bootstrap
from assay.statistics.significance import PairTest, Progress, silent
from assay.statistics.tukey import letters, tiers, tukey_hsd

JUDGED_AT_10 = Measure("judged", k=10)


class JudgedShares(NamedTuple):
    """How much of a run is judged.

    judged_at_10 : mean over the topics averaged over of the judged share of the top 10; a missing topic counts 0.
    unjudged : share of all documents returned for the qrels' topics; 0.0 if there are none.
    """

    judged_at_10: float
    unjudged: float


def judged_shares(hits: Hits, judged: JudgedDocuments, average: Average) -> JudgedShares:
    """Count a run's judged documents."""
    values = kernel_of(JUDGED_AT_10.family)(hits, judged, JUDGED_AT_10)
    averaged = values[hits.n_returned > 0] if average == "common" else values
    n_returned = int(hits.n_returned.sum())
    unjudged = 1.0 - len(hits.topic) / n_returned if n_returned else 0.0
    return JudgedShares(float(averaged.mean()) if len(averaged) else 0.0, unjudged)


def mean_curves(
    hits: Hits, judged: JudgedDocuments, *, level: int, judged_only: bool, average: Average
) -> dict[str, Any]:
    """Precision at cutoffs and at levels of recall, averaged as the measures are; as plain values."""
    is_averaged = hits.n_returned > 0 if average == "common" else np.ones(judged.n_topics, np.bool_)
    hits = hits.judged_only() if judged_only else hits
    precision = precision_at(hits, level=level)[is_averaged]
    by_recall = recall_precision(hits, judged, level=level)[is_averaged]
    return {
        "level": level,
        "judged_only": judged_only,
        "cutoffs": list(CUTOFFS),
        "precision": _means(precision),
        "recalls": list(RECALLS),
        "by_recall": _means(by_recall),
    }


def _means(values: NDArray[np.float64]) -> list[float]:
    """Mean of each column; 0.0 if it is over no topic at all."""
    return values.mean(axis=0).tolist() if len(values) else [0.0] * values.shape[1]


@dataclass(frozen=True, slots=True)
class MeasureStatistics:
    """What is known of one measure's means, in the order of the runs.

    Attributes
    ----------
    low, high : (runs,) ends of the confidence interval of each mean.
    tier : letters of each run; two runs that share one are not told apart.
    n_topics : topics that the test is over: those that all averages have.
    """

    low: list[float]
    high: list[float]
    level: float
    tier: list[str]
    critical: float | None
    n_topics: int
    n_permutations: int
    n_resamples: int


def board_statistics(
    scored: Sequence[RunScores],
    measures: Sequence[Measure],
    *,
    average: Average,
    seed: int,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Intervals and Tukey's test of every measure, as plain values by the measure's name.

    Where means are over the topics that a run has, its interval is over these, and runs are tested on the topics
    that all of them have; otherwise all topics count, a missing one with 0. Empty where there is no run or no topic.
    Measures that are not summed up by their mean (GMAP, NumRet) are left out.
    """
    is_shared = np.all([one.averaged(average) for one in scored], axis=0) if scored else np.zeros(0, np.bool_)
    if not len(is_shared):
        return {}
    by_measure: dict[str, Any] = {}
    for column, measure in enumerate(measures):
        progress(column, len(measures))
        if (
            FAMILIES[measure.family].summary != "mean"
        ):  # an interval of the mean says nothing of another summary
            continue
        shared = np.array([one.values[is_shared, column] for one in scored])
        by_measure[str(measure)] = {
            **(
                _intervals(shared, seed) if is_shared.all() else _own_intervals(scored, column, average, seed)
            ),
            "tukey": tukey_hsd(shared, seed=seed).as_json() if is_shared.any() else None,
        }
    return {
        "n_topics": int(is_shared.sum()),
        "level": LEVEL,
        "n_resamples": N_RESAMPLES,
        "measures": by_measure,
    }


def _intervals(scores: NDArray[np.float64], seed: int) -> dict[str, list[float]]:
    found = bootstrap(scores, seed=seed)
    return {"low": found.low.tolist(), "high": found.high.tolist()}


def _own_intervals(
    scored: Sequence[RunScores], column: int, average: Average, seed: int
) -> dict[str, list[float]]:
    """Each run's interval over its own topics; a run that has none of them has nothing to be sure of."""
    ends: dict[str, list[float]] = {"low": [], "high": []}
    for one in scored:
        values = one.values[one.averaged(average), column]
        found = _intervals(values[None, :], seed) if len(values) else {"low": [0.0], "high": [0.0]}
        ends["low"] += found["low"]
        ends["high"] += found["high"]
    return ends


def measure_statistics(stored: Mapping[str, Any], measure: str) -> MeasureStatistics | None:
    """One measure of what `board_statistics` gave; None where it has it not."""
    found = stored.get("measures", {}).get(measure)
    if found is None:
        return None
    n_runs = len(found["low"])
    test = PairTest.from_json(found["tukey"]) if found["tukey"] else None
    return MeasureStatistics(
        low=found["low"],
        high=found["high"],
        level=stored["level"],
        tier=letters(tiers(test), n_runs) if test else [""] * n_runs,
        critical=test.critical if test else None,
        n_topics=stored["n_topics"],
        n_permutations=test.n_permutations if test else 0,
        n_resamples=stored["n_resamples"],
    )
