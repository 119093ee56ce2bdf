"""Confidence intervals of means and of ratios of sums, over topics.

`intervals_of_means` and `interval_of_ratio` use Student's t, corrected for skew, because scores between 0 and 1
accumulate at the ends: there, a plain t interval often ends below the true mean. Nothing is random.

`bootstrap` and `bootstrap_ratio` are the bias-corrected and accelerated bootstrap (BCa) that leaderboards had before.
With few topics, it contains the mean less often than its level says; it only serves to verify what was stored. Its
draws come from the raw stream of PCG64: the same seed gives the same interval on any machine, up to rounding.

An interval is nan where it is undefined: for a single topic, and for equal values, which do not show how much others
vary.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.statistics.significance import Scores, check_draws, checked_scores, two_sided_p

Method = Literal["skewed-t", "bca"]

METHODS: dict[Method, str] = {
    "skewed-t": "Student's t, corrected for skew",
    "bca": "bootstrap over topics, BCa",
}
# How many of 100 intervals of the level 0.95 contain the true mean, from this number of topics on: the lowest and the
# highest number of the measures that `python -m maintenance.benchmarks intervals` simulates, made and of real runs.
COVERAGE: dict[Method, dict[int, tuple[int, int]]] = {
    "skewed-t": {3: (84, 100), 5: (88, 100), 10: (90, 100), 25: (93, 99), 50: (94, 98)},
    "bca": {3: (55, 100), 5: (70, 100), 10: (80, 98), 25: (87, 98), 50: (90, 96)},
}
N_RESAMPLES = 10_000
LEVEL = 0.95
Range = tuple[float, float]
EVERYWHERE: Range = (-math.inf, math.inf)
HALF = np.uint64(32)
NORMAL = NormalDist()
BLOCK = 1 << 21  # random topics held at a time


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """The confidence interval of each run's mean.

    Args:
        means, low, high: (runs,) the mean, and the ends of its interval; nan where it is undefined.
    """

    means: Scores
    low: Scores
    high: Scores


def intervals_of_means(scores: Scores, *, level: float = LEVEL, within: Range = EVERYWHERE) -> Intervals:
    """The interval of each run's mean over topics: Student's t, corrected for skew.

    Each end is that of the t interval or that of Hall's transformation of it, whichever is farther from the mean. For
    the interval of the difference between two runs, pass their differences as the scores of one run.

    Args:
        level: confidence level, between 0 and 1.
        within: the lowest and the highest value that are possible; the interval does not go beyond.

    Source:
        Hall (1992), On the removal of skewness by transformation, Journal of the Royal Statistical Society B 54,
        221-228.

    >>> intervals = intervals_of_means(np.array([[0.1, 0.0, 0.2, 0.1, 0.6]]), within=(0.0, 1.0))
    >>> intervals.low.round(3).tolist(), intervals.high.round(3).tolist()
    ([0.0], [1.0])
    """
    _check_level(level)
    means = checked_scores(scores).mean(axis=1)
    return Intervals(means, *_ends(scores, means, level, within))


def interval_of_ratio(
    counts: Scores,
    value_of: Callable[[Scores], Scores],
    *,
    level: float = LEVEL,
    within: Range = (0.0, 1.0),
) -> tuple[float, float]:
    """The ends of the interval of a ratio of sums over topics, such as the accuracy of all labels of a run.

    It is that of a mean of the jackknife's pseudo-values: what the ratio owes to each topic.

    Args:
        counts: (topics, counts) what each topic adds to the sums.
        value_of: from sums (rows, counts) to their ratios (rows,).
        within: the lowest and the highest ratio that are possible.

    Source:
        Tukey (1958), Bias and confidence in not-quite large samples, Annals of Mathematical Statistics 29, 614.
    """
    _check_level(level)
    total = checked_scores(counts).sum(axis=0)
    ratio = value_of(total[np.newaxis])
    owed = ratio + (len(counts) - 1) * (ratio - value_of(total - counts))
    low, high = _ends(owed[np.newaxis], ratio, level, within)
    return float(low[0]), float(high[0])


def _ends(values: Scores, middle: Scores, level: float, within: Range) -> tuple[Scores, Scores]:
    """The ends for each row (runs, topics), around `middle` (runs,)."""
    n = values.shape[1]
    if n < 2:
        return np.full_like(middle, np.nan), np.full_like(middle, np.nan)
    away = values - values.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.square(away).mean(axis=1))
    # Equal, up to rounding errors
    is_level = np.ptp(values, axis=1) <= 1e-12 * np.maximum(1.0, np.abs(middle))
    spread = np.where(is_level, np.nan, spread)
    skew = (away**3).mean(axis=1) / spread**3 / math.sqrt(n)  # between -1 and 1
    t = t_quantile(level, n - 1)
    error = spread / math.sqrt(n - 1)
    low = middle - np.maximum(t, _hall(t, skew)) * error
    high = middle - np.minimum(-t, _hall(-t, skew)) * error
    return np.clip(low, *within), np.clip(high, *within)


def _hall(t: float, skew: NDArray[np.float64]) -> NDArray[np.float64]:
    """The value at which the statistic of skewed values has the probability that Student's has at t."""
    is_skewed = np.abs(skew) > 1e-6
    by = np.where(is_skewed, skew, 1.0)
    return np.where(is_skewed, 3 / by * (np.cbrt(1 + by * (t - by / 6)) - 1), t)


@lru_cache(maxsize=4096)
def t_quantile(level: float, degrees: int) -> float:
    """The t that Student's statistic exceeds, up or down, with the probability 1 - level.

    >>> round(t_quantile(0.95, 4), 6)
    2.776445
    """
    log_area = math.lgamma(degrees / 2) - math.lgamma((degrees + 1) / 2) + math.log(degrees * math.pi) / 2
    # Newton's steps from an expansion by the degrees of freedom: Abramowitz & Stegun (1964), 26.7.5
    z = NORMAL.inv_cdf((1 + level) / 2)
    t = z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
    while True:
        density = math.exp(-log_area - (degrees + 1) / 2 * math.log1p(t * t / degrees))
        step = (float(two_sided_p(np.array([t]), degrees)[0]) - (1 - level)) / (2 * density)
        t += step
        if abs(step) <= 1e-10 * t:  # the next one would be its square
            return t


def coverage(n_topics: int, method: Method = "skewed-t", level: float = LEVEL) -> str:
    """The share of intervals that contain the mean with this number of topics, in words; empty if not simulated.

    >>> coverage(12)
    'in simulations with 10 topics, 90 to 100 of 100 intervals contain the true mean'
    """
    sizes = [n for n in COVERAGE[method] if n <= n_topics]
    if level != LEVEL or not sizes:
        return ""
    low, high = COVERAGE[method][sizes[-1]]
    return f"in simulations with {sizes[-1]} topics, {low} to {high} of 100 intervals contain the true mean"


def bootstrap(
    scores: Scores, *, seed: int, level: float = LEVEL, n_resamples: int = N_RESAMPLES
) -> Intervals:
    """The BCa interval of each run's mean over topics; the mean itself for equal values.

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
    return Intervals(means, low, high)


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


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"the level is {level}; use a number between 0 and 1, such as 0.95")


def _check(level: float, n_resamples: int, seed: int) -> None:
    _check_level(level)
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
