"""Prediction-powered inference: people judged all units of some topics, the machine judged all topics."""

import math

import numpy as np

from assay.errors import InputError, plural
from assay.statistics.intervals import LEVEL, t_quantile
from assay_extensions.estimates.difference import Estimate
from assay_extensions.estimates.weights import Floats

LEAST = 8  # topics: with fewer, intervals are wider than those of people alone
FOLDS = 5


def check_topics(n_topics: int) -> None:
    """Refuse too few topics of people.

    Raises:
        InputError: There are fewer than eight.
    """
    if n_topics < LEAST:
        raise InputError(
            f"people judged {plural(n_topics, 'topic')}, and at least {LEAST} are needed: with fewer, the interval "
            "from people and machine is wider than that from people alone"
        )


def prediction_powered(people: Floats, machine: Floats, others: Floats, *, level: float = LEVEL) -> Estimate:
    """The mean of a measure over topics, from people's values of some topics and the machine's of all.

    The machine's values count by a factor between 0 and 1: the better they predict people's, the larger it is. The
    factor of a topic is fitted without the fifth of the topics to which it belongs, so that it does not depend on the
    topic's own value.

    Args:
        people: (n,) values by people's qrels; any measure.
        machine: (n,) values by the machine's qrels on the same topics.
        others: (N,) values by the machine's qrels on topics that people did not judge. Without any, the mean of
            people's values is returned, with Student's interval.

    Raises:
        ValueError: `people` and `machine` have different lengths, or fewer than two topics.

    Source:
        Angelopoulos, Duchi & Zrnic (2023), PPI++, arXiv:2311.01453; cross-fitted: Zrnic & Candès (2024),
        doi:10.1073/pnas.2322083121.
    """
    n, n_others = len(people), len(others)
    if len(machine) != n or n < 2:
        raise ValueError(
            f"got {n} values of people and {len(machine)} of the machine; give two or more of each"
        )
    factors, mean, spread = np.zeros(n), 0.0, 0.0
    if n_others > 1:
        fold = np.arange(n) % FOLDS
        for number in range(min(FOLDS, n)):
            factors[fold == number] = factor(people[fold != number], machine[fold != number], others)
        mean, spread = float(factors.mean()), float(others.var(ddof=1)) / n_others
    rest = people - factors * machine
    estimate = float(rest.mean()) + (mean * float(others.mean()) if n_others > 1 else 0.0)
    error = math.sqrt(mean**2 * spread + float(rest.var(ddof=1)) / n)
    half = t_quantile(level, n - 1) * error
    return Estimate(estimate, error, estimate - half, estimate + half)


def factor(people: Floats, machine: Floats, others: Floats) -> float:
    """The factor of the machine's values, between 0 and 1, with which the interval is as narrow as possible."""
    n, n_others = len(people), len(others)
    variance = float(np.concatenate((machine, others)).var(ddof=1))
    if n < 2 or variance <= 0.0:
        return 0.0
    covariance = float(((people - people.mean()) * (machine - machine.mean())).sum()) / (n - 1)
    return min(max(covariance / ((1 + n / n_others) * variance), 0.0), 1.0)
