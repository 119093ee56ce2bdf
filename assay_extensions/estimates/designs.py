"""Samples of the units that a machine judged, for people to judge: each unit has a known chance to be in the sample.

An estimate without bias needs a probability above 0 for every unit. The same seed draws the same sample on every
machine.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay_extensions.estimates.weights import Floats, Ints

EVEN = 0.1  # part of the sample that does not depend on weights, so that each unit has a chance
LEAST = 2  # units of a stratum: with a single one, nobody sees how much the others may differ


class Sample(NamedTuple):
    """A sample of units.

    Args:
        units: (sampled,) indexes of the sampled units, ascending.
        probability: (units,) the probability of each unit to be in the sample, above 0.
    """

    units: Ints
    probability: Floats


def probabilities(weight: Floats, n: int) -> Floats:
    """(units,) probabilities of the units of one topic that add up to n, larger for units with a larger weight.

    They are in proportion to 0.9 weight / sum of the weights + 0.1 / number of units. Where that is more than 1, it is
    1, and the others share the rest.

    Args:
        weight: (units,) the largest weight of each unit in any run, not negative.
        n: number of units to sample; with n or fewer units, all are certain.

    >>> probabilities(np.array([3.0, 1.0, 0.0]), 1).round(3).tolist()
    [0.708, 0.258, 0.033]
    """
    size, total = len(weight), weight.sum()
    if n >= size:
        return np.ones(size)
    share = np.full(size, 1 / size)
    if total > 0:
        share = (1 - EVEN) * weight / total + EVEN / size
    is_certain = np.zeros(size, dtype=np.bool_)
    while True:
        rest = share[~is_certain].sum()
        probability = np.where(is_certain, 1.0, share * (n - is_certain.sum()) / rest)
        if not (too_large := probability > 1.0).any():
            return probability
        is_certain |= too_large


def systematic(probability: Floats, rng: np.random.Generator) -> Ints:
    """Indexes of sampled units, ascending: as many as the probabilities add up to, each with its probability.

    The units are put in random order, and every unit in which a step of 1 ends is taken.

    Source:
        Madow (1949), On the theory of systematic sampling, II, Annals of Mathematical Statistics 20, 333-354.
    """
    order = rng.permutation(len(probability))
    ends = np.cumsum(probability[order])
    ends[-1] = total = round(float(ends[-1]), 9)  # rounding errors must not add or lose a unit
    start = rng.random()
    steps = start + np.arange(int(np.floor(total - start)) + 1)
    places = np.searchsorted(ends, steps[steps < total], side="right")
    return np.sort(order[places])


def by_weight(weight: Floats, topic: Ints, n_topics: int, *, share: float, seed: int) -> Sample:
    """Sample a share of the units of every topic, at least one of each, with `probabilities`.

    Args:
        weight: (runs, units) as `weights_of` returns it.
        share: of the units of each topic, rounded.
    """
    rng = np.random.default_rng(seed)
    largest = weight.max(axis=0, initial=0.0)
    probability, sampled = np.ones(len(topic)), []
    for number in range(n_topics):
        rows = np.flatnonzero(topic == number)
        if len(rows):
            n = min(len(rows), max(1, round(share * len(rows))))
            probability[rows] = probabilities(largest[rows], n)
            sampled.append(rows[systematic(probability[rows], rng)])
    return Sample(np.sort(np.concatenate(sampled)) if sampled else np.array([], dtype=np.int64), probability)


def allocate(sizes: Ints, spread: Floats, n: int) -> Ints:
    """(strata,) units to sample of each stratum: in proportion to its size times its spread, and at least two.

    A stratum with two or fewer units is sampled whole.

    Args:
        sizes: (strata,) number of units.
        spread: (strata,) standard deviation of people's minus the machine's grade; equal numbers if nobody knows.
        n: number of units in total.

    Raises:
        InputError: n is too small for all strata.

    Source:
        Neyman (1934), doi:10.2307/2342192.

    >>> allocate(np.array([100, 50, 1]), np.array([1.0, 4.0, 1.0]), 31).tolist()
    [10, 20, 1]
    """
    least = np.minimum(sizes, LEAST)
    if n < least.sum():
        raise InputError(
            f"{n} units are too few for {len(sizes)} strata; sample at least {int(least.sum())}, or use fewer strata"
        )
    counts, is_open = least.copy(), np.ones(len(sizes), dtype=np.bool_)
    wanted = sizes * np.maximum(spread, 1e-12)
    while is_open.any():  # strata whose share is out of their limits get the limit, the others share the rest
        shares = wanted * (n - counts[~is_open].sum()) / wanted[is_open].sum()
        low, high = is_open & (shares <= least), is_open & (shares >= sizes)
        if not (low | high).any():
            break
        fixed = low if (least - shares)[low].sum() >= (shares - sizes)[high].sum() else high
        counts[fixed] = (least if fixed is low else sizes)[fixed]
        is_open &= ~fixed
    if is_open.any():
        places = np.flatnonzero(is_open)
        counts[places] = np.floor(shares[places])
        missing = int(n - counts.sum())
        rest = shares[places] - counts[places]
        counts[places[np.lexsort((places, -rest))[:missing]]] += 1
    return counts


def stratified(stratum: NDArray[np.int64], spread: Floats, n: int, *, seed: int) -> Sample:
    """Sample units from strata, with the numbers of `allocate`.

    Args:
        stratum: (units,) number of the stratum of each unit, from 0.
        spread: (strata,) as for `allocate`.
    """
    rng = np.random.default_rng(seed)
    sizes = np.bincount(stratum, minlength=len(spread))
    counts = allocate(sizes, spread, n)
    sampled = [
        rng.choice(np.flatnonzero(stratum == number), count, replace=False)
        for number, count in enumerate(counts.tolist())
    ]
    return Sample(np.sort(np.concatenate(sampled)), (counts / np.maximum(sizes, 1))[stratum])


def split(n_topics: int, *, seed: int) -> NDArray[np.bool_]:
    """(topics,) whether each topic serves to fit thresholds and prompts; the other half is for the report."""
    is_for_fit = np.zeros(n_topics, dtype=np.bool_)
    is_for_fit[np.random.default_rng(seed).permutation(n_topics)[: n_topics // 2]] = True
    return is_for_fit
