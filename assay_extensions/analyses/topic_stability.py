"""The number of topics that a ranking of runs needs: rankings by some topics, compared with others.

Each sample of topics is compared with all topics, and with as many other topics. Random draws come from the raw stream
of PCG64: the same seed gives the same topics on any machine.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.statistics.significance import Progress, Scores, check_draws, checked_scores, silent

N_SAMPLES = 1_000
STEP = 5
BLOCK = 1 << 17  # numbers held at a time


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
        raise InputError(f"got the sizes {sizes}; each must be from 1 to {n_topics}, the number of topics")
    check_draws(n_samples, seed)
    stream = np.random.PCG64(seed)
    n_runs = len(scores)
    n_at_once = max(1, BLOCK // max(1, n_runs * n_topics, n_runs * (n_runs - 1) // 2 * len(sizes)))
    blocks = []
    for done in range(0, n_samples, n_at_once):
        n = min(n_at_once, n_samples - done)
        keys = stream.random_raw(n * n_topics).reshape(n, n_topics)
        blocks.append(_compared(scores[:, np.argsort(keys, axis=1, kind="stable")], sizes))
        progress(done + n, n_samples)
    full, split, swaps = np.concatenate(blocks, axis=1)
    points = []
    for n, size in enumerate(sizes):
        low, high = np.quantile(full[:, n], (0.025, 0.975)).tolist()
        means = [float(values[:, n].mean()) for values in (full, split, swaps)]
        others = means[1:] if 2 * size <= n_topics else (None, None)
        points.append(StabilityPoint(size, means[0], low, high, *others))
    return points


def _compared(scores: Scores, sizes: list[int]) -> NDArray[np.float64]:
    """(3, samples, sizes): tau of the first and all topics; tau, and swaps, of the first and as many last topics.

    The last two are 0 for sizes above half of the topics.

    Args:
        scores: (runs, samples, topics), the topics of each sample in its own order.
    """
    n_runs, n_samples, n_topics = scores.shape
    totals = np.zeros((n_samples, n_topics + 1, n_runs))
    np.cumsum(scores.transpose(1, 2, 0), axis=1, out=totals[:, 1:])
    halves = [n for n, size in enumerate(sizes) if 2 * size <= n_topics]
    some, every = _better(totals[:, sizes]), _better(totals[:, -1:])
    last = _better(totals[:, -1:] - totals[:, [n_topics - sizes[n] for n in halves]])
    results = np.zeros((3, n_samples, len(sizes)))
    results[0], _ = _tau(some, every)
    results[1][:, halves], n_opposite = _tau(some[:, halves], last)
    results[2][:, halves] = n_opposite / max(1, n_runs * (n_runs - 1) // 2)
    return results


def _better(totals: NDArray[np.float64]) -> NDArray[np.int8]:
    """(samples, sizes, pairs): 1 if the first run of a pair has the larger total, -1 if the second has, 0 if they tie.

    Two runs tie if they differ by rounding errors at most, compared with the largest total of the sample.
    """
    least = 1e-9 * np.abs(totals).max(axis=(1, 2), initial=1.0)[:, None, None]
    n_runs = totals.shape[2]
    differences = np.empty((*totals.shape[:2], n_runs * (n_runs - 1) // 2))
    start = 0
    for run in range(n_runs - 1):
        end = start + n_runs - 1 - run
        np.subtract(totals[..., run, None], totals[..., run + 1 :], out=differences[..., start:end])
        start = end
    better: NDArray[np.int8] = (differences >= least).astype(np.int8) - (differences <= -least)
    return better


def _tau(some: NDArray[np.int8], others: NDArray[np.int8]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Kendall's tau-b of each sample and size, 0 if all runs tie; and the number of pairs in opposite order."""
    products = some * others
    n_opposite = np.count_nonzero(products < 0, axis=2)
    n_agreeing = np.count_nonzero(products > 0, axis=2)
    untied = np.sqrt(1.0 * np.count_nonzero(some, axis=2) * np.count_nonzero(others, axis=2))
    tau = np.zeros(n_opposite.shape)
    np.divide(n_agreeing - n_opposite, untied, out=tau, where=untied > 0)
    return tau, n_opposite
