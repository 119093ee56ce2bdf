"""The randomized Tukey HSD test of all pairs of runs at once, and the tiers of runs that it does not tell apart.

Layout, seeds and exactness are those of `assay.statistics.significance`.
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
    check_lots,
    checked,
    p_values,
    silent,
    whole_steps,
)

BLOCK = 1 << 17  # random numbers held at a time: they fit into the cache


def tukey_hsd(
    scores: Scores, *, n_permutations: int = N_PERMUTATIONS, seed: int, progress: Progress = silent
) -> PairTest:
    """Randomized Tukey HSD: all pairs at once, two-way, so that the topics' own difficulty is taken out.

    Under the hypothesis that all runs are alike, a topic's scores belong to no run: they are shuffled among the runs
    within each topic, and the range of the runs' means (highest minus lowest) is kept. The p-value of a pair is the
    share of shuffles whose range reaches the pair's difference. It holds for all pairs together as it is.

    Parameters
    ----------
    scores : (runs, topics)

    Raises
    ------
    ValueError
        Scores of another shape or not finite, no permutation, or a seed out of range.

    Source
    ------
    Carterette (2012), doi:10.1145/2094072.2094076; Sakai (2014), doi:10.1145/2641383.2641385. Not Tukey's one-way
    test, which compares runs as if their topics had nothing in common.
    """
    check_lots(n_permutations, seed)
    steps, unit, slack = whole_steps(checked(scores))
    n_runs, n_topics = scores.shape
    ranges = np.empty(n_permutations)
    done = 0
    for shuffled in _shuffled(steps, n_permutations, seed):
        totals = shuffled.sum(axis=1)
        ranges[done : done + len(totals)] = np.ptp(totals, axis=1) if n_runs else 0.0
        done += len(totals)
        progress(done, n_permutations)
    ranges.sort()
    totals = steps.sum(axis=1)
    least = np.abs(totals[:, None] - totals[None, :]) - slack
    p = p_values(n_permutations - np.searchsorted(ranges, least), n_permutations, is_exact=False)
    # the largest number of shuffles that may reach a difference which is still told apart
    n_allowed = math.floor(ALPHA * (n_permutations + 1)) - 1
    critical = float(ranges[n_permutations - 1 - n_allowed]) / (unit * n_topics) if n_allowed >= 0 else None
    means = scores.mean(axis=1)
    return PairTest("tukey", means, p, p.copy(), n_permutations, seed, critical=critical)


def _shuffled(steps: NDArray[np.float64], n_permutations: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Blocks (permutations, topics, runs) of the scores, shuffled within each topic.

    Each topic's runs get random keys and are sorted by them: a key ends in the number of its run.
    """
    n_runs, n_topics = steps.shape
    stream = np.random.PCG64(seed)
    by_topic = steps.T.ravel()
    first = (np.arange(n_topics) * n_runs)[:, None]
    ending = np.uint64((1 << max(1, (n_runs - 1).bit_length())) - 1)
    number = np.arange(n_runs, dtype=np.uint64)
    size = max(1, BLOCK // max(1, n_runs * n_topics))
    for start in range(0, n_permutations, size):
        n = min(size, n_permutations - start)
        keys = stream.random_raw(n * n_topics * n_runs).reshape(n, n_topics, n_runs)
        keys &= ~ending
        keys |= number
        keys.sort(axis=2)
        keys &= ending
        yield by_topic[keys.astype(np.int64) + first]


def tiers(test: PairTest, alpha: float = ALPHA) -> list[list[int]]:
    """Groups of neighbors that the test does not tell apart, best first; a run may be in several.

    Each group is as large as can be: no run of it is told apart from its best, and it is no part of the group before.
    That reads every pair rightly for Tukey's test, whose p-values fall as the difference grows.
    """
    order = np.argsort(-test.means, kind="stable")
    apart = test.told_apart(alpha)[np.ix_(order, order)]
    groups: list[list[int]] = []
    end_before = 0
    for start in range(len(order)):
        is_apart = apart[start, start:]
        end = start + int(np.argmax(is_apart)) if is_apart.any() else len(order)
        if end > end_before:
            groups.append(order[start:end].tolist())
            end_before = end
    return groups


def letters(groups: Sequence[Sequence[int]], n_runs: int) -> list[str]:
    """The groups of each run in letters: two runs that share one are not told apart. a is the best group's."""
    named = [""] * n_runs
    for number, group in enumerate(groups):
        for run in group:
            named[run] += _letter(number)
    return named


def _letter(number: int) -> str:
    """a to z, then (27), (28)..., which cannot be taken for two letters."""
    return chr(ord("a") + number) if number < 26 else f"({number + 1})"
