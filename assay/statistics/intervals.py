"""Confidence intervals of mean scores, by the bootstrap over topics: bias-corrected and accelerated (BCa).

The topics are drawn again, with replacement, as many as there are; each draw gives every run a mean. The interval is
read from the spread of these means, shifted for their bias and skew: scores of a measure between 0 and 1 pile up at
the ends, and there the plain percentile interval covers the mean less often than it says. All runs get the same
draws, so that the interval of a difference is that of the differences.

Lots come from the raw stream of PCG64: the same seed gives the same interval on any machine, to rounding.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.statistics.significance import MAX_SEED, Scores, checked

N_RESAMPLES = 10_000
LEVEL = 0.95
HALF = np.uint64(32)
NORMAL = NormalDist()
BLOCK = 1 << 21  # draws of a topic held at a time


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """The interval of each run's mean.

    Attributes
    ----------
    means, low, high : (runs,)
    level : share of such intervals that are to hold the true mean.
    n_resamples, seed : how it was drawn.
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
        """What `as_json` gave.

        Raises
        ------
        KeyError
            It is something else.
        """
        means, low, high = (np.array(stored[name], dtype=np.float64) for name in ("means", "low", "high"))
        return cls(means, low, high, stored["level"], stored["n_resamples"], stored["seed"])


def bootstrap(
    scores: Scores, *, seed: int, level: float = LEVEL, n_resamples: int = N_RESAMPLES
) -> Intervals:
    """The BCa interval of each run's mean over topics.

    For the interval of a difference between two runs, give their differences as the scores of one. Where all
    topics have one value, or there is one topic only, the interval is that value.

    Parameters
    ----------
    scores : (runs, topics)

    Raises
    ------
    ValueError
        Scores of another shape or not finite, a level not between 0 and 1, no resample, or a seed out of range.

    Source
    ------
    Efron (1987), doi:10.2307/2289144; of retrieval measures: Savoy (1997), doi:10.1016/S0306-4573(97)00027-7.
    """
    if not 0 < level < 1:
        raise ValueError(f"the level is {level}; use a number between 0 and 1, such as 0.95")
    if n_resamples < 1 or not 0 <= seed <= MAX_SEED:
        raise ValueError(f"{n_resamples} resamples with the seed {seed}; at least 1, and a seed from 0")
    resampled = _resampled_means(checked(scores), n_resamples, seed)
    resampled.sort(axis=1)
    means = scores.mean(axis=1)
    low, high = np.empty_like(means), np.empty_like(means)
    for run, drawn in enumerate(resampled):
        low[run], high[run] = _bca(scores[run], drawn, float(means[run]), level)
    return Intervals(means, low, high, level, n_resamples, seed)


def _resampled_means(scores: Scores, n_resamples: int, seed: int) -> NDArray[np.float64]:
    """(runs, resamples)"""
    n_runs, n_topics = scores.shape
    stream = np.random.PCG64(seed)
    means = np.empty((n_runs, n_resamples))
    size = max(1, BLOCK // n_topics)
    for start in range(0, n_resamples, size):
        n = min(size, n_resamples - start)
        # the upper half of each number, times the topics, gives a topic: bias below one in ten million
        lots = ((stream.random_raw(n * n_topics) >> HALF) * np.uint64(n_topics)) >> HALF
        cell = lots.astype(np.int64).reshape(n, n_topics) + (np.arange(n) * n_topics)[:, None]
        times = np.bincount(cell.ravel(), minlength=n * n_topics).reshape(n, n_topics)
        means[:, start : start + n] = scores @ times.T.astype(np.float64) / n_topics
    return means


def _bca(values: Scores, drawn: NDArray[np.float64], mean: float, level: float) -> tuple[float, float]:
    """The interval of one run; `drawn` are its resampled means in order."""
    tolerance = 1e-12 * max(1.0, abs(mean))  # a resample with the very same mean may differ by rounding
    if np.ptp(values) <= tolerance:
        return mean, mean
    below = float(np.searchsorted(drawn, mean - tolerance))
    upto = float(np.searchsorted(drawn, mean + tolerance, side="right"))
    share = (below + upto) / (2 * len(drawn))  # of equal ones half, as they are many where values are few
    # with few resamples all may lie on one side
    bias = NORMAL.inv_cdf(min(max(share, 0.5 / len(drawn)), 1 - 0.5 / len(drawn)))
    acceleration = _acceleration(values)
    low, high = (
        _shifted(bias, acceleration, NORMAL.inv_cdf(tail)) for tail in ((1 - level) / 2, (1 + level) / 2)
    )
    return float(np.quantile(drawn, low)), float(np.quantile(drawn, high))


def _shifted(bias: float, acceleration: float, z: float) -> float:
    """The share of resamples below an end of the interval that a percentile interval would take at z."""
    grown = 1 - acceleration * (bias + z)
    return NORMAL.cdf(bias + (bias + z) / grown) if grown > 0 else 1.0


def _acceleration(values: Scores) -> float:
    """How fast the spread of a mean grows with it, from the skew of the topics: the jackknife's estimate."""
    away = values - values.mean()
    return float((away**3).sum() / (6 * ((away**2).sum()) ** 1.5))
