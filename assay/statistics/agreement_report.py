"""A report on agreement: all judgments, every two assessors, every assessor, every topic.

Judgments with a grade only; a unit is a document of a topic. "Two-way" means two classes of grades: relevant from the
grade `level` on, and not relevant. A value that is undefined is nan, and `reason` states why.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from assay.statistics.agreement import (
    Interval,
    Kappa,
    Metric,
    Patterns,
    Weights,
    cohen_kappa,
    confusion,
    gwet_ac,
    places,
    shared_units,
)
from assay.tables import Cell, Table, Undefinable

METRICS: tuple[Metric, ...] = ("nominal", "ordinal", "interval")
WEIGHTS: tuple[Weights, ...] = ("none", "linear", "quadratic")
Ints = NDArray[np.int64]
PAIR_HEADER = (
    "first", "second", "units", "agreement", "kappa", "kappa_linear", "kappa_quadratic", "agreement_two_way",
    "kappa_two_way", "kappa_low", "kappa_high", "kappa_two_way_low", "kappa_two_way_high",
)  # fmt: skip
ASSESSOR_HEADER = ("assessor", "other_assessors", "units", "kappa", "kappa_two_way")
TOPIC_HEADER = ("topic", "units", "agreement", "alpha_nominal", "alpha_ordinal", "alpha_two_way")
UNSHARED = "No unit has the grades of two assessors."
OF_ORDER = ("ordinal", "interval", "two-way", "two_way", "linear", "quadratic")  # in names of values


@dataclass(frozen=True, slots=True, eq=False)
class Graded:
    """Judgments with a grade, one per assessor and unit.

    Args:
        assessors, topics: names, ascending.
        unit, topic, assessor, grade: (judgments,) of each judgment: its unit, the indexes of its topic and assessor,
            and its grade.
        scale: the grades that an assessor can give; if they are not known, those that occur.
    """

    assessors: list[str]
    topics: list[str]
    unit: Ints
    topic: Ints
    assessor: Ints
    grade: Ints
    scale: tuple[int, ...]

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[str, str, str, int]], scale: tuple[int, ...] = ()) -> Self:
        """Columns from rows of topic, docno, assessor and grade. Of several by one assessor, the last one counts."""
        grades = {(code, docno, name): grade for code, docno, name, grade in rows}
        codes, docnos, names = zip(*grades, strict=True) if grades else ((), (), ())
        units: dict[tuple[str, str], int] = {}
        topics = {code: n for n, code in enumerate(sorted(set(codes), key=str.encode))}
        assessors = {name: n for n, name in enumerate(sorted(set(names)))}
        unit, topic, assessor, grade = (
            np.array(list(numbers), dtype=np.int64)
            for numbers in (
                (units.setdefault(key, len(units)) for key in zip(codes, docnos, strict=True)),
                map(topics.__getitem__, codes),
                map(assessors.__getitem__, names),
                grades.values(),
            )
        )
        scale = scale or tuple(np.unique(grade).tolist())
        return cls(list(assessors), list(topics), unit, topic, assessor, grade, scale)

    def as_lists(self) -> tuple[list[Any], ...]:
        """The assessors, topics and columns, for JSON; `joined` reads them."""
        columns = (self.unit, self.topic, self.assessor, self.grade)
        return (self.assessors, self.topics, *(column.tolist() for column in columns))

    @classmethod
    def joined(cls, parts: Sequence[Sequence[list[Any]]], scale: tuple[int, ...] = ()) -> Self:
        """Judgments of several topics, each from its lists. No topic is in two parts."""
        assessors = sorted({name for part in parts for name in part[0]})
        topics = sorted({code for part in parts for code in part[1]}, key=str.encode)
        columns: tuple[list[Ints], ...] = ([], [], [], [])
        n_units = 0
        for names, codes, *of_part in parts:
            unit, topic, assessor, grade = (np.array(column, dtype=np.int64) for column in of_part)
            placed = (
                unit + n_units,
                np.array([topics.index(code) for code in codes], dtype=np.int64)[topic],
                np.array([assessors.index(name) for name in names], dtype=np.int64)[assessor],
                grade,
            )
            n_units += int(unit.max(initial=-1)) + 1
            for column, numbers in zip(columns, placed, strict=True):
                column.append(numbers)
        empty = np.zeros(0, dtype=np.int64)
        unit, topic, assessor, grade = (np.concatenate([empty, *column]) for column in columns)
        return cls(assessors, topics, unit, topic, assessor, grade, scale or tuple(np.unique(grade).tolist()))

    def for_topic(self, number: int) -> Self:
        keep = self.topic == number
        columns = (self.unit[keep], self.topic[keep], self.assessor[keep], self.grade[keep])
        return type(self)(self.assessors, self.topics, *columns, self.scale)

    def two_way(self, level: int) -> Ints:
        """(judgments,) 1 from the grade `level` on, 0 below."""
        return (self.grade >= level).astype(np.int64)

    def patterns(self, level: int | None = None) -> Patterns:
        """Count how often each grade was given to a unit; with a level, each of two classes."""
        return Patterns.of(self.unit, self.grade if level is None else self.two_way(level))

    @property
    def n_shared_units(self) -> int:
        """The number of units that several assessors judged."""
        _, place = places(self.unit)
        return int((np.bincount(place) > 1).sum())


class Value(NamedTuple):
    """A measure of agreement with its confidence interval; `reason` states why it is undefined, if it is."""

    name: str
    value: Undefinable
    interval: Interval
    reason: str = ""

    @property
    def may_be_chance(self) -> bool:
        """Return whether the interval reaches 0, the value of grades at random."""
        return self.interval.low <= 0


def alphas(graded: Graded, level: int) -> list[Value]:
    """Krippendorff's alpha with each distance of grades, and two-way."""
    of_grades, of_classes = graded.patterns(), graded.patterns(level)
    return [
        *(_alpha(metric, of_grades, metric) for metric in METRICS),
        _alpha("two-way", of_classes, "nominal"),
    ]


def _alpha(name: str, patterns: Patterns, metric: Metric) -> Value:
    value, interval = patterns.alpha(metric), patterns.interval(metric)
    reason = ""
    if math.isnan(value):
        same = "All shared units have the same grade, so chance alone gives agreement."
        reason = same if len(patterns.n_units) else UNSHARED
    return Value(name, value, interval, reason)


class AcValue(Value):
    """Gwet's AC with the weights that are its name."""


def acs(graded: Graded, level: int) -> list[AcValue]:
    """Gwet's AC1, AC2 with each of the weights of kappa, and AC1 two-way; of the grades of the scale."""
    scale = graded.scale
    return [
        *(_ac(weights, graded.unit, graded.grade, weights, scale) for weights in WEIGHTS),
        _ac("two-way", graded.unit, graded.two_way(level), "none", (0, 1)),
    ]


def _ac(name: str, unit: Ints, grade: Ints, weights: Weights, scale: tuple[int, ...]) -> AcValue:
    ac = gwet_ac(unit, grade, weights=weights, scale=scale)
    reason = ""
    if math.isnan(ac.value):
        is_shared = int(np.bincount(places(unit)[1]).max(initial=0)) > 1
        reason = "Only one grade is known, so chance alone gives agreement." if is_shared else UNSHARED
    return AcValue(name, ac.value, ac.interval(), reason)


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two assessors on the units that both judged.

    Args:
        first, second: their names.
        kappa, linear, quadratic, two_way: Cohen's kappa of all grades, with two weights, and of two classes.
        grades: (grades,) the grades that occur, ascending.
        confusion: (grades, grades) how often the first gave the grade of the row when the second gave that of the
            column.
    """

    first: str
    second: str
    kappa: Kappa
    linear: Kappa
    quadratic: Kappa
    two_way: Kappa
    grades: Ints
    confusion: Ints

    @property
    def observed_percent(self) -> float:
        """The share of units with equal grades, in percent."""
        return 100 * self.kappa.observed

    @property
    def reason(self) -> str:
        """Return why kappa is undefined; empty if it is defined."""
        if not math.isnan(self.kappa.value):
            return ""
        return f"Both gave grade {int(self.grades[0])} to every unit, so chance alone gives agreement."


def pairs(graded: Graded, level: int) -> list[Pair]:
    """Every two assessors who share a unit, by their names."""
    two_way = graded.two_way(level)
    rows = []
    for shared in shared_units(graded.unit, graded.assessor):
        first, second = graded.grade[shared.of_first], graded.grade[shared.of_second]
        grades, table = confusion(first, second)
        rows.append(
            Pair(
                first=graded.assessors[shared.first],
                second=graded.assessors[shared.second],
                kappa=cohen_kappa(first, second),
                linear=cohen_kappa(first, second, weights="linear", scale=graded.scale),
                quadratic=cohen_kappa(first, second, weights="quadratic", scale=graded.scale),
                two_way=cohen_kappa(two_way[shared.of_first], two_way[shared.of_second]),
                grades=grades,
                confusion=table,
            )
        )
    return rows


class AssessorAgreement(NamedTuple):
    """One assessor's agreement with the others, as the overview papers of ARQMath report it.

    Args:
        n_pairs, n_units: number of other assessors, and of units shared with them; a unit counts once for each of them.
        kappa, two_way: the mean of the defined kappas with each of the others; nan if none is defined.
    """

    name: str
    n_pairs: int
    n_units: int
    kappa: Undefinable
    two_way: Undefinable


def by_assessor(shared: Sequence[Pair]) -> list[AssessorAgreement]:
    """The mean agreement of each assessor who shares units with another, by name."""
    of_name: dict[str, list[Pair]] = {}
    for pair in shared:
        of_name.setdefault(pair.first, []).append(pair)
        of_name.setdefault(pair.second, []).append(pair)
    return [
        AssessorAgreement(
            name,
            len(own),
            sum(pair.kappa.n for pair in own),
            mean(pair.kappa.value for pair in own),
            mean(pair.two_way.value for pair in own),
        )
        for name, own in sorted(of_name.items())
    ]


def mean(values: Iterable[float]) -> float:
    """The mean of the defined values; nan if none is defined."""
    defined = [value for value in values if not math.isnan(value)]
    return sum(defined) / len(defined) if defined else math.nan


class TopicAgreement(NamedTuple):
    """The agreement on one topic; alphas are nan where undefined.

    Args:
        topic: its code; of a subtopic, a space and the number follow.
        observed: share of the pairs of judgments of a unit that have the same grade; nan without such pairs.
    """

    topic: str
    n_units: int
    observed: Undefinable
    nominal: Undefinable
    ordinal: Undefinable
    two_way: Undefinable

    @property
    def code(self) -> str:
        return self.topic.partition(" ")[0]

    @property
    def subtopic(self) -> str:
        return self.topic.partition(" ")[2]

    @property
    def observed_percent(self) -> float:
        """The share of equal grades, in percent."""
        return 100 * self.observed


def by_topic(graded: Graded, level: int) -> list[TopicAgreement]:
    """The agreement on each topic with a unit that several assessors judged."""
    rows = []
    for number, code in enumerate(graded.topics):
        part = graded.for_topic(number)
        if part.n_shared_units:
            of_grades = part.patterns()
            nominal, ordinal = (of_grades.alpha(metric) for metric in METRICS[:2])
            two_way = part.patterns(level).alpha("nominal")
            pairs_of = list(shared_units(part.unit, part.assessor))  # at least one
            n_same = sum(
                int((part.grade[pair.of_first] == part.grade[pair.of_second]).sum()) for pair in pairs_of
            )
            observed = n_same / sum(len(pair.of_first) for pair in pairs_of)
            rows.append(TopicAgreement(code, part.n_shared_units, observed, nominal, ordinal, two_way))
    return rows


def pair_cells(pair: Pair) -> tuple[Cell, ...]:
    """The values of a pair in the columns of `PAIR_HEADER` after the two names."""
    return (
        *(pair.kappa.n, pair.kappa.observed, pair.kappa.value),
        *(pair.linear.value, pair.quadratic.value, pair.two_way.observed, pair.two_way.value),
        *(*pair.kappa.interval(), *pair.two_way.interval()),
    )


def needs_order(name: str) -> bool:
    """Return whether a value of this name means something only if the numbers that are compared have an order.

    >>> needs_order("alpha_ordinal"), needs_order("alpha_nominal"), needs_order("kappa_low")
    (True, False, False)
    """
    return any(part in name for part in OF_ORDER)


def without_order(table: Table) -> Table:
    """The table without the columns, and the rows of alphas and ACs, that need an order of the numbers."""
    kept = [n for n, name in enumerate(table.header) if not needs_order(name)]
    rows = [row for row in table.rows if table.name not in ("alpha", "ac") or not needs_order(str(row[0]))]
    header = tuple(table.header[n] for n in kept)
    description = f"{table.description}; only what needs no order of the answers"
    return replace(
        table, header=header, rows=[tuple(row[n] for n in kept) for row in rows], description=description
    )


def tables(graded: Graded, level: int, *, is_nominal: bool = False) -> Iterator[Table]:
    """The report as tables: alphas, ACs, pairs, assessors, topics. Numbers without order have no values that need one.

    Each is computed when it is asked for.
    """
    full = _tables(graded, level)
    return map(without_order, full) if is_nominal else full


def _tables(graded: Graded, level: int) -> Iterator[Table]:
    two_way = f"two-way from grade {level}"
    alpha_rows = [(alpha.name, alpha.value, *alpha.interval) for alpha in alphas(graded, level)]
    alpha_header = ("grades", "alpha", "low", "high")
    yield Table("alpha", f"Krippendorff's alpha with 95 % intervals; {two_way}", alpha_header, [*alpha_rows])
    ac_rows = [(ac.name, ac.value, *ac.interval) for ac in acs(graded, level)]
    of_ac = "Gwet's AC1, without weights and two-way, and AC2, with weights, with 95 % intervals"
    yield Table("ac", f"{of_ac}; two-way from grade {level}", ("weights", "ac", "low", "high"), [*ac_rows])
    of_pairs = pairs(graded, level)
    yield Table(
        "pairs",
        f"Cohen's kappa of every two assessors: unweighted, linear and quadratic weights, {two_way}; 95 % intervals",
        PAIR_HEADER,
        [(pair.first, pair.second, *pair_cells(pair)) for pair in of_pairs],
    )
    of_assessors = f"mean kappa of each assessor with the others; {two_way}"
    yield Table("assessors", of_assessors, ASSESSOR_HEADER, [*by_assessor(of_pairs)])
    yield Table("topics", f"agreement on each topic; {two_way}", TOPIC_HEADER, [*by_topic(graded, level)])
