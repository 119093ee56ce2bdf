"""The units that people should judge next, and by how much the intervals are then expected to narrow.

A unit that people judge for sure adds nothing to the error of sampling. The units are therefore ordered by what they
would add to it if the machine were as wrong about each of them, and judged from the first on. Their probability is 1
from then on, also of those that are in the sample already. The order depends on weights and probabilities only, so that
people's grades cannot bias the estimate; their errors by grade of the machine only say what to expect.
"""

from typing import NamedTuple

import numpy as np

from assay.errors import plural
from assay.statistics.intervals import LEVEL, t_quantile
from assay_extensions.estimates.difference import corrected
from assay_extensions.estimates.weights import Floats, Ints, Units

PRIOR = 2.0  # units by which the mean error of a grade is drawn to that of all grades


class Next(NamedTuple):
    """The units to judge for sure.

    Args:
        order: (units to judge,) the first ones to judge, that people have not judged yet.
        probability: (units,) the probabilities of all units from then on.
        half_width: (runs,) half of the interval now.
        expected: (runs,) half of the interval that is expected.
    """

    order: Ints
    probability: Floats
    half_width: Floats
    expected: Floats


def expected_errors(units: Units, machine: Ints, sampled: Ints, probability: Floats, gain: Floats) -> Floats:
    """(units,) the mean square of people's gain minus the machine's, by the machine's grade, from the sample.

    A grade with few sampled units is drawn to the mean of all grades.

    Args:
        machine: (units,) grades.
        sampled: (sampled,) units that people judged; `gain` are their gains.
        probability: (units,) to be in the sample.
    """
    _, place = np.unique(machine, return_inverse=True)
    inverse = 1 / probability[sampled]
    square = np.square(gain - units.gain[sampled])
    overall = float((inverse * square).sum() / inverse.sum())
    scale = len(sampled) / inverse.sum()  # so that weights count sampled units
    mass = scale * np.bincount(place[sampled], weights=inverse, minlength=place.max() + 1)
    sums = scale * np.bincount(place[sampled], weights=inverse * square, minlength=place.max() + 1)
    errors: Floats = ((sums + PRIOR * overall) / (mass + PRIOR))[place]
    return errors


def next_units(
    units: Units,
    machine: Ints,
    sampled: Ints,
    probability: Floats,
    gain: Floats,
    n: int,
    *,
    level: float = LEVEL,
) -> Next:
    """The next n units for people, those first that add most to the error of all runs together.

    Args:
        units: their weights can also be those of differences of runs, if these are of interest.
        machine, sampled, probability, gain: as for `expected_errors`.
    """
    errors = expected_errors(units, machine, sampled, probability, gain)
    left_to_chance = np.square(units.weight) * (1 / probability - 1)  # (runs, units)
    added = left_to_chance * errors
    use = left_to_chance.mean(axis=0)
    order = np.argsort(-use, kind="stable")
    is_judged = np.zeros(len(machine), dtype=np.bool_)
    is_judged[sampled] = True
    is_open = ~is_judged[order] & (use[order] > 0)
    n_certain = int(np.searchsorted(np.cumsum(is_open), n)) + 1 if is_open.sum() >= n else len(order)
    certain = order[:n_certain]
    after = probability.copy()
    after[certain] = 1.0
    values = corrected(units, sampled, probability[sampled], gain)
    variance = values.var(axis=1, ddof=1) / units.n_topics
    removed = added[:, certain].sum(axis=1) / units.n_topics**2
    t = t_quantile(level, units.n_topics - 1)
    # What is left is at least the error of the other units, and that of topics, which no judgment removes
    by_chance = (added.sum(axis=1) - added[:, certain].sum(axis=1)) / units.n_topics**2
    least = np.maximum(by_chance, _variance_of_topics(units))
    left = np.maximum(variance - removed, np.minimum(least, variance))
    return Next(order[is_open][:n], after, t * np.sqrt(variance), t * np.sqrt(left))


def _variance_of_topics(units: Units) -> Floats:
    """(runs,) the variance of means over topics if people judge everything, where topics differ as by the machine."""
    variance: Floats = units.by_machine.var(axis=1, ddof=1) / units.n_topics
    return variance


def expected_half_widths(
    units: Units, errors: Floats, probability: Floats, *, level: float = LEVEL
) -> tuple[Floats, Floats]:
    """(runs,) half of the interval that a sample is expected to give, and of that of people who judge everything.

    The values of topics are taken to differ as they do by the machine.

    Args:
        errors: (units,) as from `expected_errors`.
        probability: (units,) to be in the sample.
    """
    by_topics = _variance_of_topics(units)
    by_chance = (np.square(units.weight) * (1 / probability - 1) * errors).sum(axis=1) / units.n_topics**2
    t = t_quantile(level, units.n_topics - 1)
    return t * np.sqrt(by_topics + by_chance), t * np.sqrt(by_topics)


def hour_sentence(n: int, now: float, expected: float) -> str:
    """The effect of one more hour on an interval, in words.

    >>> hour_sentence(60, 0.05, 0.04)
    'One more hour (60 units) is expected to narrow this interval by 20%, from ±0.0500 to ±0.0400.'
    """
    narrower = 1 - expected / now if now > 0 else 0.0
    return (
        f"One more hour ({plural(n, 'unit')}) is expected to narrow this interval by {narrower:.0%}, from ±{now:.4f} "
        f"to ±{expected:.4f}."
    )
