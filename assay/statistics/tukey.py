"""The randomized Tukey HSD test of all pairs of runs, and tiers of runs that do not differ significantly.

The layout of scores, the seeds and the exactness are those of `assay.statistics.significance`.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.statistics.significance import (
    ALPHA,
    N_PERMUTATIONS,
    PairTest,
    Progress,
    Scores,
    check_draws,
    checked_scores,
    p_values,
    silent,
    whole_steps,
)

BLOCK = 1 << 17  # random numbers held at a time: they fit into the cache


def tukey_hsd(
    scores: Scores, *, n_permutations: int = N_PERMUTATIONS, seed: int, progress: Progress = silent
) -> PairTest:
    """Randomized Tukey HSD test of all pairs of runs at once. It is two-way: it accounts for the difficulty of topics.

    If all runs are equal (the null hypothesis), any run could have any of the scores of a topic. So the scores are
    shuffled among the runs within each topic, and the range of the means (highest minus lowest) is recorded. The
    p-value of a pair is the share of shuffles whose range is at least the pair's difference. It holds for all pairs
    together.

    Args:
        n_permutations: number of shuffles, chosen at random with the seed.

    Source:
        Carterette (2012), doi:10.1145/2094072.2094076; Sakai (2014), doi:10.1145/2641383.2641385. This is not Tukey's
        one-way test, which compares runs as if each had been tested on topics of its own.
    """
    return tukey_of_measures([scores], n_permutations=n_permutations, seed=seed, progress=progress)[0]


def tukey_of_measures(
    scores: Sequence[Scores], *, n_permutations: int = N_PERMUTATIONS, seed: int, progress: Progress = silent
) -> list[PairTest]:
    """`tukey_hsd` for each of several measures of the same runs and topics.

    All measures have the same shuffles, which take most of the time and are made once.

    Raises ValueError: the measures have different numbers of runs or topics.
    """
    check_draws(n_permutations, seed)
    shapes = {checked_scores(values).shape for values in scores}
    if len(shapes) > 1:
        raise ValueError(f"the measures have scores of different shapes: {sorted(shapes)}")
    by_topic = [whole_steps(values)[0].T.ravel() for values in scores]
    ranges = np.zeros((len(scores), n_permutations))
    done = 0
    n_runs, n_topics = shapes.pop() if shapes else (0, 0)
    for places in _shuffles(n_runs, n_topics, n_permutations, seed) if len(scores) else ():
        end = done + len(places)
        for steps, of_measure in zip(by_topic, ranges, strict=True):
            totals = steps.take(places).sum(axis=1)
            of_measure[done:end] = np.ptp(totals, axis=1) if totals.size else 0.0
        done = end
        progress(done, n_permutations)
    return [_test(values, of_measure, seed) for values, of_measure in zip(scores, ranges, strict=True)]


def _test(scores: Scores, ranges: NDArray[np.float64], seed: int) -> PairTest:
    """The test from the ranges of the shuffles (permutations,), which are sorted."""
    n_permutations = len(ranges)
    steps, unit, slack = whole_steps(scores)
    ranges.sort()
    totals = steps.sum(axis=1)
    least = np.abs(totals[:, None] - totals[None, :]) - slack
    p = p_values(n_permutations - np.searchsorted(ranges, least), n_permutations, is_exact=False)
    # the largest number of shuffles that may reach a difference which is still significant
    n_allowed = math.floor(ALPHA * (n_permutations + 1)) - 1
    critical = (
        float(ranges[n_permutations - 1 - n_allowed]) / (unit * scores.shape[1]) if n_allowed >= 0 else None
    )
    means = scores.mean(axis=1)
    return PairTest("tukey", means, p, p.copy(), n_permutations, seed, critical=critical)


def _shuffles(n_runs: int, n_topics: int, n_permutations: int, seed: int) -> Iterator[NDArray[np.intp]]:
    """Yield blocks (permutations, topics, runs) of places in scores by topic, then run, shuffled within each topic.

    In each topic, every run gets a random key whose last bits are the number of the run; then the keys are sorted.
    """
    stream = np.random.PCG64(seed)
    ending = np.uint64((1 << max(1, (n_runs - 1).bit_length())) - 1)
    number = np.arange(n_runs, dtype=np.uint64)
    first = (np.arange(n_topics) * n_runs)[:, None]
    size = max(1, BLOCK // max(1, n_runs * n_topics))
    for start in range(0, n_permutations, size):
        n = min(size, n_permutations - start)
        keys = stream.random_raw(n * n_topics * n_runs).reshape(n, n_topics, n_runs)
        keys &= ~ending
        keys |= number
        keys.sort(axis=2)
        keys &= ending
        places = keys.view(np.intp)
        places += first
        yield places


def tiers(test: PairTest, alpha: float = ALPHA) -> list[list[int]]:
    """Groups of runs that do not differ significantly, best group first; a run may be in several groups.

    A group is a run and all runs below it, in the order of the means, that do not differ significantly from it. A group
    that is part of the one before is left out. For Tukey's test this represents every pair correctly, because its
    p-values fall as the difference grows.

    Returns:
        Indices of the runs of each group, best run first; no groups for no runs.
    """
    order = np.argsort(-test.means, kind="stable")
    differs = test.is_significant(alpha)[np.ix_(order, order)]
    groups: list[list[int]] = []
    end_before = 0
    for start in range(len(order)):
        is_below = differs[start, start:]
        end = start + int(np.argmax(is_below)) if is_below.any() else len(order)
        if end > end_before:
            groups.append(order[start:end].tolist())
            end_before = end
    return groups


def letters(groups: Sequence[Sequence[int]], n_runs: int) -> list[str]:
    """The groups of each run as letters; a is the best group. Runs that share a letter do not differ significantly.

    >>> letters([[0, 1], [1, 2]], 3)
    ['a', 'ab', 'b']
    """
    names = [""] * n_runs
    for number, group in enumerate(groups):
        for run in group:
            # a to z, then (27), (28) ..., which cannot be mistaken for two letters
            names[run] += chr(ord("a") + number) if number < 26 else f"({number + 1})"
    return names
