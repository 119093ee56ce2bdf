"""Similarity of the order of runs by a judge and by the truth, in addition to tau-b and tau_AP of `assay.statistics`.

Arrays are (runs,) scores of the same runs; a higher score is better. A value is nan if a ranking ties all runs, or if
there are fewer than two runs: a judge that gives every run the same score says nothing about their order.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np

from assay.statistics.rank_correlation import (
    PERSISTENCE,
    Values,
    kendall_tau,
    rank_biased_overlap,
    ranks,
    tau_ap_b,
)


def pearson(truth: Values, judge: Values) -> float:
    """Pearson's correlation of scores.

    >>> round(pearson(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 5.0])), 3)
    0.961
    """
    if len(truth) < 2 or not np.ptp(truth) or not np.ptp(judge):
        return math.nan
    left, right = truth - truth.mean(), judge - judge.mean()
    return float(left @ right) / math.sqrt(float(left @ left) * float(right @ right))


def spearman(truth: Values, judge: Values) -> float:
    """Spearman's correlation: Pearson's of ranks, where runs that tie share the mean of their places."""
    return pearson(_mean_ranks(truth), _mean_ranks(judge))


def _mean_ranks(scores: Values) -> Values:
    best = ranks(scores)
    return best + (np.bincount(best)[best] - 1) / 2


def tau_gap(truth: Values, judge: Values) -> float:
    """Gap-sensitive AP correlation: an exchange of two runs costs as much as they differ in the truth.

    Runs that tie for the judge count in the order of the arrays; the caller sorts them by name. It is not symmetric.

    Source:
        Gao & Oard (2015), doi:10.1145/2766462.2767730; equals auto-judge-evaluate.

    >>> tau_gap(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.0, 3.0, 4.0]))
    1.0
    """
    if len(truth) < 2 or not np.ptp(truth) or not np.ptp(judge):
        return math.nan
    by_judge = truth[np.argsort(-judge, kind="stable")]
    gaps = np.tril(by_judge[None, :] - by_judge[:, None], -1)  # of each run to those above it
    total = np.abs(gaps).sum(axis=1)
    is_counted = total > 0
    return 2 * float((np.maximum(gaps, 0).sum(axis=1)[is_counted] / total[is_counted]).mean()) - 1


def overlap_of_orders(truth: Values, judge: Values) -> float:
    """Rank-biased overlap of the two orders, extrapolated. Runs that tie are in the order of the arrays."""
    if len(truth) < 2 or not np.ptp(truth) or not np.ptp(judge):
        return math.nan
    order = np.array([np.argsort(np.argsort(-scores, kind="stable")) + 1 for scores in (truth, judge)]).T
    return rank_biased_overlap(order, len(truth), len(judge), PERSISTENCE).extrapolated


CORRELATIONS: Mapping[str, Callable[[Values, Values], float]] = {
    "kendall": kendall_tau,
    "spearman": spearman,
    "pearson": pearson,
    "tau_ap": tau_ap_b,
    "tau_gap": tau_gap,
    "rbo": overlap_of_orders,
}


def correlation(name: str, truth: Values, judge: Values) -> float:
    """A correlation of `CORRELATIONS`; nan if the truth or the judge ties all runs."""
    if len(truth) < 2 or not np.ptp(ranks(truth)) or not np.ptp(ranks(judge)):
        return math.nan
    return CORRELATIONS[name](truth, judge)
