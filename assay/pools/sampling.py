"""The instances of a visually distinct formula that are judged, if there are more instances than the limit.

- `thread-random`: (1) At most as many posts as the limit: all posts. (2) More posts, and fewer threads than the limit:
  one random post of each thread, then random posts of the rest. (3) More posts, and at least as many threads as the
  limit: that many random threads, and one random post of each. (The guidelines do not cover threads = limit; it is
  treated as (3).) The candidates are the posts of pooled rows, each with its first instance by docno.
- `most-runs`: The instances that the most runs submitted, at any rank.
- `reciprocal-rank-vote`: The instances with the highest sum over runs of 1 / rank, at any rank.

Ties are broken at random. The random numbers of a unit depend on the unit only (`assay.random_draws`), and its
candidates get them in the order of their docnos. So no other unit or topic, and no order of runs, changes a choice. The
chosen instances are shown in a random order, so that the page does not reveal their ranks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.formats.runs.columns import byte_keys
from assay.pools.depth import Members, begins
from assay.protocols.schema import InstanceRules
from assay.random_draws import random_numbers

# 1 / rank is a whole number of this many parts, so that the order of the runs does not change a sum
SCALE = 2**50
FINEST = 20  # bits: votes that differ by less than 2^(20 - 50), about 1e-9, tie
TIE, THREAD, REST, SHOWN = range(4)  # purposes of the random numbers

Flags = NDArray[np.bool_]
Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Members from which some are chosen, sorted by entry, then docno.

    Args:
        members: all members.
        is_pooled: (m,) whether an instance is in a pooled row.
        start: (m,) start of the random numbers of its entry.
        nth: (m,) its index among the members of its entry.
    """

    members: Members
    is_pooled: Flags
    start: NDArray[np.uint64]
    nth: Whole

    @classmethod
    def of(cls, members: Members, is_pooled: Flags, starts: NDArray[np.uint64]) -> "Candidates":
        """Candidates with the random numbers of their entries; `starts` is (entries,)."""
        return cls(members, is_pooled, starts[members.entry], _nth_of(members.entry))

    def draws(self, purpose: int, nth: NDArray[Any] | None = None) -> NDArray[np.uint64]:
        """(m,) random numbers; by default those at the index of each member in its entry."""
        return random_numbers(self.start, self.nth if nth is None else nth, purpose)


Chooser = Callable[[Candidates, int], Flags]


def _nth_of(group: NDArray[Any]) -> Whole:
    """(n,) index of each row within its group; rows of a group are adjacent."""
    starts = np.flatnonzero(begins(group))
    return np.arange(len(group)) - np.repeat(starts, np.diff(np.append(starts, len(group))))


def _first(group: NDArray[Any], limit: int, *keys: NDArray[Any]) -> Flags:
    """(n,) whether a row is among the first `limit` rows of its group by the keys, most significant key first."""
    order = np.lexsort((*reversed(keys), group))
    is_first = np.zeros(len(group), dtype=np.bool_)
    is_first[order[_nth_of(group[order]) < limit]] = True
    return is_first


def most_runs(candidates: Candidates, limit: int) -> Flags:
    """(m,) whether a member is chosen: those that the most runs submitted."""
    members = candidates.members
    n_runs = np.bincount(members.member, minlength=len(members))
    return _first(members.entry, limit, -n_runs, candidates.draws(TIE))


def reciprocal_rank_vote(candidates: Candidates, limit: int) -> Flags:
    """(m,) whether a member is chosen: those with the highest sum over runs of 1 / rank."""
    return _first(candidates.members.entry, limit, -votes(candidates.members), candidates.draws(TIE))


def votes(members: Members) -> Whole:
    """(m,) the sum over runs of 1 / rank, as whole numbers; sums that differ by rounding errors only are equal."""
    total = np.zeros(len(members), dtype=np.int64)
    np.add.at(total, members.member, SCALE // members.rank.astype(np.int64))
    return (total + (1 << (FINEST - 1))) >> FINEST


def thread_random(candidates: Candidates, limit: int) -> Flags:
    """(m,) whether a member is chosen: the three policies of the guidelines (see above)."""
    members = candidates.members
    thread = _numbers(members.entry, members.thread)
    # the first instance of each post that is in a pooled row
    is_post = _among(candidates.is_pooled, _numbers(members.entry, members.post), 1, candidates.nth)
    draw = candidates.draws(TIE)
    one_each = np.zeros(len(members), dtype=np.bool_)
    rows = np.flatnonzero(is_post)
    one_each[rows] = _first(thread[rows], 1, draw[rows])
    n_entries = int(members.entry.max(initial=-1)) + 1
    n_posts = np.bincount(members.entry[is_post], minlength=n_entries)[members.entry]
    n_threads = np.bincount(members.entry[one_each], minlength=n_entries)[members.entry]
    # A random number of the thread decides whether it is chosen: those of its posts would favor large threads.
    lowest = np.full(n_entries, np.iinfo(np.int64).max)
    np.minimum.at(lowest, members.entry, thread)
    of_thread = candidates.draws(THREAD, thread - lowest[members.entry])
    by_thread = _among(one_each, members.entry, limit, of_thread)
    # The posts of the threads come first, then the rest by other random numbers than before.
    filled = _among(is_post, members.entry, limit, ~one_each, candidates.draws(REST))
    return is_post & np.where(n_posts <= limit, True, np.where(n_threads < limit, filled, by_thread))


def _among(chosen_from: Flags, group: NDArray[Any], limit: int, *keys: NDArray[Any]) -> Flags:
    """(n,) whether a row is among the first `limit` of its group, counting the rows of `chosen_from` only."""
    rows = np.flatnonzero(chosen_from)
    is_among = np.zeros(len(group), dtype=np.bool_)
    is_among[rows[_first(group[rows], limit, *(key[rows] for key in keys))]] = True
    return is_among


def _numbers(entry: NDArray[np.int32], ids: NDArray[np.bytes_]) -> Whole:
    """(m,) a number for each pair of entry and id, in the order of the pairs."""
    keys: list[NDArray[Any]] = [*reversed(byte_keys(ids)), entry]
    order = np.lexsort(keys)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(begins(entry[order], ids[order])) - 1
    return number


CHOOSERS: Mapping[str, Chooser] = {
    "thread-random": thread_random,
    "most-runs": most_runs,
    "reciprocal-rank-vote": reciprocal_rank_vote,
}


def choose(candidates: Candidates, rules: InstanceRules) -> Flags:
    """(m,) whether a member is shown: those that the strategy of the protocol chooses; all if it has no strategy."""
    if rules.strategy is None or rules.limit is None:
        return np.ones(len(candidates.members), dtype=np.bool_)
    return CHOOSERS[rules.strategy](candidates, rules.limit)


def positions(candidates: Candidates, is_shown: Flags) -> NDArray[np.int32]:
    """(m,) place of each member among the members of its entry that are shown, from 1, at random; 0 if not shown."""
    rows = np.flatnonzero(is_shown)
    entry = candidates.members.entry[rows]
    order = np.lexsort((candidates.draws(SHOWN)[rows], entry))
    position = np.zeros(len(is_shown), dtype=np.int32)
    position[rows[order]] = _nth_of(entry[order]) + 1
    return position
