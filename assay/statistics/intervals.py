"""Confidence intervals of scores by the bootstrap over topics: bias-corrected and accelerated (BCa).

A resample draws as many topics as there are, at random and with replacement, and gives every run a mean. The ends of
the interval are quantiles of these means, corrected for bias and skew: scores between 0 and 1 accumulate at the ends,
where the plain percentile interval covers the mean less often than its level. All runs get the same resamples, so that
the interval of a difference is that of the differences. A ratio of sums over topics is computed from the sums of each
resample.

Random draws come from the raw stream of PCG64: the same seed gives the same interval on any machine, up to rounding.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from assay.statistics.significance import Scores, check_draws, checked_scores

N_RESAMPLES = 10_000
LEVEL = 0.95
HALF = np.uint64(32)
NORMAL = NormalDist()
BLOCK = 1 << 21  # random topics held at a time


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """The confidence interval of each run's mean.

    Args:
        means, low, high: (runs,) the mean, and the ends of its interval.
        level: the confidence level, such as 0.95.
        n_resamples, seed: number of resamples, and the seed of their random draws.
    """

    means: Scores
    low: Scores
    high: Scores
    level: float
    n_resamples: int
    seed: int


def bootstrap(
    scores: Scores, *, seed: int, level: float = LEVEL, n_resamples: int = N_RESAMPLES
) -> Intervals:
    """The BCa interval of each run's mean over topics.

    For the interval of the difference between two runs, pass their differences as the scores of one run. If all topics
    have the same value, or if there is one topic only, the interval is that value.

    Args:
        level: confidence level, between 0 and 1.
        n_resamples: number of resamples, at least 1.

    Source:
        Efron (1987), doi:10.2307/2289144; for retrieval measures: Savoy (1997), doi:10.1016/S0306-4573(97)00027-7.
    """
    _check(level, n_resamples, seed)
    n_topics = checked_scores(scores).shape[1]
    resampled = np.hstack([scores @ times.T / n_topics for times in _drawn(n_topics, n_resamples, seed)])
    resampled.sort(axis=1)  # (runs, resamples)
    means = scores.mean(axis=1)
    low, high = np.empty_like(means), np.empty_like(means)
    for run, sorted_means in enumerate(resampled):
        low[run], high[run] = _bca(scores[run], sorted_means, float(means[run]), level)
    return Intervals(means, low, high, level, n_resamples, seed)


def bootstrap_ratio(
    counts: Scores,
    value_of: Callable[[Scores], Scores],
    *,
    seed: int,
    level: float = LEVEL,
    n_resamples: int = N_RESAMPLES,
) -> tuple[float, float]:
    """The ends of the BCa interval of a ratio of sums over topics, such as the accuracy of all labels of a run.

    The resamples are those of `bootstrap` with the same seed and number of topics.

    Args:
        counts: (topics, counts) what each topic adds to the sums.
        value_of: from sums (rows, counts) to their ratios (rows,).
    """
    _check(level, n_resamples, seed)
    total = checked_scores(counts).sum(axis=0)
    parts = _drawn(len(counts), n_resamples, seed)
    resampled = np.sort(np.concatenate([value_of(times @ counts) for times in parts]))
    without_one = value_of(total - counts)
    return _bca(-without_one, resampled, float(value_of(total[np.newaxis])[0]), level)


def _check(level: float, n_resamples: int, seed: int) -> None:
    if not 0 < level < 1:
        raise ValueError(f"the level is {level}; use a number between 0 and 1, such as 0.95")
    check_draws(n_resamples, seed)


def _drawn(n_topics: int, n_resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yield how often each topic is in each resample: arrays (resamples, topics), a part at a time."""
    stream = np.random.PCG64(seed)
    size = max(1, BLOCK // n_topics)
    if n_resamples <= size:
        yield _kept_part(n_topics, n_resamples, seed)
        return
    for start in range(0, n_resamples, size):
        yield _part(stream, n_topics, min(size, n_resamples - start))


@lru_cache(maxsize=1)
def _kept_part(n_topics: int, n_resamples: int, seed: int) -> NDArray[np.float64]:
    """The only part, which the next measure of a leaderboard needs again."""
    return _part(np.random.PCG64(seed), n_topics, n_resamples)


def _part(stream: np.random.PCG64, n_topics: int, n: int) -> NDArray[np.float64]:
    # the upper half of each random number, times the number of topics: a bias below one in ten million
    drawn = ((stream.random_raw(n * n_topics) >> HALF) * np.uint64(n_topics)) >> HALF
    cell = drawn.astype(np.int64).reshape(n, n_topics) + (np.arange(n) * n_topics)[:, None]
    times = np.bincount(cell.ravel(), minlength=n * n_topics).reshape(n, n_topics)
    return times.astype(np.float64)


def _bca(values: Scores, resampled: NDArray[np.float64], mean: float, level: float) -> tuple[float, float]:
    """The interval of one run; `resampled` are its resampled means, ascending.

    `values` are those of the topics, or the negated values without one topic each: both have the same skew.
    """
    tolerance = 1e-12 * max(1.0, abs(mean))  # equal means may differ by rounding errors
    if np.ptp(values) <= tolerance:
        return mean, mean
    n = len(resampled)
    n_below = float(np.searchsorted(resampled, mean - tolerance))
    n_up_to = float(np.searchsorted(resampled, mean + tolerance, side="right"))
    share = (n_below + n_up_to) / (2 * n)  # equal means count half: few distinct values give many of them
    # with few resamples all means may be on one side
    bias = NORMAL.inv_cdf(min(max(share, 0.5 / n), 1 - 0.5 / n))
    # how fast the standard error changes with the mean: the jackknife estimate, from the skew of the topics
    away = values - values.mean()
    acceleration = float((away**3).sum() / (6 * ((away**2).sum()) ** 1.5))
    ends = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        z = NORMAL.inv_cdf(tail)  # the normal quantile of a percentile interval, which is shifted
        grown = 1 - acceleration * (bias + z)
        shifted = NORMAL.cdf(bias + (bias + z) / grown) if grown > 0 else 1.0
        ends.append(float(np.quantile(resampled, shifted)))
    return ends[0], ends[1]
