"""The number of topics that a ranking of runs needs: rankings by some topics, compared with others.

Each sample of topics is compared with all topics, and with as many other topics. Random draws come from the raw stream
of PCG64: the same seed gives the same topics on any machine.
"""

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from assay.statistics.significance import Progress, Scores, check_draws, checked_scores, silent

N_SAMPLES = 1_000
STEP = 5


class StabilityPoint(NamedTuple):
    """Rankings by samples of `n_topics` topics.

    Args:
        tau, tau_low, tau_high: Kendall's tau-b with the ranking by all topics: the mean, and the ends of the middle 95
            %.
        split_tau: mean tau-b with the ranking by as many other topics; None if there are not as many.
        swaps: mean share of the pairs of runs that these two rankings put in opposite order; None likewise.
    """

    n_topics: int
    tau: float
    tau_low: float
    tau_high: float
    split_tau: float | None
    swaps: float | None


def default_sizes(n_topics: int) -> list[int]:
    """5, 10, 15 ... and all topics."""
    return sorted({*range(STEP, n_topics, STEP), n_topics})


def topic_stability(
    scores: Scores,
    *,
    seed: int,
    sizes: list[int] | None = None,
    n_samples: int = N_SAMPLES,
    progress: Progress = silent,
) -> list[StabilityPoint]:
    """Rank the runs by many random samples of topics.

    A sample in which all runs tie counts with a tau of 0.

    Args:
        sizes: numbers of topics; by default 5, 10, 15 ... and all topics.
        n_samples: samples of each size, chosen at random with the seed.

    Returns:
        One point for each size.

    Source:
        Voorhees & Buckley (2002), doi:10.1145/564376.564432; Sanderson & Zobel (2005), doi:10.1145/1076034.1076064.
    """
    n_topics = checked_scores(scores).shape[1]
    sizes = default_sizes(n_topics) if sizes is None else sizes
    if not all(1 <= size <= n_topics for size in sizes):
        raise ValueError(f"got the sizes {sizes}; each must be from 1 to {n_topics}, the number of topics")
    check_draws(n_samples, seed)
    stream = np.random.PCG64(seed)
    samples = []
    for number in range(n_samples):
        order = np.argsort(stream.random_raw(n_topics), kind="stable")
        samples.append(_sample(scores[:, order], sizes))
        progress(number + 1, n_samples)
    full, split, swaps = np.stack(samples, axis=1)
    points = []
    for n, size in enumerate(sizes):
        low, high = np.quantile(full[:, n], (0.025, 0.975)).tolist()
        means = [float(values[:, n].mean()) for values in (full, split, swaps)]
        others = means[1:] if 2 * size <= n_topics else (None, None)
        points.append(StabilityPoint(size, means[0], low, high, *others))
    return points


def _sample(scores: Scores, sizes: list[int]) -> NDArray[np.float64]:
    """(3, sizes): tau of the first topics and all topics; tau, and swaps, of the first and as many last topics.

    The last two are 0 for sizes above half of the topics.
    """
    n_runs, n_topics = scores.shape
    totals = np.vstack((np.zeros((1, n_runs)), np.cumsum(scores, axis=1).T))
    first, every = totals[sizes], _Order(totals[-1:], 0)
    halves = [n for n, size in enumerate(sizes) if 2 * size <= n_topics]
    last = totals[-1] - totals[[n_topics - sizes[n] for n in halves]]
    n_pairs = n_runs * (n_runs - 1) // 2
    results = np.zeros((3, len(sizes)))
    for n in range(len(sizes)):
        some = _Order(first, n)
        results[0, n] = some.tau(every)[0]
        if n in halves:
            tau, n_opposite = some.tau(_Order(last, halves.index(n)))
            results[1:, n] = tau, n_opposite / n_pairs if n_pairs else 0.0
    return results


class _Order:
    """The better run of each pair, by one row of (rows, runs) totals.

    Two runs tie if they differ by rounding errors at most, compared with the largest total of all rows.
    """

    def __init__(self, totals: NDArray[np.float64], row: int) -> None:
        least = 1e-9 * max(1.0, float(np.abs(totals).max(initial=0.0)))
        differences = np.subtract.outer(totals[row], totals[row])
        self.is_better = differences >= least
        self.is_worse = differences <= -least
        self.n_untied = int(np.count_nonzero(self.is_better))

    def tau(self, other: Self) -> tuple[float, int]:
        """Kendall's tau-b, 0 if all runs tie; and the number of pairs in opposite order."""
        n_agreeing = int(np.count_nonzero(self.is_better & other.is_better))
        n_opposite = int(np.count_nonzero(self.is_better & other.is_worse))
        untied = math.sqrt(float(self.n_untied) * float(other.n_untied))
        return (n_agreeing - n_opposite) / untied if untied else 0.0, n_opposite
