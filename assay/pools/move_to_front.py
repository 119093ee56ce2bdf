"""Move to front: the next unit comes from the runs whose units were most often relevant so far.

Source: Cormack, Palmer & Clarke (1998), Efficient construction of large test collections, doi:10.1145/290941.291009.
All runs begin with the same priority. The next unit is the highest-ranked open unit of a run with the highest priority.
The priority of that run stays the same if the unit is relevant, and falls by one if it is not.

No state is kept between calls: priorities follow from the judgments, in their order. A unit that is not relevant lowers
the priority of the run that would have presented it: of the runs that have it, the one with the highest priority at
that moment. So several assessors can judge a topic, units can be returned, and a changed grade counts as if it had
been the first one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from assay.pools.order import topic_draws


class Verdict(NamedTuple):
    """A judged unit of a topic. Verdicts are in the order of judging."""

    unit: int
    is_relevant: bool


@dataclass(frozen=True, slots=True)
class TopicLists:
    """The contributions of runs to one topic.

    Args:
        unit, run, rank: (c,) the contributions: number of the unit, number of the run, and rank of the unit in the run.
        n_units, n_runs: number of units and runs; a unit may have no contribution.
        precedence: (runs,) order of runs with equal priority; the smallest number is first.
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
        """Lists from contributions (unit, run, rank) in any order; the seed orders runs with equal priority."""
        rows = np.array(sorted(contributions), dtype=np.int32).reshape(-1, 3)
        return cls(rows[:, 0], rows[:, 1], rows[:, 2], n_units, n_runs, precedence(seed, topic, n_runs))


def precedence(seed: int, topic: str, n_runs: int) -> NDArray[np.int64]:
    """(runs,) the order of runs with equal priority in a topic, chosen at random with the seed."""
    place = np.empty(n_runs, dtype=np.int64)
    place[np.argsort(topic_draws(seed, f"{topic}\0runs", n_runs), kind="stable")] = np.arange(n_runs)
    return place


def priorities(lists: TopicLists, verdicts: Iterable[Verdict]) -> NDArray[np.int64]:
    """(runs,) the priority of each run after some judgments: 0 at the beginning, then 0 or below."""
    # Plain lists are faster: a unit has few runs, and an assessor waits for this.
    runs, place = lists.run.tolist(), lists.precedence.tolist()
    borders = np.searchsorted(lists.unit, np.arange(lists.n_units + 1)).tolist()
    score = [-n for n in place]  # of each run: priority * runs - place, so that the highest is first
    for unit, is_relevant in verdicts:
        runs_of_unit = runs[borders[unit] : borders[unit + 1]]
        if runs_of_unit and not is_relevant:
            score[max(runs_of_unit, key=score.__getitem__)] -= len(place)
    return (np.array(score, dtype=np.int64) + lists.precedence) // max(1, len(place))


def next_unit(lists: TopicLists, verdicts: Iterable[Verdict], is_open: NDArray[np.bool_]) -> int | None:
    """The unit to judge next, or None if no unit is open. Units without a contribution come last, by their numbers.

    Args:
        verdicts: the judgments so far, in their order.
        is_open: (units,) whether a unit can be assigned: it is neither judged nor assigned.
    """
    offered = np.flatnonzero(is_open[lists.unit])
    if not len(offered):
        without_run = np.flatnonzero(is_open)
        return int(without_run[0]) if len(without_run) else None
    runs = lists.run[offered]
    priority, place = priorities(lists, verdicts), lists.precedence
    foremost = np.argmax(priority[runs] * len(place) - place[runs])  # highest priority, then lowest place
    chosen = offered[runs == runs[foremost]]
    return int(lists.unit[chosen[np.argmin(lists.rank[chosen])]])
