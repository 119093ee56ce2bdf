"""Shares that a machine counts, such as those of supported citations, corrected by its errors on units of people.

The *sensitivity* is the share of units with people's yes to which the machine says yes, the *specificity* that of units
with people's no to which it says no.
"""

import math
from typing import NamedTuple

from assay.errors import InputError, plural
from assay.statistics.intervals import LEVEL, NORMAL


class Share(NamedTuple):
    """A share with its interval. At the ends of the scale, the share can be outside of the interval."""

    share: float
    low: float
    high: float


def adjusted_share(
    machine: float,
    n: int,
    *,
    specificity: float,
    n_no: int,
    sensitivity: float,
    n_yes: int,
    level: float = LEVEL,
) -> Share:
    """The share of yes by people, estimated from the machine's.

    Args:
        machine: share of yes by the machine, of n units that people did not judge.
        specificity: of the machine, on n_no units that people say no to.
        sensitivity: likewise, on n_yes units that people say yes to.

    Raises:
        InputError: Specificity and sensitivity add up to 1 or less: the machine is no better than chance.

    Source:
        Rogan & Gladen (1978), doi:10.1093/oxfordjournals.aje.a112510; interval: Lang & Reiczigel (2014),
        doi:10.1016/j.prevetmed.2013.09.015.
    """
    for name, value in (("share", machine), ("specificity", specificity), ("sensitivity", sensitivity)):
        if not 0 <= value <= 1:
            raise InputError(f"the {name} is {value:g}; use a number from 0 to 1")
    if n < 1 or n_no < 1 or n_yes < 1:
        raise InputError(
            f"{plural(n, 'unit')} without people's answer, {n_no:,} with their no, {n_yes:,} with their yes; at least "
            "one of each is needed"
        )
    z = NORMAL.inv_cdf((1 + level) / 2)
    size, no, yes = n + z * z, n_no + 2, n_yes + 2
    p = (n * machine + z * z / 2) / size
    q0, q1 = (n_no * specificity + 1) / no, (n_yes * sensitivity + 1) / yes
    if min(specificity + sensitivity, q0 + q1) <= 1 + 1e-12:
        raise InputError(
            f"specificity {specificity:.4g} and sensitivity {sensitivity:.4g} add up to 1 or less, or are from too few "
            "units: the machine is not better than chance, and its share cannot be corrected"
        )
    share = (machine + specificity - 1) / (specificity + sensitivity - 1)
    middle = (p + q0 - 1) / (q0 + q1 - 1)
    of_no, of_yes = q0 * (1 - q0) / no, q1 * (1 - q1) / yes
    shift = 2 * z * z * (middle * of_yes - (1 - middle) * of_no)
    variance = p * (1 - p) / size + (1 - middle) ** 2 * of_no + middle**2 * of_yes
    half = z * math.sqrt(variance) / (q0 + q1 - 1)
    return Share(_within(share), _within(middle + shift - half), _within(middle + shift + half))


def calibration_sizes(
    n: int, machine: float, *, specificity: float, sensitivity: float, pilot: int
) -> tuple[int, int]:
    """The numbers of units with people's no and with their yes, of n, for the narrowest interval.

    Args:
        machine: share of yes by the machine, or what is expected of it.
        specificity, sensitivity: from a pilot of that many units of each kind; 0: they are guesses.

    Raises:
        InputError: n is less than two pilots.

    Source:
        Lee, Zeng, Jeong, Sohn & Lee (2025), How to correctly report LLM-as-a-judge evaluations, arXiv:2511.21140.

    >>> calibration_sizes(200, 0.6, specificity=0.7, sensitivity=0.9, pilot=10)
    (97, 103)
    """
    if n < 2 * pilot or n < 2:
        raise InputError(f"{plural(n, 'unit')} for people; use at least {max(2, 2 * pilot)}")
    if pilot:
        ratio = (pilot * (1 - specificity) + 1) / (pilot * (1 - sensitivity) + 1)
    else:
        ratio = (1 - specificity) / (1 - min(sensitivity, 1 - 1e-6))
    n_yes = n - pilot
    if machine >= 1e-6:
        n_yes = round(min(max(n / (1 + (1 / machine - 1) * math.sqrt(ratio)), pilot), n - pilot))
    return n - n_yes, n_yes


def _within(share: float) -> float:
    return min(max(share, 0.0), 1.0)
