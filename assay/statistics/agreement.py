"""Agreement of judges: Cohen's kappa of two judges, plain or weighted, and Krippendorff's alpha of any number.

Judgments are flat arrays of equal length, with one row for each judgment: its unit, judge and grade. Leave non-answers
out. Grades are ordered by their numbers; weights count steps in that order, over the grades that occur.
"""

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Weights = Literal["none", "linear", "quadratic"]
Metric = Literal["nominal", "ordinal", "interval"]
Ints = NDArray[np.int64]


class Kappa(NamedTuple):
    """Agreement of two judges on `n` units.

    observed, expected : the weighted share of units on which they agree, and the share expected by chance.
    value : kappa; nan if there are no units, or if chance alone gives perfect agreement.
    """

    n: int
    observed: float
    expected: float
    value: float


def confusion(first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """Confusion matrix of two judges.

    Parameters
    ----------
    first, second : (units,) grades of the same units.

    Returns
    -------
    The grades that occur, ascending, and a (grades, grades) matrix: how often the first judge gave the grade of the row
    when the second gave the grade of the column. Both are empty for no units.

    Raises
    ------
    ValueError
        The two arrays differ in length.

    Examples
    --------
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

    Parameters
    ----------
    first, second : (units,) grades of the same units.
    weights : what a disagreement counts: "none": 1; "linear": its number of steps; "quadratic": the square of them.

    Returns
    -------
    Kappa; with nan for no units.

    Raises
    ------
    ValueError
        The two arrays differ in length.

    Source
    ------
    Cohen (1960), doi:10.1177/001316446002000104; weighted: Cohen (1968), doi:10.1037/h0026256.

    Examples
    --------
    >>> round(cohen_kappa(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0])).value, 2)
    0.5
    """
    grades, table = confusion(first, second)
    n = len(first)
    if not n:
        return Kappa(0, math.nan, math.nan, math.nan)
    cost = _costs(len(grades), weights)
    chance = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    observed, by_chance = float((cost * table).sum()) / n, float((cost * chance).sum()) / n
    value = 1 - observed / by_chance if by_chance else math.nan
    return Kappa(n, 1 - observed, 1 - by_chance, value)


def _costs(n_grades: int, weights: Weights) -> NDArray[np.float64]:
    """(grades, grades) what each disagreement counts, from 0 to 1."""
    steps = np.abs(np.subtract.outer(np.arange(n_grades), np.arange(n_grades))).astype(np.float64)
    if weights == "none":
        return (steps > 0).astype(np.float64)
    share = steps / max(1, n_grades - 1)
    return share if weights == "linear" else np.square(share)


def krippendorff_alpha(unit: Ints, grade: Ints, *, metric: Metric = "ordinal") -> float:
    """Krippendorff's alpha of any number of judges, who need not all judge every unit.

    Units with a single judgment are left out.

    Parameters
    ----------
    unit, grade : (judgments,) unit and grade of each; at most one judgment per judge and unit.
    metric : distance of two grades: "nominal": equal or not; "ordinal": number of judgments between them; "interval":
        difference of their numbers.

    Returns
    -------
    1 for perfect agreement, 0 for agreement by chance; nan if no unit has two judgments, or if all grades are equal.

    Raises
    ------
    ValueError
        The two arrays differ in length.

    Source
    ------
    Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, repository.upenn.edu/asc_papers/43.

    Examples
    --------
    >>> krippendorff_alpha(np.array([1, 1, 2, 2]), np.array([0, 0, 3, 3]))
    1.0
    """
    if unit.shape != grade.shape:
        raise ValueError(f"got {len(unit)} units and {len(grade)} grades; each judgment needs one of each")
    grades, place = np.unique(grade, return_inverse=True)
    _, row = np.unique(unit, return_inverse=True)
    n_rows, n_grades = int(row.max(initial=-1)) + 1, len(grades)
    given = np.bincount(row * n_grades + place, minlength=n_rows * n_grades).reshape(n_rows, n_grades)
    given = given[given.sum(axis=1) > 1].astype(np.float64)
    weight = 1 / (given.sum(axis=1) - 1)
    coincidences = (given * weight[:, None]).T @ given - np.diag(weight @ given)
    totals = coincidences.sum(axis=0)
    n = float(totals.sum())
    distance = _distance(grades, totals, metric)
    by_chance = float((distance * np.outer(totals, totals)).sum())
    return 1 - (n - 1) * float((distance * coincidences).sum()) / by_chance if by_chance else math.nan


def _distance(grades: Ints, totals: NDArray[np.float64], metric: Metric) -> NDArray[np.float64]:
    """(grades, grades) squared distances."""
    if metric == "nominal":
        return 1 - np.eye(len(grades))
    # the number of the grade, or the middle of its judgments when all judgments are sorted
    at = grades.astype(np.float64) if metric == "interval" else np.cumsum(totals) - totals / 2
    distance: NDArray[np.float64] = np.square(at[:, None] - at[None, :])
    return distance


class SharedUnits(NamedTuple):
    """Units that two judges both judged.

    first, second : the judges.
    of_first, of_second : (units,) rows of their judgments; equal positions are the same unit.
    """

    first: int
    second: int
    of_first: Ints
    of_second: Ints


def shared_units(unit: Ints, judge: Ints) -> Iterator[SharedUnits]:
    """Every two judges who share a unit, ordered by their numbers.

    Parameters
    ----------
    unit, judge : (judgments,) unit and judge of each; at most one judgment per judge and unit.
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
