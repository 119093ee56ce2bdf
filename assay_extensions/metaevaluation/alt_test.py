"""The alternative annotator test: may a machine take the place of a person?

On the units of each person, the machine and the person are compared with all other people. The person wins if the
others agree more with the person, and the machine wins if they agree more with the machine. A person can be replaced if
the person's advantage is significantly smaller than epsilon, which pays for the costs of people. False discoveries are
controlled over all people (Benjamini and Yekutieli).

Source:
    Calderon, Reichart & Dror (2025), The Alternative Annotator Test for LLM-as-a-Judge, arXiv 2501.10970; equals the
    authors' notebook.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, plural
from assay.statistics.agreement_report import Graded
from assay.statistics.significance import two_sided_p
from assay.tables import Table, Undefinable

Score = Literal["accuracy", "neg_rmse"]
SCORES: tuple[Score, ...] = ("accuracy", "neg_rmse")
EPSILON, FALSE_DISCOVERIES, LEAST_UNITS = 0.1, 0.05, 30
ENOUGH = 0.5  # share of the people that the machine must be able to replace


class Replaced(NamedTuple):
    """The test of one person.

    Args:
        n_units: units with the grades of the person, another person and the machine.
        advantage: share of the units that the person wins, less the share that the machine wins.
        at_least_as_good: share of the units on which the machine is as good as the person, or better.
        p: p-value of an advantage below epsilon.
        is_replaced: whether the machine can replace this person.
    """

    person: str
    n_units: int
    advantage: float
    at_least_as_good: float
    p: float
    is_replaced: bool


@dataclass(frozen=True, slots=True)
class AltTest:
    """The test of a machine.

    Args:
        tests: of each person with enough units, by name.
        skipped: people with too few units, and their numbers of units.
        n_dropped: units without a grade of the machine, or with fewer than two people.
    """

    machine: str
    epsilon: float
    score: Score
    least_units: int
    tests: tuple[Replaced, ...]
    skipped: tuple[tuple[str, int], ...]
    n_dropped: int

    @property
    def omega(self) -> Undefinable:
        """The share of the tested people that the machine can replace; nan if nobody is tested."""
        return sum(test.is_replaced for test in self.tests) / len(self.tests) if self.tests else math.nan

    @property
    def rho(self) -> Undefinable:
        """The mean share of units on which the machine is as good as a person, or better; nan if nobody is tested."""
        shares = [test.at_least_as_good for test in self.tests]
        return sum(shares) / len(shares) if shares else math.nan

    @property
    def is_passed(self) -> bool:
        return self.omega >= ENOUGH

    @property
    def verdict(self) -> str:
        if not self.tests:
            most = max((n for _, n in self.skipped), default=0)
            return (
                f"not enough grades: a person needs {plural(self.least_units, 'unit')} with the grades of another "
                f"person and of {self.machine}, and has at most {most}"
            )
        n_replaced = sum(test.is_replaced for test in self.tests)
        of_people = f"{n_replaced} of {plural(len(self.tests), 'person,people')}"
        can = "can" if self.is_passed else "cannot"
        return f"{self.machine} {can} take the place of people: it can replace {of_people}"

    @property
    def tables(self) -> list[Table]:
        low = f"advantage below {self.epsilon:g}; score {self.score}"
        return [
            Table(
                "machine",
                f"omega: share of the people that the machine can replace; rho: mean share of units on which it is as "
                f"good as a person, or better; {low}",
                ("machine", "people", "omega", "rho", "passed", "units_dropped"),
                [
                    (
                        *(self.machine, len(self.tests), self.omega, self.rho),
                        *("yes" if self.is_passed else "no" if self.tests else None, self.n_dropped),
                    )
                ],
            ),
            Table(
                "people",
                f"share of units that the person wins less that of the machine, and its p-value; {low}",
                ("person", "units", "advantage", "machine_at_least_as_good", "p", "replaced"),
                [(*test[:-1], "yes" if test.is_replaced else "no") for test in self.tests]
                + [(person, n, None, None, None, None) for person, n in self.skipped],
            ),
        ]


def joined(tests: Sequence[AltTest]) -> list[Table]:
    """The tables of tests of several machines in one; then the rows of people name the machine."""
    machines, people = zip(*(test.tables for test in tests), strict=True)
    if len(tests) == 1:
        return [machines[0], people[0]]
    of_people = [
        (test.machine, *row) for test, table in zip(tests, people, strict=True) for row in table.rows
    ]
    return [
        replace(machines[0], rows=[row for table in machines for row in table.rows]),
        replace(people[0], header=("machine", *people[0].header), rows=of_people),
    ]


def alt_test(
    graded: Graded,
    machine: str,
    *,
    others: Collection[str] = (),
    epsilon: float = EPSILON,
    score: Score = "accuracy",
    false_discoveries: float = FALSE_DISCOVERIES,
    least_units: int = LEAST_UNITS,
) -> AltTest:
    """Test whether a machine can take the place of people.

    Args:
        graded: the judgments of people, and of the machine under its own name.
        others: other machines, whose judgments do not count.
        epsilon: the advantage of a person that is given up; the authors use 0.2 for experts, 0.15 for skilled people
            and 0.1 for others.
        score: how a grade agrees with those of others: share of equal grades, or the root mean square of differences.
        false_discoveries: rate over all people.
        least_units: people with fewer units are not tested.

    Raises:
        InputError: The machine has no judgments, or a number is out of range.
    """
    for name in (machine, *others):
        if name not in graded.assessors:
            raise InputError(
                f"there are no judgments of {name!r}; the judgments are of {', '.join(graded.assessors)}"
            )
    for name, value in (("epsilon", epsilon), ("the rate of false discoveries", false_discoveries)):
        if not 0 <= value < 1:
            raise InputError(f"{name} is {value:g}; use a number from 0 to below 1")
    if least_units < 2:
        raise InputError(f"the least number of units is {least_units}; use at least 2")
    is_machine = graded.assessor == graded.assessors.index(machine)
    n_units = int(graded.unit.max(initial=-1)) + 1
    of_machine = np.zeros(n_units, dtype=np.int64)
    has_machine = np.zeros(n_units, dtype=np.bool_)
    of_machine[graded.unit[is_machine]], has_machine[graded.unit[is_machine]] = graded.grade[is_machine], True
    is_person = ~np.isin(graded.assessor, [graded.assessors.index(name) for name in (machine, *others)])
    unit, person, grade = (column[is_person] for column in (graded.unit, graded.assessor, graded.grade))
    n_people = np.bincount(unit, minlength=n_units)
    is_tested = (n_people > 1) & has_machine
    n_dropped = int(((n_people > 0) & ~is_tested).sum())
    rows = is_tested[unit]
    unit, person, grade = unit[rows], person[rows], grade[rows]
    costs = _others_differ if score == "accuracy" else _others_are_away
    cost, cost_of_machine = costs(unit, grade, of_machine[unit], n_units)
    tests, skipped = [], []
    for number, name in enumerate(graded.assessors):
        own = person == number
        n_own = int(own.sum())
        if name in (machine, *others):
            continue
        if n_own < least_units:
            skipped.append((name, n_own))
            continue
        wins = (cost[own] <= cost_of_machine[own]).astype(np.int64)
        losses = (cost_of_machine[own] <= cost[own]).astype(np.int64)
        away = wins - losses
        tests.append(
            Replaced(name, n_own, float(away.mean()), float(losses.mean()), _p_less(away, epsilon), False)
        )
    replaced = _discoveries([test.p for test in tests], false_discoveries)
    done = tuple(test._replace(is_replaced=is_it) for test, is_it in zip(tests, replaced, strict=True))
    return AltTest(machine, epsilon, score, least_units, done, tuple(skipped), n_dropped)


Ints = NDArray[np.int64]


def _others_differ(unit: Ints, grade: Ints, of_machine: Ints, n_units: int) -> tuple[Ints, Ints]:
    """(judgments,) how many others gave another grade than this person, and than the machine."""
    grades, place = np.unique(np.concatenate((grade, of_machine)), return_inverse=True)
    own, machine = place[: len(grade)], place[len(grade) :]
    counts = np.bincount(unit * len(grades) + own, minlength=n_units * len(grades))
    n_others = np.bincount(unit, minlength=n_units)[unit] - 1
    agree = counts[unit * len(grades) + own] - 1
    agree_with_machine = counts[unit * len(grades) + machine] - (own == machine)
    return n_others - agree, n_others - agree_with_machine


def _others_are_away(unit: Ints, grade: Ints, of_machine: Ints, n_units: int) -> tuple[Ints, Ints]:
    """(judgments,) the sum of squared differences of others from this person, and from the machine."""
    n_others = np.bincount(unit, minlength=n_units)[unit] - 1
    total, squares = np.zeros(n_units, dtype=np.int64), np.zeros(n_units, dtype=np.int64)
    np.add.at(total, unit, grade)
    np.add.at(squares, unit, np.square(grade))
    of_others, squares_of_others = total[unit] - grade, squares[unit] - np.square(grade)
    own, machine = (
        squares_of_others - 2 * at * of_others + n_others * np.square(at) for at in (grade, of_machine)
    )
    return own, machine


def _p_less(values: Ints, limit: float) -> float:
    """One-sided p-value of Student's t test that the mean is below a limit. Equal values decide: 0 or 1."""
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    if not spread:
        return 0.0 if mean < limit else 1.0
    t = (mean - limit) / (spread / math.sqrt(len(values)))
    p = float(two_sided_p(np.array([[t]]), len(values) - 1)[0, 0])
    return p / 2 if t < 0 else 1 - p / 2


def _discoveries(p_values: list[float], rate: float) -> list[bool]:
    """Return for each hypothesis if the procedure of Benjamini and Yekutieli rejects it."""
    n = len(p_values)
    harmonic = sum(1 / i for i in range(1, n + 1))
    allowed = [p for i, p in enumerate(sorted(p_values), 1) if p <= i * rate / (n * harmonic)]
    largest = max(allowed, default=-1.0)
    return [p <= largest for p in p_values]
