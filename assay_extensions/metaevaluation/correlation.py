"""Similarity of the order of runs by a judge and by the truth, for many samples of topics at once.

Arrays are (samples, runs) scores of the same runs; a higher score is better. Values are (samples,): nan where a ranking
ties all runs, or if there are fewer than two runs: a judge that gives every run the same score says nothing about their
order. Kendall's tau-b and tau_AP,b are those of `assay.statistics.rank_correlation`, which has them for one sample.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.statistics.rank_correlation import DECIMALS, PERSISTENCE, Values

CORRELATIONS = ("kendall", "spearman", "pearson", "tau_ap", "tau_gap", "rbo")
AT_ONCE = 1 << 21  # pairs of runs in memory


class _Side(NamedTuple):
    """Scores with (samples, runs, runs) signs: 1 if the row's run is above the column's, -1 if below, 0 if they tie."""

    scores: Values
    sign: NDArray[np.int8]

    @property
    def mean_ranks(self) -> Values:
        """(samples, runs) places; runs that tie share the mean of their places."""
        n_above, n_tied = (self.sign < 0).sum(axis=2), (self.sign == 0).sum(axis=2)
        ranks: Values = n_above + (n_tied + 1) / 2
        return ranks

    @property
    def order(self) -> NDArray[np.int64]:
        """(samples, runs) runs from the best on; runs that tie are in the order of the arrays."""
        return np.argsort(-self.scores, axis=1, kind="stable")


def correlations(truth: Values, judge: Values) -> Mapping[str, Values]:
    """Each correlation of `CORRELATIONS`, by name.

    >>> {name: values.round(3).tolist() for name, values in correlations(
    ...     np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 2.0, 5.0]])).items() if name in ("kendall", "pearson")}
    {'kendall': [1.0], 'pearson': [0.961]}
    """
    n_samples, n_runs = truth.shape
    size = max(1, AT_ONCE // max(1, n_runs**2))
    parts = [
        _correlations(truth[start : start + size], judge[start : start + size])
        for start in range(0, n_samples, size)
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name in CORRELATIONS}


def correlation(name: str, truth: Values, judge: Values) -> float:
    """One correlation of one sample: of (runs,) scores."""
    return float(correlations(truth[None, :], judge[None, :])[name][0])


def _correlations(truth: Values, judge: Values) -> dict[str, Values]:
    left, right = _side(truth), _side(judge)
    values = {
        "kendall": _kendall(left, right),
        "spearman": _pearson(left.mean_ranks, right.mean_ranks),
        "pearson": _pearson(truth, judge),
        "tau_ap": (_untied_tau_ap(left, right) + _untied_tau_ap(right, left)) / 2,
        "tau_gap": _tau_gap(truth, right),
        "rbo": _overlap(left, right),
    }
    is_ranked = left.sign.any(axis=(1, 2)) & right.sign.any(axis=(1, 2))
    return {name: np.where(is_ranked, of_name, np.nan) for name, of_name in values.items()}


def _side(scores: Values) -> _Side:
    rounded = np.round(scores, DECIMALS)
    return _Side(scores, np.sign(rounded[:, :, None] - rounded[:, None, :]).astype(np.int8))


def _divided(part: Values, whole: Values) -> Values:
    divided: Values = np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=whole > 0)
    return divided


def _kendall(left: _Side, right: _Side) -> Values:
    """Concordant minus discordant pairs, normalized for ties: each pair is there twice."""
    untied = [np.count_nonzero(side.sign, axis=(1, 2)).astype(np.float64) for side in (left, right)]
    return _divided(
        (left.sign * right.sign).sum(axis=(1, 2), dtype=np.float64), np.sqrt(untied[0] * untied[1])
    )


def _pearson(truth: Values, judge: Values) -> Values:
    left, right = (values - values.mean(axis=1, keepdims=True) for values in (truth, judge))
    return _divided(
        (left * right).sum(axis=1), np.sqrt(np.square(left).sum(axis=1) * np.square(right).sum(axis=1))
    )


def _untied_tau_ap(truth: _Side, estimated: _Side) -> Values:
    """AP correlation over the runs that have a run strictly above them in the estimate."""
    is_above = estimated.sign < 0
    n_above = is_above.sum(axis=2)
    n_correct = (is_above & (truth.sign < 0)).sum(axis=2)
    shares = np.divide(n_correct, n_above, out=np.zeros(n_above.shape), where=n_above > 0)
    return 2 * _divided(shares.sum(axis=1), (n_above > 0).sum(axis=1).astype(np.float64)) - 1


def _tau_gap(truth: Values, judge: _Side) -> Values:
    """Gap-sensitive AP correlation: an exchange of two runs costs as much as they differ in the truth.

    Runs that tie for the judge count in the order of the arrays; the caller sorts them by name. It is not symmetric.

    Source:
        Gao & Oard (2015), doi:10.1145/2766462.2767730; equals auto-judge-evaluate.
    """
    by_judge = np.take_along_axis(truth, judge.order, axis=1)
    gaps = np.tril(by_judge[:, None, :] - by_judge[:, :, None], -1)  # of each run to those above it
    total = np.abs(gaps).sum(axis=2)
    shares = np.divide(np.maximum(gaps, 0).sum(axis=2), total, out=np.zeros(total.shape), where=total > 0)
    return 2 * _divided(shares.sum(axis=1), (total > 0).sum(axis=1).astype(np.float64)) - 1


def _overlap(left: _Side, right: _Side) -> Values:
    """Rank-biased overlap of the two orders, extrapolated: both have all runs.

    Source:
        Webber, Moffat & Zobel (2010), doi:10.1145/1852102.1852106: equation 30.
    """
    n_samples, n_runs = left.scores.shape
    places = [np.argsort(side.order, axis=1) for side in (left, right)]
    deeper = np.maximum(places[0], places[1]) + n_runs * np.arange(n_samples)[:, None]
    added = np.bincount(deeper.ravel(), minlength=n_samples * n_runs).reshape(n_samples, n_runs)
    depth = np.arange(1, n_runs + 1, dtype=np.float64)
    weight = PERSISTENCE**depth
    agreement = np.cumsum(added, axis=1) / depth
    overlap: Values = (1 - PERSISTENCE) / PERSISTENCE * (agreement @ weight) + agreement[:, -1] * weight[-1]
    return overlap
