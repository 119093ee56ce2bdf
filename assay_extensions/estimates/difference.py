"""The difference estimator: values by a machine, corrected by what people say of sampled units of every topic."""

import math
from typing import NamedTuple

from assay.statistics.intervals import LEVEL, t_quantile
from assay_extensions.estimates.weights import Floats, Ints, Units, sums_by_topic


class Estimate(NamedTuple):
    """A mean over topics with its standard error and its interval; nan where they are undefined."""

    mean: float
    error: float
    low: float
    high: float


def corrected(units: Units, sampled: Ints, probability: Floats, gain: Floats) -> Floats:
    """(runs, topics) the value of each run on each topic, without the machine's bias.

    U = sum over all units of weight x machine's gain + sum over sampled units of weight / probability x (people's gain
    - machine's gain). The expectation of U is the value by people, whatever the machine does. A single U may be outside
    of the range of the measure; only its mean over topics is of interest, and it must not be clipped.

    Args:
        sampled: (sampled,) indexes of the units that people judged.
        probability: (sampled,) their probabilities to be in the sample, above 0.
        gain: (sampled,) their gains by people's grades.

    Source:
        Särndal, Swensson & Wretman (1992), Model Assisted Survey Sampling, 6.3; doi:10.1007/978-1-4612-4378-6.

    >>> import numpy as np
    >>> units = Units(np.array([0, 0]), 1, np.array([[1.0, 1.0]]), np.array([1.0, 1.0]))
    >>> corrected(units, np.array([1]), np.array([0.5]), np.array([0.0])).tolist()
    [[0.0]]
    """
    by_people = units.weight[:, sampled] * ((gain - units.gain[sampled]) / probability)
    return units.by_machine + sums_by_topic(by_people, units.topic[sampled], units.n_topics)


def t_interval(values: Floats, *, level: float = LEVEL) -> Estimate:
    """The mean of values (topics,) with Student's interval; it covers the sampling of topics and of units.

    >>> import numpy as np
    >>> [round(number, 3) for number in t_interval(np.array([1.0, 2.0, 3.0]))]
    [2.0, 0.577, -0.484, 4.484]
    """
    n = len(values)
    mean = float(values.mean()) if n else math.nan
    if n < 2:
        return Estimate(mean, math.nan, math.nan, math.nan)
    error = float(values.std(ddof=1)) / math.sqrt(n)
    half = t_quantile(level, n - 1) * error
    return Estimate(mean, error, mean - half, mean + half)
