"""For what a machine is lenient: its grade minus people's, weighted so that a sample represents all units.

A unit counts 1 / probability, the inverse of its chance to be in the sample. Intervals are over topics, as units of a
topic are alike; they are those of the jackknife, with Student's t, corrected for skew. Interval and value are nan where
they are undefined.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.formats.runs.columns import Ranked, Ranking
from assay.measures.matching import JudgedDocuments
from assay.statistics.intervals import LEVEL, interval_of_ratio
from assay.tables import Cell
from assay_extensions.estimates.weights import Floats, Ints, sums_by_topic

ANY = (-math.inf, math.inf)
Value = Callable[[Floats], Floats]


class Both(NamedTuple):
    """Units that people and the machine judged.

    Args:
        topic: (units,) index of the topic.
        n_topics: number of topics.
        machine, people: (units,) grades.
        probability: (units,) of the unit to be in the sample; 1 if people judged all.
    """

    topic: Ints
    n_topics: int
    machine: Ints
    people: Ints
    probability: Floats

    @property
    def lenience(self) -> Floats:
        return (self.machine - self.people).astype(np.float64)


class Ratio(NamedTuple):
    """A value with its interval, and the number of units that it rests on."""

    units: int
    value: float
    low: float
    high: float


def leniency(
    both: Both, counted: NDArray[np.bool_], *, level: float = LEVEL, within: tuple[float, float] = ANY
) -> Ratio:
    """Mean of the machine's grade minus people's over the counted units (units,).

    Args:
        within: the lowest and the highest value that is possible.

    >>> both = Both(np.array([0, 1]), 2, np.array([2, 3]), np.array([1, 1]), np.array([0.5, 1.0]))
    >>> round(leniency(both, np.array([True, True])).value, 3)
    1.333
    """
    weight: Floats = counted / both.probability
    return _ratio(both, [weight * both.lenience, weight], int(counted.sum()), level, within)


def slope(both: Both, x: Floats, *, level: float = LEVEL) -> Ratio:
    """By how much leniency grows if x (units,) grows by 1, within topics; units with x nan are left out.

    Topics differ in difficulty, so units are only compared with those of their topic.
    """
    is_known = ~np.isnan(x)
    weight = is_known / both.probability
    mass = np.bincount(both.topic, weights=weight, minlength=both.n_topics)

    def centered(values: Floats) -> Floats:
        sums = np.bincount(both.topic, weights=weight * values, minlength=both.n_topics)
        return values - np.divide(sums, mass, out=np.zeros_like(sums), where=mass > 0)[both.topic]

    across = centered(np.where(is_known, x, 0.0))
    return _ratio(
        both,
        [weight * across * centered(both.lenience), weight * np.square(across)],
        int(is_known.sum()),
        level,
    )


def preference(both: Both, family: Ints, others: Ints, *, level: float = LEVEL) -> Ratio:
    """Leniency on the units of runs of the judge's own family, minus that on the units of other runs.

    Args:
        family, others: (units,) the number of runs of each kind that have the unit.
    """
    sums = [
        count / both.probability * values
        for count in (family, others)
        for values in (both.lenience, np.ones(len(both.topic)))
    ]
    n_units = int(((family > 0) | (others > 0)).sum())
    counts = sums_by_topic(np.array(sums), both.topic, both.n_topics).T

    def difference(totals: Floats) -> Floats:
        return _divided(totals[:, :2]) - _divided(totals[:, 2:])

    return _with_interval(counts, difference, n_units, level)


def confusion(both: Both) -> list[tuple[Cell, ...]]:
    """Machine's grade, people's grade, number of units, and the number of all units that these represent."""
    pairs = np.column_stack((both.machine, both.people))
    cells, place = np.unique(pairs, axis=0, return_inverse=True)
    place = place.ravel()
    n, represented = np.bincount(place), np.bincount(place, weights=1 / both.probability)
    rows = zip(cells.tolist(), n.tolist(), represented.tolist(), strict=True)
    return [(machine, people, count, weight) for (machine, people), count, weight in rows]


def reranked(run: Ranked, judged: JudgedDocuments) -> Ranking:
    """The run in the order of the machine's grades; documents of equal grade keep their order, unjudged ones are last.

    A machine that is used to rank gains by its own judgments; people's judgments show how much of it is real.
    """
    located = judged.locate(run)
    start = dict(zip(run.topics.tolist(), run.offsets[:-1].tolist(), strict=True))
    starts = np.array([start.get(code, 0) for code in judged.topics.tolist()], dtype=np.int64)
    grade = np.full(len(run), -1, dtype=np.int64)
    grade[starts[judged.topic[located.entry]] + located.rank - 1] = judged.grade[located.entry]
    topic_index = np.repeat(np.arange(len(run.topics)), np.diff(run.offsets))
    return Ranking(run.topics, run.offsets, run.docno[np.lexsort((np.arange(len(run)), -grade, topic_index))])


def _divided(sums: Floats) -> Floats:
    """(rows,) the first column divided by the second; nan where that is 0."""
    undefined = np.full(len(sums), np.nan)
    np.divide(sums[:, 0], sums[:, 1], out=undefined, where=sums[:, 1] > 1e-12)
    return undefined


def _ratio(
    both: Both, terms: list[Floats], n_units: int, level: float, within: tuple[float, float] = ANY
) -> Ratio:
    counts = sums_by_topic(np.array(terms), both.topic, both.n_topics).T
    return _with_interval(counts[counts[:, 1] > 0], _divided, n_units, level, within)


def _with_interval(
    counts: Floats, value_of: Value, n_units: int, level: float, within: tuple[float, float] = ANY
) -> Ratio:
    """The value of the sums of counts (topics, counts), and its interval over topics."""
    value = float(value_of(counts.sum(axis=0)[np.newaxis])[0])
    if len(counts) < 2 or math.isnan(value):
        return Ratio(n_units, value, math.nan, math.nan)
    return Ratio(n_units, value, *interval_of_ratio(counts, value_of, level=level, within=within))
