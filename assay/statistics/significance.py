"""Which runs are told apart: paired randomization and paired t, both with Holm. `assay.statistics.tukey` tests all at once.

Layout: scores are a float64 array (runs, topics), the values of one measure; every run has a value for every topic.
All tests are paired by topic, two-sided, and of every run against every other.

The same seed gives the same p-values on any machine: lots come from the raw stream of PCG64, which NumPy promises
never to change, and sums are of whole numbers (scores as multiples of a power of two, far finer than any measure is
known), so that no order of adding can alter one, and values that are equal in decimals tie as they should.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from assay.statistics.student import two_sided_p

Scores = NDArray[np.float64]
Progress = Callable[[int, int], None]  # done, in all
Test = Literal["randomization", "t", "tukey"]

N_PERMUTATIONS = 10_000
ALPHA = 0.05
MAX_SEED = 2**63 - 1
FINEST = 40  # binary places of a score: steps of 1e-12


def silent(_done: int, _total: int) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class PairTest:
    """Every run tested against every other.

    Attributes
    ----------
    test : the test's name.
    means : (runs,) mean score of each run.
    p : (runs, runs) p-value of each pair, symmetric; 1 on the diagonal.
    adjusted : (runs, runs) p-values that hold for all pairs together: Holm's, or for Tukey's test `p` itself.
    n_permutations : permutations drawn, or all that there are if `is_exact`; 0 for a test without any.
    seed : where lots were drawn, and not all permutations taken.
    is_exact : whether all permutations were taken.
    critical : Tukey's test alone: differences of means above this are told apart at 0.05.
    """

    test: Test
    means: Scores
    p: NDArray[np.float64]
    adjusted: NDArray[np.float64]
    n_permutations: int = 0
    seed: int | None = None
    is_exact: bool = False
    critical: float | None = None

    @property
    def difference(self) -> NDArray[np.float64]:
        """(runs, runs) mean of the row's run minus mean of the column's."""
        return self.means[:, None] - self.means[None, :]

    def told_apart(self, alpha: float = ALPHA) -> NDArray[np.bool_]:
        """(runs, runs) whether the adjusted p-value is at most `alpha`."""
        return self.adjusted <= alpha

    def share_told_apart(self, alpha: float = ALPHA) -> float:
        """Discriminative power (Sakai 2006): the share of pairs that are told apart; 0.0 without any pair."""
        pairs = np.triu_indices(len(self.means), 1)
        return float(self.told_apart(alpha)[pairs].mean()) if len(pairs[0]) else 0.0

    def as_json(self) -> dict[str, Any]:
        """Plain values; of each symmetric array the rows right of the diagonal. `adjusted` is null where it is `p`."""
        return {
            "test": self.test,
            "means": self.means.tolist(),
            "p": _upper(self.p),
            "adjusted": None if np.array_equal(self.p, self.adjusted) else _upper(self.adjusted),
            "n_permutations": self.n_permutations,
            "seed": self.seed,
            "is_exact": self.is_exact,
            "critical": self.critical,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """What `as_json` gave.

        Raises
        ------
        KeyError, ValueError
            It is something else.
        """
        means = np.array(stored["means"], dtype=np.float64)
        plain = {name: stored[name] for name in ("n_permutations", "seed", "is_exact", "critical")}
        p = _symmetric(stored["p"])
        adjusted = p if stored["adjusted"] is None else _symmetric(stored["adjusted"])
        return cls(stored["test"], means, p, adjusted, **plain)


def _upper(matrix: NDArray[np.float64]) -> list[list[float]]:
    return [row[i + 1 :] for i, row in enumerate(matrix.tolist())]


def _symmetric(rows: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    matrix = np.eye(len(rows))
    for i, row in enumerate(rows):
        matrix[i, i + 1 :] = matrix[i + 1 :, i] = row
    return matrix


def checked(scores: Scores) -> Scores:
    """The scores as they are.

    Raises
    ------
    ValueError
        They are not (runs, topics) with a topic at least, or one is not finite.
    """
    if scores.ndim != 2 or scores.shape[1] < 1:
        raise ValueError(
            f"scores have the shape {scores.shape}; (runs, topics) with a topic at least is needed"
        )
    if not np.isfinite(scores).all():
        raise ValueError("a score is not a finite number")
    return scores


def check_lots(n_permutations: int, seed: int) -> None:
    """Raises ValueError unless there is a permutation, and a seed that can be kept."""
    if n_permutations < 1:
        raise ValueError(f"{n_permutations} permutations; at least 1 is needed")
    if not 0 <= seed <= MAX_SEED:
        raise ValueError(f"the seed is {seed}; use a whole number from 0 to {MAX_SEED}")


def whole_steps(scores: Scores) -> tuple[NDArray[np.float64], float, float]:
    """Scores as whole numbers, how many of them make 1, and by how many a sum may be off through the rounding.

    Any sum over topics stays below 2^53, so that doubles hold it exactly, in whatever order it is added.
    """
    largest = float(np.abs(scores).max(initial=0.0)) * scores.shape[1]
    places = min(FINEST, 51 - math.ceil(math.log2(largest)) if largest else FINEST)
    return np.rint(np.ldexp(scores, places)), math.ldexp(1.0, places), 2.0 * scores.shape[1]


def randomization(
    scores: Scores, *, n_permutations: int = N_PERMUTATIONS, seed: int, progress: Progress = silent
) -> PairTest:
    """Paired randomization test of the difference of means; adjusted by Holm.

    Under the hypothesis the two scores of a topic may change places: the sign of each difference is flipped or not.
    The p-value is the share of sign patterns whose difference is as large as the one seen. All patterns are taken
    where there are no more than `n_permutations`; otherwise that many are drawn, the same ones for all pairs, and
    the one seen counts among them, so that no p-value is 0.

    Parameters
    ----------
    scores : (runs, topics)

    Raises
    ------
    ValueError
        Scores of another shape or not finite, no permutation, or a seed out of range.

    Source
    ------
    Smucker, Allan & Carterette (2007), doi:10.1145/1321440.1321528; Phipson & Smyth (2010),
    doi:10.2202/1544-6115.1585, for the p-value of drawn patterns.
    """
    check_lots(n_permutations, seed)
    steps, _, slack = whole_steps(checked(scores))
    n_runs, n_topics = scores.shape
    is_exact = n_topics < 63 and 2**n_topics <= n_permutations
    n_drawn = 2**n_topics if is_exact else n_permutations
    blocks = _all_signs(n_topics) if is_exact else _drawn_signs(n_topics, n_drawn, seed)
    totals = steps.sum(axis=1)
    least = np.abs(totals[:, None] - totals[None, :]) - slack
    n_reached = np.zeros((n_runs, n_runs), dtype=np.int64)
    done = 0
    for signs in blocks:
        flipped = steps @ signs.T  # (runs, patterns)
        for run in range(n_runs - 1):
            differs = np.abs(flipped[run] - flipped[run + 1 :])
            n_reached[run, run + 1 :] += (differs >= least[run, run + 1 :, None]).sum(axis=1)
        done += len(signs)
        progress(done, n_drawn)
    p = p_values(n_reached + n_reached.T, n_drawn, is_exact=is_exact)
    drawn_from = None if is_exact else seed
    return PairTest("randomization", scores.mean(axis=1), p, _holm_of_pairs(p), n_drawn, drawn_from, is_exact)


def p_values(n_reached: NDArray[np.int64], n_drawn: int, *, is_exact: bool) -> NDArray[np.float64]:
    """How many permutations reached each difference, as a share; of drawn ones the one seen is one more."""
    p: NDArray[np.float64] = n_reached / n_drawn if is_exact else (n_reached + 1) / (n_drawn + 1)
    np.fill_diagonal(p, 1.0)
    return p


def _all_signs(n_topics: int) -> Iterator[NDArray[np.float64]]:
    for start in range(0, 2**n_topics, 1024):
        pattern = np.arange(start, min(start + 1024, 2**n_topics))[:, None]
        yield _as_signs((pattern >> np.arange(n_topics)) & 1)


def _drawn_signs(n_topics: int, n_drawn: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Blocks (patterns, topics) of -1 and 1, one bit of the stream for each."""
    stream = np.random.PCG64(seed)
    words = -(-n_topics // 64)
    for start in range(0, n_drawn, 1024):
        n = min(1024, n_drawn - start)
        raw = stream.random_raw(n * words).astype("<u8", copy=False).view(np.uint8)
        bits = np.unpackbits(raw.reshape(n, 8 * words), axis=1, count=n_topics, bitorder="little")
        yield _as_signs(bits)


def _as_signs(bits: NDArray[np.integer]) -> NDArray[np.float64]:
    return 2.0 * bits.astype(np.float64) - 1.0


def paired_t(scores: Scores) -> PairTest:
    """Student's paired t test of the difference of means; adjusted by Holm.

    Two runs that differ by the same amount on every topic have the p-value 0; two without a difference, or a single
    topic, 1.

    Parameters
    ----------
    scores : (runs, topics)

    Raises
    ------
    ValueError
        Scores of another shape, or not finite.
    """
    p = two_sided_p(t_statistics(scores), scores.shape[1] - 1)
    np.fill_diagonal(p, 1.0)
    return PairTest("t", scores.mean(axis=1), p, _holm_of_pairs(p))


def t_statistics(scores: Scores) -> NDArray[np.float64]:
    """(runs, runs) mean of the differences, row minus column, by its standard error; 0 where there is none to see."""
    n_runs, n_topics = checked(scores).shape
    t = np.zeros((n_runs, n_runs))
    if n_topics < 2:
        return t
    for run in range(n_runs):
        differences = scores[run] - scores
        mean, spread = differences.mean(axis=1), differences.std(axis=1, ddof=1)
        # what rounding alone leaves of equal differences is no spread
        is_level = spread <= 1e-12 * np.abs(differences).max(axis=1)
        error = np.where(is_level, 1.0, spread) / math.sqrt(n_topics)
        level = np.where(np.abs(differences).max(axis=1) > 0, np.copysign(np.inf, mean), 0.0)
        t[run] = np.where(is_level, level, mean / error)
    return t


def holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Holm's step-down adjustment: p-values that hold for all tests together. Shape (tests,), in the order given."""
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
