"""Agreement of judges: Cohen's kappa of two judges, plain or weighted, and Krippendorff's alpha of any number.

Judgments are flat arrays of equal length, with one row for each judgment: its unit, judge and grade. Leave non-answers
out. Grades are ordered by their numbers; weights count steps in that order, over the grades that occur. Functions raise
ValueError for arrays of different lengths.
"""

import math
from collections.abc import Iterator
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Weights = Literal["none", "linear", "quadratic"]
Metric = Literal["nominal", "ordinal", "interval"]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
LEVEL = 0.95
N_RESAMPLES = 2_000
SEED = 2_011


class Interval(NamedTuple):
    """A confidence interval; both ends are nan if the value is undefined."""

    low: float
    high: float


class Kappa(NamedTuple):
    """Agreement of two judges on `n` units.

    Args:
        observed, expected: the weighted share of units on which they agree, and the share expected by chance.
        value: kappa; nan if there are no units, or if chance alone gives perfect agreement.
        error: the large-sample standard error of kappa; nan where kappa is.
    """

    n: int
    observed: float
    expected: float
    value: float
    error: float

    def interval(self, level: float = LEVEL) -> Interval:
        """The normal confidence interval, cut to [-1, 1]. It is rough for fewer than about 50 units."""
        width = NormalDist().inv_cdf((1 + level) / 2) * self.error
        if math.isnan(width):
            return Interval(math.nan, math.nan)
        return Interval(max(-1.0, self.value - width), min(1.0, self.value + width))


def confusion(first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """Confusion matrix of two judges.

    Args:
        first, second: (units,) grades of the same units.

    Returns:
        The grades that occur, ascending, and a (grades, grades) matrix with the number of units to which the first
        judge gave the grade of the row and the second that of the column. Both are empty for no units.

    >>> confusion(np.array([0, 1, 1]), np.array([0, 1, 0]))[1].tolist()
    [[1, 0], [1, 1]]
    """
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(
            f"got {len(first)} grades of one judge and {len(second)} of the other; both must judge the same units"
        )
    grades, place = np.unique(np.concatenate((first, second)), return_inverse=True)
    cell = place[: len(first)] * len(grades) + place[len(first) :]
    return grades, np.bincount(cell, minlength=len(grades) ** 2).reshape(len(grades), len(grades))


def cohen_kappa(first: Ints, second: Ints, *, weights: Weights = "none") -> Kappa:
    """Cohen's kappa of two judges: agreement beyond chance, given how often each judge uses each grade.

    Args:
        first, second: (units,) grades of the same units.
        weights: what a disagreement counts: "none": 1; "linear": its number of steps; "quadratic": the square of them.

    Returns:
        Kappa; with nan for no units.

    Source:
        Cohen (1960), doi:10.1177/001316446002000104; weighted: Cohen (1968), doi:10.1037/h0026256. The standard error:
        Fleiss, Cohen & Everitt (1969), doi:10.1037/h0028106.

    >>> round(cohen_kappa(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0])).value, 2)
    0.5
    """
    grades, table = confusion(first, second)
    n = len(first)
    if not n:
        return Kappa(0, math.nan, math.nan, math.nan, math.nan)
    steps = np.abs(np.subtract.outer(np.arange(len(grades)), np.arange(len(grades)))).astype(np.float64)
    share = steps / max(1, len(grades) - 1)
    cost = {"none": (steps > 0).astype(np.float64), "linear": share, "quadratic": np.square(share)}[weights]
    chance = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    observed, by_chance = float((cost * table).sum()) / n, float((cost * chance).sum()) / n
    value = 1 - observed / by_chance if by_chance else math.nan
    return Kappa(n, 1 - observed, 1 - by_chance, value, _standard_error(table / n, cost, by_chance, value, n))


def _standard_error(share: Floats, cost: Floats, by_chance: float, kappa: float, n: int) -> float:
    """The large-sample standard error of kappa, from the (grades, grades) shares of the confusion matrix."""
    if not by_chance:
        return math.nan
    weight, loss = 1 - cost, 1 - kappa
    of_rows, of_columns = weight @ share.sum(axis=0), share.sum(axis=1) @ weight
    spread = share * np.square(weight - (of_rows[:, None] + of_columns[None, :]) * loss)
    variance = float(spread.sum()) - (kappa - (1 - by_chance) * loss) ** 2
    return math.sqrt(max(0.0, variance) / n) / by_chance


def krippendorff_alpha(unit: Ints, grade: Ints, *, metric: Metric = "ordinal") -> float:
    """Krippendorff's alpha of any number of judges, who need not all judge every unit.

    Units with a single judgment are left out.

    Args:
        unit, grade: (judgments,) unit and grade of each; at most one judgment per judge and unit.
        metric: distance of two grades: "nominal": equal or not; "ordinal": number of judgments between them;
            "interval": difference of their numbers.

    Returns:
        1 for perfect agreement, 0 for agreement by chance; nan if no unit has two judgments, or if all grades are
        equal.

    Source:
        Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, repository.upenn.edu/asc_papers/43.

    >>> krippendorff_alpha(np.array([1, 1, 2, 2]), np.array([0, 0, 3, 3]))
    1.0
    """
    grades, patterns, n_units = _patterns(unit, grade)
    coincidences = np.tensordot(n_units[None], _coincidences(patterns), axes=1)
    return float(_alphas(grades, coincidences, metric)[0])


def alpha_interval(
    unit: Ints, grade: Ints, *, metric: Metric = "ordinal", level: float = LEVEL, seed: int = SEED
) -> Interval:
    """The percentile bootstrap interval of Krippendorff's alpha, from 2,000 resamples of units.

    Args:
        unit, grade, metric: as for `krippendorff_alpha`.
        level: the confidence level.
        seed: seed of the resamples. The same NumPy gives the same interval.

    Returns:
        The two ends; nan if alpha is undefined. Resamples without a defined alpha, such as those in which all grades
        are equal, are left out.

    Source:
        Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 13.
    """
    grades, patterns, n_units = _patterns(unit, grade)
    n = int(n_units.sum())
    if not n:
        return Interval(math.nan, math.nan)
    resamples = np.random.default_rng(seed).multinomial(n, n_units / n, size=N_RESAMPLES)
    coincidences = np.tensordot(resamples.astype(np.float64), _coincidences(patterns), axes=1)
    values = _alphas(grades, coincidences, metric)
    values = values[~np.isnan(values)]
    if math.isnan(krippendorff_alpha(unit, grade, metric=metric)) or not len(values):
        return Interval(math.nan, math.nan)
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return Interval(low, high)


def _patterns(unit: Ints, grade: Ints) -> tuple[Ints, Floats, Floats]:
    """The grades that occur; how often each was given to a unit, for each different row of such counts (patterns,
    grades); and the number of units with that row. Units with a single judgment are left out."""
    if unit.shape != grade.shape:
        raise ValueError(f"got {len(unit)} units and {len(grade)} grades; each judgment needs one of each")
    grades, place = np.unique(grade, return_inverse=True)
    _, row = np.unique(unit, return_inverse=True)
    n_rows, n_grades = int(row.max(initial=-1)) + 1, len(grades)
    given = np.bincount(row * n_grades + place, minlength=n_rows * n_grades).reshape(n_rows, n_grades)
    patterns, n_units = np.unique(given[given.sum(axis=1) > 1], axis=0, return_counts=True)
    return grades, patterns.astype(np.float64), n_units.astype(np.float64)


def _coincidences(patterns: Floats) -> NDArray[np.float64]:
    """(patterns, grades, grades) what a unit of each pattern adds to the matrix of coincidences."""
    weight = 1 / (patterns.sum(axis=1) - 1)
    pairs = patterns[:, :, None] * patterns[:, None, :]
    own = patterns[:, :, None] * np.eye(patterns.shape[1])
    coincidences: NDArray[np.float64] = (pairs - own) * weight[:, None, None]
    return coincidences


def _alphas(grades: Ints, coincidences: NDArray[np.float64], metric: Metric) -> Floats:
    """Alpha of each of (samples, grades, grades) matrices; nan where chance alone gives perfect agreement."""
    totals = coincidences.sum(axis=1)
    n = totals.sum(axis=1)
    if metric == "nominal":
        distance = np.broadcast_to(1 - np.eye(len(grades)), coincidences.shape)
    else:
        # the number of the grade, or the middle of its judgments when all judgments are sorted
        middle = np.cumsum(totals, axis=1) - totals / 2
        at = np.broadcast_to(grades.astype(np.float64), middle.shape) if metric == "interval" else middle
        distance = np.square(at[:, :, None] - at[:, None, :])
    by_chance = (distance * totals[:, :, None] * totals[:, None, :]).sum(axis=(1, 2))
    observed = (n - 1) * (distance * coincidences).sum(axis=(1, 2))
    ratio = np.divide(observed, by_chance, out=np.full(len(n), np.nan), where=by_chance > 0)
    values: Floats = 1 - ratio
    return values


class SharedUnits(NamedTuple):
    """Units that two judges both judged.

    Args:
        first, second: the judges.
        of_first, of_second: (units,) rows of their judgments; equal positions are the same unit.
    """

    first: int
    second: int
    of_first: Ints
    of_second: Ints


def shared_units(unit: Ints, judge: Ints) -> Iterator[SharedUnits]:
    """Every two judges who share a unit, ordered by their numbers.

    Args:
        unit, judge: (judgments,) unit and judge of each; at most one judgment per judge and unit.
    """
    judges = np.unique(judge).tolist()
    rows = {number: np.flatnonzero(judge == number) for number in judges}
    for i, first in enumerate(judges):
        for second in judges[i + 1 :]:
            _, left, right = np.intersect1d(
                unit[rows[first]], unit[rows[second]], assume_unique=True, return_indices=True
            )
            if len(left):
                yield SharedUnits(first, second, rows[first][left], rows[second][right])
