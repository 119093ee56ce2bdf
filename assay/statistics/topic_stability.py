"""How many topics a ranking of runs needs: rankings by few topics beside that by all, and beside those by others.

Lots come from the raw stream of PCG64: the same seed gives the same topics on any machine.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.statistics.significance import MAX_SEED, Progress, Scores, checked, silent

N_SAMPLES = 1_000
STEP = 5


class StabilityPoint(NamedTuple):
    """Rankings by `n_topics` topics drawn at random.

    tau, tau_low, tau_high : Kendall's tau-b with the ranking by all topics: mean, and where the middle 95 % lie.
    split_tau : mean tau-b with the ranking by as many other topics; None where there are not as many.
    swaps : share of the pairs of runs that the two rankings by different topics put in opposite order; likewise.
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
    """Rank the runs by some topics only, over and over.

    A sample that ties all runs is like nothing, and counts with a tau of 0.

    Parameters
    ----------
    scores : (runs, topics)
    sizes : numbers of topics; by default 5, 10, 15 and so on.

    Raises
    ------
    ValueError
        Scores of another shape or not finite, a size that is not from 1 to the topics, no sample, or a bad seed.

    Source
    ------
    Voorhees & Buckley (2002), doi:10.1145/564376.564432; Sanderson & Zobel (2005), doi:10.1145/1076034.1076064.
    """
    n_topics = checked(scores).shape[1]
    wanted = default_sizes(n_topics) if sizes is None else sizes
    if not all(1 <= size <= n_topics for size in wanted):
        raise ValueError(f"sizes {wanted}; each must be from 1 to {n_topics}, the number of topics")
    if n_samples < 1 or not 0 <= seed <= MAX_SEED:
        raise ValueError(f"{n_samples} samples with the seed {seed}; at least 1, and a seed from 0")
    stream = np.random.PCG64(seed)
    samples = []
    for number in range(n_samples):
        order = np.argsort(stream.random_raw(n_topics), kind="stable")
        samples.append(_sample(scores[:, order], wanted))
        progress(number + 1, n_samples)
    full, split, swaps = (np.array([one[part] for one in samples]) for part in range(3))
    points = []
    for n, size in enumerate(wanted):
        low, high = np.quantile(full[:, n], (0.025, 0.975)).tolist()
        others = (
            (float(split[:, n].mean()), float(swaps[:, n].mean())) if 2 * size <= n_topics else (None, None)
        )
        points.append(StabilityPoint(size, float(full[:, n].mean()), low, high, *others))
    return points


def _sample(scores: Scores, sizes: list[int]) -> tuple[NDArray[np.float64], ...]:
    """For each size, the first topics against all of them, and against as many from the end: tau, tau, swaps."""
    totals = np.hstack((np.zeros((len(scores), 1)), np.cumsum(scores, axis=1)))
    first = _signs(totals[:, sizes].T)
    last = _signs((totals[:, [-1]] - totals[:, [scores.shape[1] - size for size in sizes]]).T)
    every = _signs(totals[:, [-1]].T)
    opposite = (first * last < 0).mean(axis=1) if first.shape[1] else np.zeros(len(sizes))
    return _tau(first, every), _tau(first, last), opposite


def _signs(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """(sizes, pairs of runs) which of the two is better; sums that differ by rounding alone are equal."""
    rows, columns = np.triu_indices(totals.shape[1], 1)
    differences = totals[:, rows] - totals[:, columns]
    differences[np.abs(differences) < 1e-9 * max(1.0, float(np.abs(totals).max(initial=0.0)))] = 0.0
    return np.sign(differences)


def _tau(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    untied = np.sqrt(np.square(one).sum(axis=1) * np.square(other).sum(axis=1))
    agree = (one * other).sum(axis=1)
    tau: NDArray[np.float64] = np.divide(agree, untied, out=np.zeros(len(agree)), where=untied > 0)
    return tau
