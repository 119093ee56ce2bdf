"""Significant differences of runs: paired randomization, paired t and Wilcoxon tests, all with Holm's adjustment.

`assay.statistics.tukey` has the test of all pairs at once.

Layout: scores are a float64 array (runs, topics) with the values of one measure. Every run has a value for every topic.
All tests are paired by topic, two-sided, and compare every run with every other run, if there are at least two.

The same seed gives the same p-values on any machine. Random draws come from the raw stream of PCG64, which NumPy
promises not to change. Sums are of whole numbers: scores are taken as multiples of a power of two that is much finer
than any measure. So the order of adding does not matter, and values that are equal in decimals tie. Only the last
digits of p-values that importance sampling estimates may differ between machines.

Functions raise ValueError if scores have another shape or are not finite, if there are no random draws, or if the seed
is out of range. So do those of `tukey`, `intervals` and `topic_stability`. Decision: ADR 6.
"""

import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError

Scores = NDArray[np.float64]
Progress = Callable[[int, int], None]  # number done, and total
Test = Literal["randomization", "t", "wilcoxon", "tukey"]

N_PERMUTATIONS = 10_000
ALPHA = 0.05
MAX_SEED = 2**63 - 1
FINEST = 40  # binary digits of a score: steps of 1e-12
MOST_COMPARED = 1 << 31  # pairs times permutations that are compared, in a few seconds
TAIL = 100  # permutations; a p-value that fewer of them reach is estimated by importance sampling
N_TILTED = 1000  # sign patterns of importance sampling
BLOCK = 1 << 18  # numbers that are computed at a time: they fit into the cache
SAME = 256.0  # steps; differences of scores that are closer tie
MOST_EXACT, MOST_EXACT_TIED = 50, 13  # topics of an exact signed-rank test, without and with ties
TINY, MAX_TERMS = 1e-300, 500  # of the continued fraction of Student's t
NEWTON, SLOPE, STEEPEST = 12, 1e-9, 30.0  # steps, least slope and largest tilt of importance sampling


def silent(_done: int, _total: int) -> None:
    """Ignore the progress."""


@dataclass(frozen=True, slots=True, eq=False)
class PairTest:
    """A test of every run against every other run.

    Args:
        test: name of the test.
        means: (runs,) mean score of each run.
        p: (runs, runs) p-value of each pair, symmetric; 1 on the diagonal.
        adjusted: (runs, runs) p-values that hold for all pairs together: Holm's, or for Tukey's test `p` itself.
        n_permutations: number of permutations; 0 for a test without permutations.
        seed: seed of the permutations; None if they were not chosen at random.
        is_exact: whether all possible permutations were used.
        n_tilted: number of sign patterns of importance sampling, by which p-values of less than `TAIL` permutations
            are estimated; 0 if it was not used.
        critical: for Tukey's test: larger differences of means are significant at 0.05.
    """

    test: Test
    means: Scores
    p: NDArray[np.float64]
    adjusted: NDArray[np.float64]
    n_permutations: int = 0
    seed: int | None = None
    is_exact: bool = False
    n_tilted: int = 0
    critical: float | None = None

    @property
    def difference(self) -> NDArray[np.float64]:
        """(runs, runs) mean of the row's run minus mean of the column's."""
        return self.means[:, None] - self.means[None, :]

    def is_significant(self, alpha: float = ALPHA) -> NDArray[np.bool_]:
        """(runs, runs) whether the adjusted p-value is at most `alpha`."""
        return self.adjusted <= alpha

    def share_significant(self, alpha: float = ALPHA) -> float:
        """Discriminative power (Sakai 2006): share of pairs that differ significantly; 0.0 if there are no pairs."""
        pairs = np.triu_indices(len(self.means), 1)
        return float(self.is_significant(alpha)[pairs].mean()) if len(pairs[0]) else 0.0


def packed_pairs(matrix: NDArray[np.float64]) -> bytes:
    """The values above the diagonal of a symmetric array, in a few bytes: row by row, little-endian, compressed."""
    return zlib.compress(np.array(above_diagonal(matrix), dtype="<f8").tobytes())


def above_diagonal(matrix: NDArray[np.float64]) -> list[float]:
    """The values above the diagonal, row by row."""
    values: list[float] = matrix[np.triu_indices(len(matrix), 1)].tolist()
    return values


def unpacked_pairs(packed: bytes, n_runs: int) -> NDArray[np.float64]:
    """The symmetric array from the output of `packed_pairs`; 1 on the diagonal.

    Raises ValueError: the values are those of another number of runs.
    """
    return from_above_diagonal(np.frombuffer(zlib.decompress(packed), dtype="<f8"), n_runs)


def from_above_diagonal(values: Sequence[float] | NDArray[np.float64], n_runs: int) -> NDArray[np.float64]:
    """The symmetric array from the output of `above_diagonal`; 1 on the diagonal.

    Raises ValueError: the values are those of another number of runs.
    """
    n_pairs = n_runs * (n_runs - 1) // 2
    if len(values) != n_pairs:
        raise InputError(f"got the values of {len(values)} pairs; {n_runs} runs have {n_pairs}")
    matrix = np.eye(n_runs)
    rows, columns = np.triu_indices(n_runs, 1)
    matrix[rows, columns] = matrix[columns, rows] = values
    return matrix


def checked_scores(scores: Scores) -> Scores:
    """The scores themselves.

    Raises ValueError: the shape is not (runs, topics) with at least one topic, or a score is not finite.
    """
    if scores.ndim != 2 or scores.shape[1] < 1:
        raise InputError(
            f"scores have the shape {scores.shape}; expected (runs, topics) with at least one topic"
        )
    if not np.isfinite(scores).all():
        raise InputError("a score is not a finite number")
    return scores


def check_draws(n_draws: int, seed: int) -> None:
    """Raise ValueError if there is no draw (permutation, resample or sample), or if the seed is out of range."""
    if n_draws < 1:
        raise InputError(f"got {n_draws} random draws; use at least 1")
    if not 0 <= seed <= MAX_SEED:
        raise InputError(f"the seed is {seed}; use a whole number from 0 to {MAX_SEED}")


def whole_steps(scores: Scores) -> tuple[NDArray[np.float64], float, float]:
    """Scores as whole numbers of steps.

    Sums over topics stay below 2^53, so that float64 represents them exactly, in any order of adding.

    Returns:
        (runs, topics) steps; the number of steps that make 1; by how many steps rounding may change a sum.
    """
    largest = float(np.abs(scores).max(initial=0.0)) * scores.shape[1]
    places = min(FINEST, 51 - math.ceil(math.log2(largest)) if largest else FINEST)
    return np.rint(np.ldexp(scores, places)), math.ldexp(1.0, places), 2.0 * scores.shape[1]


def permutations_for(n_runs: int) -> int:
    """The number of permutations that a test of all pairs needs, so that a pair can be significant after Holm.

    The smallest p-value is one permutation of all. Times the number of pairs, it stays below a third of 0.05.
    """
    return max(N_PERMUTATIONS, 30 * n_runs * (n_runs - 1))


def randomization(
    scores: Scores,
    *,
    n_permutations: int | None = None,
    least: int = N_PERMUTATIONS,
    seed: int,
    progress: Progress = silent,
) -> PairTest:
    """Paired randomization test of the difference of means, with Holm's adjustment.

    If two runs are equal (the null hypothesis), their scores of a topic can be exchanged: the sign of the difference is
    flipped or not. The p-value is the share of sign patterns whose difference is at least as large as the observed one.
    All patterns are used if there are at most `n_permutations`. Otherwise that many are chosen at random, the same ones
    for all pairs, and the observed pattern is counted as one more, so that no p-value is 0.

    Args:
        n_permutations: maximum number of sign patterns; None: `permutations_for` the runs, and at least `least`. If
            these are too many for the number of pairs, it is `least` or 10,000, and p-values in the tail are estimated
            by importance sampling, with a standard error of about a tenth (ADR 82).

    Source:
        Smucker, Allan & Carterette (2007), doi:10.1145/1321440.1321528; Phipson & Smyth (2010),
        doi:10.2202/1544-6115.1585, for the p-value of random patterns; Mehta, Patel & Senchaudhuri (1988),
        doi:10.1080/01621459.1988.10478691, for importance sampling.

    >>> randomization(np.array([[0.5, 0.6, 0.7], [0.1, 0.2, 0.3]]), seed=1).p.tolist()
    [[1.0, 0.25], [0.25, 1.0]]
    """
    n_pairs, is_tilted = len(scores) * (len(scores) - 1) // 2, False
    if n_permutations is None:
        n_permutations = max(permutations_for(len(scores)), least)
        is_tilted = n_permutations * n_pairs > MOST_COMPARED
        n_permutations = max(N_PERMUTATIONS, least) if is_tilted else n_permutations
    check_draws(n_permutations, seed)
    steps, _, slack = whole_steps(checked_scores(scores))
    n_runs, n_topics = scores.shape
    is_exact = n_topics < 63 and 2**n_topics <= n_permutations
    n_drawn = 2**n_topics if is_exact else n_permutations
    totals = steps.sum(axis=1)
    smallest = np.abs(totals[:, None] - totals[None, :]) - slack
    n_reached = np.zeros((n_runs, n_runs), dtype=np.int64)
    done = 0
    for signs in _signs(n_topics, n_drawn, None if is_exact else seed):
        flipped = steps @ signs.T  # (runs, patterns)
        for run in range(n_runs - 1):
            differs = np.abs(flipped[run] - flipped[run + 1 :])
            n_reached[run, run + 1 :] += (differs >= smallest[run, run + 1 :, None]).sum(axis=1)
        done += len(signs)
        progress(done, n_drawn)
    p = p_values(n_reached + n_reached.T, n_drawn, is_exact=is_exact)
    n_tilted = N_TILTED if is_tilted and not is_exact else 0
    if n_tilted:
        draws = _uniform(n_tilted, n_topics, seed)
        for run in range(n_runs - 1):
            others = run + 1 + np.flatnonzero(n_reached[run, run + 1 :] < TAIL)
            p[run, others] = p[others, run] = _tail_p(steps[run] - steps[others], draws, slack)
    drawn_from = None if is_exact else seed
    adjusted = _holm_of_pairs(p)
    means = scores.mean(axis=1)
    return PairTest("randomization", means, p, adjusted, n_drawn, drawn_from, is_exact, n_tilted)


def _uniform(n_patterns: int, n_topics: int, seed: int) -> NDArray[np.float64]:
    """(patterns, topics) random numbers from 0 to 1."""
    raw = np.random.PCG64(seed).random_raw(n_patterns * n_topics)
    return np.ldexp((raw >> np.uint64(11)).astype(np.float64), -53).reshape(n_patterns, n_topics)


def _tail_p(
    differences: NDArray[np.float64], draws: NDArray[np.float64], slack: float
) -> NDArray[np.float64]:
    """Two-sided p-values by importance sampling: the same sign patterns, but with signs that favor large sums.

    The sign of the difference x of a topic is positive with the probability 1 / (1 + exp(-2 t x)). With the right t,
    the mean of the sum of a pair is the observed sum, so that half of the patterns reach it; each counts with its
    probability if both signs were equally likely, divided by its probability here.

    Args:
        differences: (pairs, topics) of the scores of two runs, in steps.
        draws: (patterns, topics) random numbers from 0 to 1, for all pairs.
    """
    size, total = np.abs(differences), np.abs(differences.sum(axis=1, keepdims=True))
    unit = np.maximum(size.max(axis=1, keepdims=True), 1.0)
    x, goal = size / unit, total / unit
    tilt = goal / np.maximum(np.square(x).sum(axis=1, keepdims=True), TINY)
    for _ in range(NEWTON):  # from below, where each step of Newton's method stays below
        away = np.tanh(tilt * x)
        slope = (np.square(x) * (1 - np.square(away))).sum(axis=1, keepdims=True)
        missing = goal - (x * away).sum(axis=1, keepdims=True)
        tilt = np.minimum(tilt + missing / np.maximum(slope, SLOPE), STEEPEST)
    odds = np.exp(-2 * tilt * x)
    is_positive = 1 / (1 + odds)
    cumulant = (tilt * x + np.log1p(odds) - math.log(2)).sum(axis=1, keepdims=True)
    p = np.empty(len(size))
    width = max(1, BLOCK // draws.size)
    for start in range(0, len(p), width):
        part = slice(start, start + width)
        signs = (draws < is_positive[part, None, :]).astype(np.float64)
        sums = 2 * (signs @ size[part, :, None])[:, :, 0] - size[part].sum(axis=1, keepdims=True)
        weights = np.exp(cumulant[part] - tilt[part] * (sums / unit[part]))
        p[part] = 2 * np.where(sums >= total[part] - slack, weights, 0.0).mean(axis=1)
    return np.minimum(p, 1.0)


def p_values(n_reached: NDArray[np.int64], n_drawn: int, *, is_exact: bool) -> NDArray[np.float64]:
    """p-values from the number of permutations that reached each difference; 1 on the diagonal.

    Permutations chosen at random count the observed one as one more.
    """
    p: NDArray[np.float64] = n_reached / n_drawn if is_exact else (n_reached + 1) / (n_drawn + 1)
    np.fill_diagonal(p, 1.0)
    return p


def _signs(n_topics: int, n_patterns: int, seed: int | None) -> Iterator[NDArray[np.float64]]:
    """Blocks (patterns, topics) of -1 and 1: every pattern once or, with a seed, one bit of the stream for each."""
    stream = None if seed is None else np.random.PCG64(seed)
    words = -(-n_topics // 64)
    bits: NDArray[np.integer]
    for start in range(0, n_patterns, 1024):
        n = min(1024, n_patterns - start)
        if stream is None:
            bits = (np.arange(start, start + n)[:, None] >> np.arange(n_topics)) & 1
        else:
            raw = stream.random_raw(n * words).astype("<u8", copy=False).view(np.uint8)
            bits = np.unpackbits(raw.reshape(n, 8 * words), axis=1, count=n_topics, bitorder="little")
        yield 2.0 * bits.astype(np.float64) - 1.0


def paired_t(scores: Scores) -> PairTest:
    """Student's paired t test of the difference of means, with Holm's adjustment.

    The p-value is 0 for two runs that differ by the same amount on every topic, and nan where t is undefined.

    Source:
        Student (1908), doi:10.1093/biomet/6.1.1; equals scipy.stats.ttest_rel.
    """
    p = two_sided_p(t_statistics(scores), scores.shape[1] - 1)
    np.fill_diagonal(p, 1.0)
    return PairTest("t", scores.mean(axis=1), p, _holm_of_pairs(p))


def t_statistics(scores: Scores) -> NDArray[np.float64]:
    """(runs, runs) mean difference, row minus column, divided by its standard error.

    It is infinite for runs that differ by the same amount on every topic, and nan for equal runs or a single topic.
    """
    n_runs, n_topics = checked_scores(scores).shape
    t = np.full((n_runs, n_runs), np.nan)
    if n_topics < 2:
        return t
    for run in range(n_runs):
        differences = scores[run] - scores
        mean, spread = differences.mean(axis=1), differences.std(axis=1, ddof=1)
        # rounding errors of equal differences are not a spread
        is_level = spread <= 1e-12 * np.abs(differences).max(axis=1)
        error = np.where(is_level, 1.0, spread) / math.sqrt(n_topics)
        level = np.where(np.abs(differences).max(axis=1) > 0, np.copysign(np.inf, mean), np.nan)
        t[run] = np.where(is_level, level, mean / error)
    return t


def two_sided_p(t: NDArray[np.float64], degrees: int) -> NDArray[np.float64]:
    """Two-sided p-value of each t: the probability of a value at least as far from 0.

    Args:
        t: any shape; infinities are accepted, and nan stays nan.
        degrees: degrees of freedom, at least 1; without any, all p-values are nan.

    Returns:
        p-values in the shape of `t`.

    Source:
        I_x(degrees / 2, 1 / 2) at x = degrees / (degrees + t^2): Abramowitz & Stegun (1964), 26.7.1 and 26.5.8.

    >>> two_sided_p(np.array([0.0, 12.706]), 1).round(3).tolist()
    [1.0, 0.05]
    """
    if degrees < 1:
        return np.full_like(t, np.nan)
    with np.errstate(over="ignore"):  # a square that is too large becomes infinite, and its tail 0
        square = np.square(t)
    x = degrees / (degrees + square)
    rest = np.where(np.isinf(square), 1.0, 1.0 / (1.0 + degrees / np.maximum(square, TINY)))
    a, b = degrees / 2, 0.5
    # The fraction converges fast below the mean of the distribution. Above it, the other tail is computed.
    is_low = x < (a + 1) / (a + b + 2)
    low = _tail(np.where(is_low, x, 0.0), np.where(is_low, rest, 1.0), a, b)
    high = 1.0 - _tail(np.where(is_low, 0.0, rest), np.where(is_low, 1.0, x), b, a)
    return np.where(is_low, low, high)


def _tail(x: NDArray[np.float64], rest: NDArray[np.float64], a: float, b: float) -> NDArray[np.float64]:
    """The regularized incomplete beta function I_x(a, b) for x in [0, 1]; `rest` is 1 - x without rounding.

    It is computed here so that the library does not need SciPy.
    """
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    with np.errstate(divide="ignore"):
        front = np.exp(a * np.log(x) + b * np.log(rest) - log_beta) / a
    # the continued fraction by Lentz's method, until no element changes any more
    c, d = np.ones_like(x), _inverse(1.0 - (a + b) * x / (a + 1))
    value = d.copy()
    for m in range(1, MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        step = np.ones_like(x)
        for term in (even, odd):
            d, c = _inverse(1.0 + term * d), _away_from_0(1.0 + term / c)
            step = step * d * c
        value *= step
        if (np.abs(step - 1.0) < 1e-15).all():
            break
    return front * value


def _inverse(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1.0 / _away_from_0(values)


def _away_from_0(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.abs(values) < TINY, TINY, values)


def wilcoxon(scores: Scores) -> PairTest:
    """Wilcoxon's signed-rank test of the differences by topic, with Holm's adjustment.

    Topics on which two runs are equal are left out (Wilcoxon's own treatment of zeros), and equal differences share the
    mean of their ranks. The p-value is that of all sign patterns up to 50 topics, or 13 if there are equal or zero
    differences; else that of the normal distribution with the variance of ties, without a correction for continuity. It
    is 1 for two runs that are equal on every topic.

    Source:
        Wilcoxon (1945), doi:10.2307/3001968; equals scipy.stats.wilcoxon with its default options.

    >>> wilcoxon(np.array([[0.5, 0.6, 0.8], [0.1, 0.3, 0.3]])).p.tolist()
    [[1.0, 0.25], [0.25, 1.0]]
    """
    steps, _, _ = whole_steps(checked_scores(scores))
    p = np.ones((len(scores), len(scores)))
    for run in range(len(scores) - 1):
        differences = np.rint((steps[run] - steps[run + 1 :]) / SAME)
        p[run, run + 1 :] = p[run + 1 :, run] = _signed_rank_p(differences)
    return PairTest("wilcoxon", scores.mean(axis=1), p, _holm_of_pairs(p))


def _signed_rank_p(differences: NDArray[np.float64]) -> list[float]:
    """Two-sided p-values of the signed ranks of differences (pairs, topics). Ranks are doubled to be whole numbers."""
    n_topics = differences.shape[1]
    order = np.argsort(np.abs(differences), axis=1, kind="stable")
    ordered = np.take_along_axis(differences, order, axis=1)
    size, place = np.abs(ordered), np.arange(n_topics)
    n_zeros = (size == 0).sum(axis=1, keepdims=True)
    is_first = np.ones_like(size, dtype=np.bool_)
    is_first[:, 1:] = size[:, 1:] != size[:, :-1]
    is_last = np.roll(is_first, -1, axis=1)
    # the first and last places of the group of equal sizes that each difference belongs to
    first = np.maximum.accumulate(np.where(is_first, place, 0), axis=1)
    last = np.minimum.accumulate(np.where(is_last, place, n_topics)[:, ::-1], axis=1)[:, ::-1]
    doubled = first + last + 2 - 2 * n_zeros
    positive = np.where(ordered > 0, doubled, 0).sum(axis=1).tolist()
    n_equal = last - first + 1
    excess = np.where(size > 0, np.square(n_equal) - 1, 0).sum(axis=1).tolist()  # n^3 - n of each group
    p = []
    for row, n_zero in enumerate(n_zeros[:, 0].tolist()):
        n, is_plain = n_topics - n_zero, not (n_zero or excess[row])
        if n_topics <= (MOST_EXACT if is_plain else MOST_EXACT_TIED):
            smaller = min(positive[row], n * (n + 1) - positive[row])
            n_patterns = _sums_of_ranks(tuple(doubled[row, n_zero:].tolist()))
            p.append(min(1.0, 2.0 * float(n_patterns[: smaller + 1].sum()) / 2.0**n))
        else:
            variance = n * (n + 1) * (2 * n + 1) / 24 - float(excess[row]) / 48
            z = (positive[row] / 2 - n * (n + 1) / 4) / math.sqrt(variance) if n else 0.0
            p.append(math.erfc(abs(z) / math.sqrt(2)))
    return p


@lru_cache(maxsize=256)
def _sums_of_ranks(ranks: tuple[int, ...]) -> NDArray[np.float64]:
    """The number of sign patterns with each sum of positive ranks; most pairs have the same ranks."""
    n_patterns = np.zeros(sum(ranks) + 1)
    n_patterns[0] = 1.0
    for rank in ranks:
        n_patterns[rank:] += n_patterns[:-rank].copy()
    return n_patterns


def holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Holm's step-down adjustment: p-values that hold for all tests together.

    Args:
        p: (tests,) p-values; may be empty.

    Returns:
        (tests,) adjusted p-values, at most 1, in the same order.

    Source:
        Holm (1979), A simple sequentially rejective multiple test procedure, jstor.org/stable/4615733.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _holm_of_pairs(p: NDArray[np.float64]) -> NDArray[np.float64]:
    rows, columns = np.triu_indices(len(p), 1)
    adjusted = np.ones_like(p)
    adjusted[rows, columns] = adjusted[columns, rows] = holm(p[rows, columns])
    return adjusted
