"""Confidence intervals of scores by the bootstrap over topics: bias-corrected and accelerated (BCa).

A resample draws as many topics as there are, at random and with replacement, and gives every run a mean. The ends of
the interval are quantiles of these means, corrected for bias and skew: scores between 0 and 1 accumulate at the ends,
where the plain percentile interval covers the mean less often than its level. All runs get the same resamples, so that
the interval of a difference is that of the differences. A ratio of sums over topics is computed from the sums of each
resample.

Random draws come from the raw stream of PCG64: the same seed gives the same interval on any machine, up to rounding.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.statistics.significance import MAX_SEED, Scores, checked_scores

N_RESAMPLES = 10_000
LEVEL = 0.95
HALF = np.uint64(32)
NORMAL = NormalDist()
BLOCK = 1 << 21  # random topics held at a time


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """The confidence interval of each run's mean.

    Attributes
    ----------
    means, low, high : (runs,) the mean, and the ends of its interval.
    level : the confidence level, such as 0.95.
    n_resamples, seed : number of resamples, and the seed of their random draws.
    """

    means: Scores
    low: Scores
    high: Scores
    level: float
    n_resamples: int
    seed: int

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "means": self.means.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "level": self.level,
            "n_resamples": self.n_resamples,
            "seed": self.seed,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The intervals from the output of `as_json`.

        Raises
        ------
        KeyError
            The values are something else.
        """
        means, low, high = (np.array(stored[name], dtype=np.float64) for name in ("means", "low", "high"))
        return cls(means, low, high, stored["level"], stored["n_resamples"], stored["seed"])


def bootstrap(
    scores: Scores, *, seed: int, level: float = LEVEL, n_resamples: int = N_RESAMPLES
) -> Intervals:
    """The BCa interval of each run's mean over topics.

    For the interval of the difference between two runs, pass their differences as the scores of one run. If all topics
    have the same value, or if there is one topic only, the interval is that value.

    Parameters
    ----------
    scores : (runs, topics) values of one measure.
    seed : seed of the random draws.
    level : confidence level, between 0 and 1.
    n_resamples : number of resamples, at least 1.

    Raises
    ------
    ValueError
        The scores have another shape or are not finite, or one of the other arguments is out of range.

    Source
    ------
    Efron (1987), doi:10.2307/2289144; for retrieval measures: Savoy (1997), doi:10.1016/S0306-4573(97)00027-7.
    """
    _check(level, n_resamples, seed)
    resampled = _resampled_means(checked_scores(scores), n_resamples, seed)
    resampled.sort(axis=1)
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

    Parameters
    ----------
    counts : (topics, counts) what each topic adds to the sums.
    value_of : from sums (rows, counts) to their ratios (rows,).

    Raises
    ------
    ValueError
        As for `bootstrap`.
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
    if n_resamples < 1 or not 0 <= seed <= MAX_SEED:
        raise ValueError(
            f"got {n_resamples} resamples and the seed {seed}; use at least 1 resample and a seed from 0 to {MAX_SEED}"
        )


def _resampled_means(scores: Scores, n_resamples: int, seed: int) -> NDArray[np.float64]:
    """(runs, resamples) means."""
    n_topics = scores.shape[1]
    return np.hstack([scores @ times.T / n_topics for times in _drawn(n_topics, n_resamples, seed)])


def _drawn(n_topics: int, n_resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """How often each topic is in each resample: arrays (resamples, topics), a part at a time."""
    stream = np.random.PCG64(seed)
    size = max(1, BLOCK // n_topics)
    for start in range(0, n_resamples, size):
        n = min(size, n_resamples - start)
        # the upper half of each random number, times the number of topics: a bias below one in ten million
        drawn = ((stream.random_raw(n * n_topics) >> HALF) * np.uint64(n_topics)) >> HALF
        cell = drawn.astype(np.int64).reshape(n, n_topics) + (np.arange(n) * n_topics)[:, None]
        times = np.bincount(cell.ravel(), minlength=n * n_topics).reshape(n, n_topics)
        yield times.astype(np.float64)


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
    acceleration = _acceleration(values)
    low, high = (
        _shifted(bias, acceleration, NORMAL.inv_cdf(tail)) for tail in ((1 - level) / 2, (1 + level) / 2)
    )
    return float(np.quantile(resampled, low)), float(np.quantile(resampled, high))


def _shifted(bias: float, acceleration: float, z: float) -> float:
    """The quantile of the resamples that replaces the normal quantile z of a percentile interval."""
    grown = 1 - acceleration * (bias + z)
    return NORMAL.cdf(bias + (bias + z) / grown) if grown > 0 else 1.0


def _acceleration(values: Scores) -> float:
    """How fast the standard error changes with the mean: the jackknife estimate, from the skew of the topics."""
    away = values - values.mean()
    return float((away**3).sum() / (6 * ((away**2).sum()) ** 1.5))
