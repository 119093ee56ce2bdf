"""Agreement of judges: Cohen's kappa of two judges, and Krippendorff's alpha and Gwet's AC of any number.

Judgments are flat arrays of equal length, with one row for each judgment: its unit, judge and grade. Leave non-answers
out. Grades are ordered by their numbers. Functions raise ValueError for arrays of different lengths.

Standard errors of kappa and alpha are the jackknife's: the value is computed again without each unit. Intervals are
Student's, of Fisher's transformation of the value, so that they stay between -1 and 1. Those of AC are Gwet's. They are
nan where they are undefined: with fewer than two units, where values without one unit are all equal, as in perfect
agreement, or where one of them is undefined.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from assay.statistics.intervals import LEVEL, t_quantile
from assay.tables import Undefinable

Weights = Literal["none", "linear", "quadratic"]
Metric = Literal["nominal", "ordinal", "interval"]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


DENSE = 4  # numbers up to so many times their count need no sorting
MOST_CODES = 1 << 62


class Interval(NamedTuple):
    """A confidence interval; both ends are nan if the value is undefined."""

    low: Undefinable
    high: Undefinable

    @property
    def is_defined(self) -> bool:
        return not math.isnan(self.low)


@dataclass(frozen=True, slots=True)
class Coefficient:
    """Agreement beyond chance on `n` units.

    Args:
        observed, expected: the weighted share on which judges agree, and the share expected by chance.
        value: the coefficient; nan where it is undefined.
        error: its standard error; nan where it is undefined.
    """

    n: int
    observed: Undefinable
    expected: Undefinable
    value: Undefinable
    error: Undefinable


class Kappa(Coefficient):
    """Kappa of two judges, by units. Undefined if there are no units, or if chance alone gives perfect agreement."""

    __slots__ = ()

    def interval(self, level: float = LEVEL) -> Interval:
        return _interval(self.value, self.error, self.n, level)


def _interval(value: float, error: float, n: int, level: float) -> Interval:
    if not (n > 1 and error > 1e-12 and abs(value) < 1):
        return Interval(math.nan, math.nan)
    middle, width = math.atanh(value), t_quantile(level, n - 1) * error / (1 - value**2)
    return Interval(math.tanh(middle - width), math.tanh(middle + width))


def _jackknife(without_one: Floats, n_units: Floats) -> float:
    """The standard error of a value, from those without a unit of each pattern (patterns,), and its number of units."""
    n = float(n_units.sum())
    if n < 2:
        return math.nan
    away = without_one - (without_one @ n_units) / n
    return math.sqrt((n - 1) / n * float(np.square(away) @ n_units))


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
    grades, place = places(np.concatenate((first, second)))
    cell = place[: len(first)] * len(grades) + place[len(first) :]
    return grades, np.bincount(cell, minlength=len(grades) ** 2).reshape(len(grades), len(grades))


def cohen_kappa(first: Ints, second: Ints, *, weights: Weights = "none", scale: Sequence[int] = ()) -> Kappa:
    """Cohen's kappa of two judges: agreement beyond chance, given how often each judge uses each grade.

    Args:
        first, second: (units,) grades of the same units.
        weights: what a disagreement counts: "none": 1; "linear": its number of steps; "quadratic": the square of them.
        scale: the grades that a judge can give; a step leads from one to the next. Grades that occur are added.

    Returns:
        Kappa; with nan for no units.

    Source:
        Cohen (1960), doi:10.1177/001316446002000104; weighted: Cohen (1968), doi:10.1037/h0026256.

    >>> round(cohen_kappa(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0])).value, 2)
    0.5
    """
    grades, table = confusion(first, second)
    n = len(first)
    if not n:
        return Kappa(0, math.nan, math.nan, math.nan, math.nan)
    steps_of = np.union1d(grades, np.array(scale, dtype=np.int64))
    cost = _cost_of_steps(np.searchsorted(steps_of, grades), len(steps_of), weights)
    row, column = np.nonzero(table)
    tables = np.repeat(table[None].astype(np.float64), len(row) + 1, axis=0)
    tables[np.arange(len(row)), row, column] -= 1  # the last one is whole
    observed, by_chance = _costs(tables, cost)
    values = 1 - np.divide(observed, by_chance, out=np.full(len(tables), np.nan), where=by_chance > 0)
    error = _jackknife(values[:-1], table[row, column].astype(np.float64))
    return Kappa(n, 1 - float(observed[-1]), 1 - float(by_chance[-1]), float(values[-1]), error)


def _cost_of_steps(place: Ints, n_grades: int, weights: Weights) -> Floats:
    """(grades, grades) what it costs to give the grade at one place of the scale and that at another, from 0 to 1."""
    steps = np.abs(np.subtract.outer(place, place)).astype(np.float64)
    share = steps / max(1, n_grades - 1)
    return {"none": (steps > 0).astype(np.float64), "linear": share, "quadratic": np.square(share)}[weights]


def _costs(tables: Floats, cost: Floats) -> tuple[Floats, Floats]:
    """The mean cost of each confusion matrix (tables, grades, grades), and the mean expected by chance; 0 if empty."""
    n = np.maximum(tables.sum(axis=(1, 2)), 1.0)
    by_chance = np.einsum("ti,ij,tj->t", tables.sum(axis=2), cost, tables.sum(axis=1))
    return (tables * cost).sum(axis=(1, 2)) / n, by_chance / np.square(n)


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
    return Patterns.of(unit, grade).alpha(metric)


class Patterns(NamedTuple):
    """The grades that units were given by several judges. Units with a single judgment are left out.

    Args:
        grades: (grades,) those that occur.
        counts: (patterns, grades) how often each was given to a unit, for each different row of such counts.
        n_units: (patterns,) the number of units with that row.
    """

    grades: Ints
    counts: Floats
    n_units: Floats

    @classmethod
    def of(cls, unit: Ints, grade: Ints) -> Self:
        """The patterns of judgments; the arguments are those of `krippendorff_alpha`."""
        return cls(*_patterns(unit, grade))

    def alpha(self, metric: Metric) -> float:
        """Krippendorff's alpha."""
        coincidences = np.tensordot(self.n_units[None], _coincidences(self.counts), axes=1)
        return float(_alphas(self.grades, coincidences, metric)[0])

    def interval(self, metric: Metric, level: float = LEVEL) -> Interval:
        added = _coincidences(self.counts)
        total = np.tensordot(self.n_units[None], added, axes=1)
        values = _alphas(self.grades, np.concatenate((total, total - added)), metric)
        n_units = int(self.n_units.sum())
        return _interval(float(values[0]), _jackknife(values[1:], self.n_units), n_units, level)


def _patterns(unit: Ints, grade: Ints) -> tuple[Ints, Floats, Floats]:
    if unit.shape != grade.shape:
        raise ValueError(f"got {len(unit)} units and {len(grade)} grades; each judgment needs one of each")
    (grades, place), (_, row) = places(grade), places(unit)
    n_rows, n_grades = int(row.max(initial=-1)) + 1, len(grades)
    given = np.bincount(row * n_grades + place, minlength=n_rows * n_grades).reshape(n_rows, n_grades)
    given = given[given.sum(axis=1) > 1]
    base = int(given.max(initial=0)) + 1
    if base**n_grades < MOST_CODES:  # rows as numbers are sorted faster
        codes = given @ base ** np.arange(n_grades)[::-1]
        _, first, n_units = np.unique(codes, return_index=True, return_counts=True)
        patterns = given[first]
    else:
        patterns, n_units = np.unique(given, axis=0, return_counts=True)
    return grades, patterns.astype(np.float64), n_units.astype(np.float64)


def places(numbers: Ints) -> tuple[Ints, Ints]:
    """The distinct numbers, ascending, and the place of each among them. Dense ones are not sorted."""
    low = int(numbers.min(initial=0))
    if int(numbers.max(initial=-1)) - low >= DENSE * len(numbers):
        return np.unique(numbers, return_inverse=True)
    occurs = np.bincount(numbers - low) > 0
    return np.flatnonzero(occurs) + low, (np.cumsum(occurs) - 1)[numbers - low]


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


class GwetAC(Coefficient):
    """Gwet's AC of any number of judges, by pairs of judgments of a unit.

    `n` counts the units with a grade; those with a single grade count for the chance. The value is undefined if no unit
    has two judgments, or if judges can give only one grade. The error is over units.
    """

    __slots__ = ()

    def interval(self, level: float = LEVEL) -> Interval:
        """Student's interval. Its high end is at most 1, its low end can be below -1, as Gwet has it."""
        if not (self.n > 1 and self.error > 1e-12):
            return Interval(math.nan, math.nan)
        width = t_quantile(level, self.n - 1) * self.error
        return Interval(self.value - width, min(1.0, self.value + width))


def gwet_ac(unit: Ints, grade: Ints, *, weights: Weights = "none", scale: Sequence[int] = ()) -> GwetAC:
    """Gwet's AC1 of any number of judges, or AC2 with weights. It does not fall where one grade is frequent.

    Args:
        unit, grade: (judgments,) unit and grade of each; at most one judgment per judge and unit.
        weights: what a disagreement counts, as for `cohen_kappa`; "none" is AC1, and others are AC2.
        scale: the grades that a judge can give, also those that nobody gave. Grades that occur are added.

    Source:
        Gwet (2008), doi:10.1348/000711006X126600; standard error: Gwet (2014), Handbook of Inter-Rater Reliability,
        chapter 5; equals irrCAC.

    >>> round(gwet_ac(np.array([1, 1, 2, 2, 3, 3]), np.array([0, 0, 0, 0, 0, 1])).value, 3)
    0.538
    """
    if unit.shape != grade.shape:
        raise ValueError(f"got {len(unit)} units and {len(grade)} grades; each judgment needs one of each")
    given = np.union1d(grade, np.array(scale, dtype=np.int64))
    n_grades, (units, row) = len(given), places(unit)
    n = len(units)
    cells = row * n_grades + np.searchsorted(given, grade)
    counts = np.bincount(cells, minlength=n * n_grades).reshape(n, n_grades).astype(np.float64)
    weight = 1 - _cost_of_steps(np.arange(n_grades), n_grades, weights)
    n_judges = counts.sum(axis=1)
    is_shared = n_judges > 1
    n_shared = int(is_shared.sum())
    if not n_shared or n_grades < 2:
        return GwetAC(n, math.nan, math.nan, math.nan, math.nan)
    pairs = np.maximum(n_judges * (n_judges - 1), 1)
    agreeing = (counts * (counts @ weight - 1)).sum(axis=1) / pairs * is_shared
    shares = counts / n_judges[:, None]
    share = shares.mean(axis=0)
    scaled = float(weight.sum()) / (n_grades * (n_grades - 1))
    observed, expected = float(agreeing.sum()) / n_shared, scaled * float((share * (1 - share)).sum())
    value = (observed - expected) / (1 - expected)
    own = n / n_shared * (agreeing - expected * is_shared) / (1 - expected)
    by_chance = scaled * (shares @ (1 - share))
    away = own - 2 * (1 - value) * (by_chance - expected) / (1 - expected) - value
    error = math.sqrt(float(np.square(away).sum()) / (n * (n - 1))) if n > 1 else math.nan
    return GwetAC(n, observed, expected, value, error)


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
