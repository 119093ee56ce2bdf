"""How many topics a ranking of runs needs: rankings by some topics, compared with others.

Each sample of topics is compared with all topics, and with as many other topics. Random draws come from the raw stream
of PCG64: the same seed gives the same topics on any machine.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.statistics.significance import MAX_SEED, Progress, Scores, checked_scores, silent

N_SAMPLES = 1_000
STEP = 5


class StabilityPoint(NamedTuple):
    """Rankings by samples of `n_topics` topics.

    tau, tau_low, tau_high : Kendall's tau-b with the ranking by all topics: the mean, and the ends of the middle 95 %.
    split_tau : mean tau-b with the ranking by as many other topics; None if there are not as many.
    swaps : mean share of the pairs of runs that these two rankings put in opposite order; None likewise.
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

    Parameters
    ----------
    scores : (runs, topics) values of one measure.
    sizes : numbers of topics; by default 5, 10, 15 ... and all topics.
    n_samples : samples of each size, chosen at random with the seed.

    Returns
    -------
    One point for each size.

    Raises
    ------
    ValueError
        The scores have another shape or are not finite, a size is not between 1 and the number of topics,
        `n_samples` is below 1, or the seed is out of range.

    Source
    ------
    Voorhees & Buckley (2002), doi:10.1145/564376.564432; Sanderson & Zobel (2005), doi:10.1145/1076034.1076064.
    """
    n_topics = checked_scores(scores).shape[1]
    sizes = default_sizes(n_topics) if sizes is None else sizes
    if not all(1 <= size <= n_topics for size in sizes):
        raise ValueError(f"got the sizes {sizes}; each must be from 1 to {n_topics}, the number of topics")
    if n_samples < 1 or not 0 <= seed <= MAX_SEED:
        raise ValueError(
            f"got {n_samples} samples and the seed {seed}; use at least 1 sample and a seed from 0 to {MAX_SEED}"
        )
    stream = np.random.PCG64(seed)
    samples = []
    for number in range(n_samples):
        order = np.argsort(stream.random_raw(n_topics), kind="stable")
        samples.append(_sample(scores[:, order], sizes))
        progress(number + 1, n_samples)
    full, split, swaps = (np.array([sample[part] for sample in samples]) for part in range(3))
    points = []
    for n, size in enumerate(sizes):
        low, high = np.quantile(full[:, n], (0.025, 0.975)).tolist()
        others = (
            (float(split[:, n].mean()), float(swaps[:, n].mean())) if 2 * size <= n_topics else (None, None)
        )
        points.append(StabilityPoint(size, float(full[:, n].mean()), low, high, *others))
    return points


def _sample(scores: Scores, sizes: list[int]) -> tuple[NDArray[np.float64], ...]:
    """(sizes,) each: tau of the first topics and all topics; tau, and swaps, of the first and as many last topics."""
    totals = np.hstack((np.zeros((len(scores), 1)), np.cumsum(scores, axis=1)))
    first = _signs(totals[:, sizes].T)
    last = _signs((totals[:, [-1]] - totals[:, [scores.shape[1] - size for size in sizes]]).T)
    every = _signs(totals[:, [-1]].T)
    opposite = (first * last < 0).mean(axis=1) if first.shape[1] else np.zeros(len(sizes))
    return _tau(first, every), _tau(first, last), opposite


def _signs(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """(sizes, pairs of runs) 1 if the first run is better, -1 if worse, 0 if both differ by rounding errors at most."""
    rows, columns = np.triu_indices(totals.shape[1], 1)
    differences = totals[:, rows] - totals[:, columns]
    differences[np.abs(differences) < 1e-9 * max(1.0, float(np.abs(totals).max(initial=0.0)))] = 0.0
    return np.sign(differences)


def _tau(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    untied = np.sqrt(np.square(first).sum(axis=1) * np.square(second).sum(axis=1))
    agree = (first * second).sum(axis=1)
    tau: NDArray[np.float64] = np.divide(agree, untied, out=np.zeros(len(agree)), where=untied > 0)
    return tau
