"""How far judges agree: Cohen's kappa of two, plain or weighted, and Krippendorff's alpha of any number.

Judgments are flat arrays of one length, a row for each: the unit judged, the judge, and the grade. Non-answers are
no rows. Grades are put in the order of their numbers; weights count steps in that order.
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
    """Agreement of two judges on `n` units: as seen, as by chance, and kappa; nan where chance leaves nothing open."""

    n: int
    observed: float
    expected: float
    value: float


def confusion(first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """The grades that occur, and how often the row's of the first judge met the column's of the second.

    Raises
    ------
    ValueError
        The two differ in length.
    """
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(
            f"{len(first)} grades of one judge and {len(second)} of the other; both judge the same units"
        )
    grades, place = np.unique(np.concatenate((first, second)), return_inverse=True)
    cell = place[: len(first)] * len(grades) + place[len(first) :]
    return grades, np.bincount(cell, minlength=len(grades) ** 2).reshape(len(grades), len(grades))


def cohen_kappa(first: Ints, second: Ints, *, weights: Weights = "none") -> Kappa:
    """Cohen's kappa of two judges: agreement beyond chance, by what each is used to give.

    Parameters
    ----------
    first, second : (units,) grades of the same units.
    weights : a disagreement counts whole, by its steps among the grades that occur, or by their square.

    Raises
    ------
    ValueError
        The two differ in length.

    Source
    ------
    Cohen (1960), doi:10.1177/001316446002000104; weighted: Cohen (1968), doi:10.1037/h0026256.
    """
    grades, table = confusion(first, second)
    n = len(first)
    if not n:
        return Kappa(0, math.nan, math.nan, math.nan)
    blame = _blame(len(grades), weights)
    chance = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    seen, by_chance = float((blame * table).sum()) / n, float((blame * chance).sum()) / n
    value = 1 - seen / by_chance if by_chance else math.nan
    return Kappa(n, 1 - seen, 1 - by_chance, value)


def _blame(n_grades: int, weights: Weights) -> NDArray[np.float64]:
    """How much each disagreement counts, from 0 to 1."""
    steps = np.abs(np.subtract.outer(np.arange(n_grades), np.arange(n_grades))).astype(np.float64)
    if weights == "none":
        return (steps > 0).astype(np.float64)
    share = steps / max(1, n_grades - 1)
    return share if weights == "linear" else np.square(share)


def krippendorff_alpha(unit: Ints, grade: Ints, *, metric: Metric = "ordinal") -> float:
    """Krippendorff's alpha: any number of judges, who need not all judge every unit.

    Units with one judgment say nothing, and are left out.

    Parameters
    ----------
    unit, grade : (judgments,) at most one of each judge for a unit.
    metric : how far grades are apart: different at all; by how many judgments lie between; by their numbers.

    Returns
    -------
    1 for perfect agreement, 0 for that of chance; nan where nothing can be told: no unit is judged twice, or only
    one grade was given.

    Raises
    ------
    ValueError
        The two differ in length.

    Source
    ------
    Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, repository.upenn.edu/asc_papers/43.
    """
    if unit.shape != grade.shape:
        raise ValueError(f"{len(unit)} units and {len(grade)} grades; one of each is needed for a judgment")
    grades, place = np.unique(grade, return_inverse=True)
    _, row = np.unique(unit, return_inverse=True)
    n_rows, n_grades = int(row.max(initial=-1)) + 1, len(grades)
    given = np.bincount(row * n_grades + place, minlength=n_rows * n_grades).reshape(n_rows, n_grades)
    given = given[given.sum(axis=1) > 1].astype(np.float64)
    pairs_of = 1 / (given.sum(axis=1) - 1)
    met = (given * pairs_of[:, None]).T @ given - np.diag(pairs_of @ given)
    totals = met.sum(axis=0)
    n = float(totals.sum())
    apart = _distance(grades, totals, metric)
    by_chance = float((apart * np.outer(totals, totals)).sum())
    return 1 - (n - 1) * float((apart * met).sum()) / by_chance if by_chance else math.nan


def _distance(grades: Ints, totals: NDArray[np.float64], metric: Metric) -> NDArray[np.float64]:
    """(grades, grades) squared distances."""
    if metric == "nominal":
        return 1 - np.eye(len(grades))
    # the number of a grade, or the middle of its judgments in the order of all
    at = grades.astype(np.float64) if metric == "interval" else np.cumsum(totals) - totals / 2
    distance: NDArray[np.float64] = np.square(at[:, None] - at[None, :])
    return distance


class SharedUnits(NamedTuple):
    """What two judges both judged: row numbers of the judgments of each, side by side."""

    first: int
    second: int
    of_first: Ints
    of_second: Ints


def shared_units(unit: Ints, judge: Ints) -> Iterator[SharedUnits]:
    """Every two judges, by number, who share a unit; at most one judgment of each judge for a unit."""
    present = np.unique(judge).tolist()
    rows = {one: np.flatnonzero(judge == one) for one in present}
    for i, first in enumerate(present):
        for second in present[i + 1 :]:
            _, left, right = np.intersect1d(
                unit[rows[first]], unit[rows[second]], assume_unique=True, return_indices=True
            )
            if len(left):
                yield SharedUnits(first, second, rows[first][left], rows[second][right])
