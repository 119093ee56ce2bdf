"""Move to front: runs that find relevant units are judged further, runs that do not fall back.

Cormack, Palmer & Clarke (1998), Efficient construction of large test collections, doi:10.1145/290941.291009. All
runs begin at one priority. The next unit is the highest-ranked one still open of a run with the highest priority; that
run keeps it while what it brings is relevant, and falls by one with each unit that is not.

Nothing is kept between two calls: priorities follow from the judgments in the order in which they were made. A unit
that is not relevant is charged to the run that would have presented it: of those that brought it, the one with the
highest priority at that moment. So several assessors may judge one topic, units may be given back, and a grade that is
changed counts as if it had been the first.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from assay.pools.depth import PooledUnits
from assay.pools.order import topic_lots


class Verdict(NamedTuple):
    """One judged unit of a topic; verdicts stand in the order of judging."""

    unit: int
    is_relevant: bool


@dataclass(frozen=True, slots=True)
class TopicLists:
    """What runs brought of one topic.

    Attributes
    ----------
    unit, run, rank : (c,) the contributions: number of the unit, of the run, and the unit's rank there.
    n_units, n_runs : how many there are; a unit may be without a contribution.
    precedence : (runs,) which run goes first among equals: the lower number.
    """

    unit: NDArray[np.int32]
    run: NDArray[np.int32]
    rank: NDArray[np.int32]
    n_units: int
    n_runs: int
    precedence: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        contributions: Iterable[tuple[int, int, int]],
        *,
        n_units: int,
        n_runs: int,
        topic: str,
        seed: int,
    ) -> Self:
        """Lists from contributions (unit, run, rank) in any order; the seed decides between runs that are equal."""
        rows = np.array(sorted(contributions), dtype=np.int32).reshape(-1, 3)
        return cls(rows[:, 0], rows[:, 1], rows[:, 2], n_units, n_runs, precedence(seed, topic, n_runs))

    @classmethod
    def of_pool(cls, units: PooledUnits, topic: int, seed: int) -> Self:
        """The lists of one topic of a pool; its units are numbered from the topic's first entry."""
        start = int(units.sizes[:topic].sum())
        n = int(units.sizes[topic])
        low, high = np.searchsorted(units.entry, [start, start + n])
        code = str(units.topics[topic])
        return cls(
            units.entry[low:high] - start,
            units.run[low:high],
            units.rank[low:high],
            n,
            units.n_runs,
            precedence(seed, code, units.n_runs),
        )


def precedence(seed: int, topic: str, n_runs: int) -> NDArray[np.int64]:
    """(runs,) the place of each run among equals in a topic, drawn by lot."""
    place = np.empty(n_runs, dtype=np.int64)
    place[np.argsort(topic_lots(seed, f"{topic}\0runs", n_runs), kind="stable")] = np.arange(n_runs)
    return place


def priorities(lists: TopicLists, verdicts: Iterable[Verdict]) -> NDArray[np.int64]:
    """(runs,) the priority of each run after some judgments: 0, less 1 for each unit charged to it."""
    # Plain lists: a unit has few runs, and an assessor waits for this.
    runs, place = lists.run.tolist(), lists.precedence.tolist()
    borders = np.searchsorted(lists.unit, np.arange(lists.n_units + 1)).tolist()
    standing = [-one for one in place]  # of a run, so that the highest goes first: priority * runs - place
    for unit, is_relevant in verdicts:
        brought = runs[borders[unit] : borders[unit + 1]]
        if brought and not is_relevant:
            standing[max(brought, key=standing.__getitem__)] -= len(place)
    return (np.array(standing, dtype=np.int64) + lists.precedence) // max(1, len(place))


def _foremost(priority: NDArray[np.int64], place: NDArray[np.int64], runs: NDArray[np.int32]) -> np.intp:
    """Which of some runs goes first: the highest priority, and among equals the lowest place."""
    return np.argmax(priority[runs] * len(place) - place[runs])


def next_unit(lists: TopicLists, verdicts: Iterable[Verdict], is_open: NDArray[np.bool_]) -> int | None:
    """The unit to judge next, or None if none is open.

    Parameters
    ----------
    is_open : (units,) whether a unit may be given out: it is neither judged nor in anybody's hands.

    A unit that no run brought comes last, in the order of their numbers.
    """
    offered = np.flatnonzero(is_open[lists.unit])
    if not len(offered):
        unbrought = np.flatnonzero(is_open)
        return int(unbrought[0]) if len(unbrought) else None
    runs = lists.run[offered]
    priority = priorities(lists, verdicts)
    chosen = offered[runs == runs[_foremost(priority, lists.precedence, runs)]]
    return int(lists.unit[chosen[np.argmin(lists.rank[chosen])]])


def simulated_order(lists: TopicLists, is_relevant: NDArray[np.bool_]) -> list[int]:
    """The order in which one assessor would judge all units of a topic; `is_relevant` (units,)."""
    is_open = np.ones(lists.n_units, dtype=np.bool_)
    verdicts: list[Verdict] = []
    while (unit := next_unit(lists, verdicts, is_open)) is not None:
        is_open[unit] = False
        verdicts.append(Verdict(unit, bool(is_relevant[unit])))
    return [verdict.unit for verdict in verdicts]
