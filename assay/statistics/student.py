"""Tail probabilities of Student's t distribution, so that the library does not need SciPy.

They follow from the continued fraction of the incomplete beta function.
"""

import math

import numpy as np
from numpy.typing import NDArray

TINY = 1e-300
STEPS = 500


def two_sided_p(t: NDArray[np.float64], degrees: int) -> NDArray[np.float64]:
    """Two-sided p-value of each t: the probability of a value at least as far from 0.

    Parameters
    ----------
    t : any shape; infinities are accepted.
    degrees : degrees of freedom.

    Returns
    -------
    p-values in the shape of `t`; all are 1.0 if `degrees` is below 1.

    Source
    ------
    I_x(degrees / 2, 1 / 2) at x = degrees / (degrees + t^2): Abramowitz & Stegun (1964), 26.7.1 and 26.5.8.

    Examples
    --------
    >>> two_sided_p(np.array([0.0, 12.706]), 1).round(3).tolist()
    [1.0, 0.05]
    """
    if degrees < 1:
        return np.ones_like(t)
    with np.errstate(over="ignore"):  # a square that is too large becomes infinite, and its tail 0
        square = np.square(t)
    x = degrees / (degrees + square)
    rest = np.where(np.isinf(square), 1.0, 1.0 / (1.0 + degrees / np.maximum(square, TINY)))
    return _incomplete_beta(x, rest, degrees / 2, 0.5)


def _incomplete_beta(
    x: NDArray[np.float64], rest: NDArray[np.float64], a: float, b: float
) -> NDArray[np.float64]:
    """The regularized incomplete beta function I_x(a, b) for x in [0, 1]; `rest` is 1 - x without rounding."""
    # The fraction converges fast below the mean of the distribution. Above it, the other tail is computed.
    is_low = x < (a + 1) / (a + b + 2)
    low = _tail(np.where(is_low, x, 0.0), np.where(is_low, rest, 1.0), a, b)
    high = 1.0 - _tail(np.where(is_low, 0.0, rest), np.where(is_low, 1.0, x), b, a)
    return np.where(is_low, low, high)


def _tail(x: NDArray[np.float64], rest: NDArray[np.float64], a: float, b: float) -> NDArray[np.float64]:
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    with np.errstate(divide="ignore"):
        front = np.exp(a * np.log(x) + b * np.log(rest) - log_beta) / a
    return front * _fraction(x, a, b)


def _fraction(x: NDArray[np.float64], a: float, b: float) -> NDArray[np.float64]:
    """The continued fraction by Lentz's method, until no element changes any more."""
    c, d = np.ones_like(x), _inverse(1.0 - (a + b) * x / (a + 1))
    value = d.copy()
    for m in range(1, STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        step = np.ones_like(x)
        for term in (even, odd):
            d, c = _inverse(1.0 + term * d), _away_from_0(1.0 + term / c)
            step = step * d * c
        value *= step
        if (np.abs(step - 1.0) < 1e-15).all():
            break
    return value


def _inverse(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1.0 / _away_from_0(values)


def _away_from_0(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.abs(values) < TINY, TINY, values)
