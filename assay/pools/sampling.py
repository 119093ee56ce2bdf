"""Which instances of a visually distinct formula are judged, where there are more than the limit.

thread-random         (1) no more posts than the limit: all of them. (2) more posts, and fewer threads than the limit:
                      one random post of each thread, then the rest at random from the unselected. (3) more posts, and
                      at least as many threads: as many random threads as the limit, and one random post of each. The
                      guidelines' text leaves threads = limit open; it is (3). Candidates are the posts of pooled rows,
                      each with its first instance by docno.
most-runs             the instances that the most runs submitted, at any rank.
reciprocal-rank-vote  those with the highest sum over runs of 1 / rank, at any rank.

Ties fall by lot. Lots are those of the unit alone (`assay.pools.random_draws`), dealt to its candidates in the order of their
docnos: no other unit, topic or order of runs changes a choice. The chosen are shown in an order drawn by lot as well,
so that nothing on the page tells which of them ranked high.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.formats.runs.columns import byte_keys
from assay.pools.members import Members
from assay.pools.random_draws import drawn
from assay.protocols.schema import InstanceRules

SCALE = 2**50  # of 1 / rank in whole numbers, so that a sum does not depend on the order of the runs
FINEST = 20  # bits: votes that differ by less than 2^(20 - 50), about 1e-9, are equal
TIE, THREAD, REST, SHOWN = range(4)  # what lots are drawn for; each has numbers of its own

Flags = NDArray[np.bool_]
Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Members from which some are chosen, sorted by entry, then docno.

    Attributes
    ----------
    members : all of them.
    is_pooled : (m,) whether an instance stands in a pooled row.
    start : (m,) where the stream of lots of its entry begins.
    nth : (m,) its number among its entry's members, from 0.
    """

    members: Members
    is_pooled: Flags
    start: NDArray[np.uint64]
    nth: Whole

    @classmethod
    def of(cls, members: Members, is_pooled: Flags, starts: NDArray[np.uint64]) -> "Candidates":
        """Candidates with the streams of their entries; `starts` (entries,)."""
        return cls(members, is_pooled, starts[members.entry], _nth_of(members.entry))

    def lots(self, purpose: int, nth: NDArray[Any] | None = None) -> NDArray[np.uint64]:
        return drawn(self.start, self.nth if nth is None else nth, purpose)


Chooser = Callable[[Candidates, int], Flags]


def _nth_of(group: NDArray[Any]) -> Whole:
    """(n,) number of each row within its group, from 0; rows of one group stand together."""
    is_new = np.ones(len(group), dtype=np.bool_)
    is_new[1:] = group[1:] != group[:-1]
    starts = np.flatnonzero(is_new)
    return np.arange(len(group)) - np.repeat(starts, np.diff(np.append(starts, len(group))))


def _first(group: NDArray[Any], limit: int, *keys: NDArray[Any]) -> Flags:
    """(n,) whether a row is among the first `limit` of its group by the keys, the foremost key first."""
    order = np.lexsort((*reversed(keys), group))
    is_first = np.zeros(len(group), dtype=np.bool_)
    is_first[order[_nth_of(group[order]) < limit]] = True
    return is_first


def most_runs(candidates: Candidates, limit: int) -> Flags:
    """The instances that the most runs submitted."""
    members = candidates.members
    n_runs = np.bincount(members.member, minlength=len(members))
    return _first(members.entry, limit, -n_runs, candidates.lots(TIE))


def reciprocal_rank_vote(candidates: Candidates, limit: int) -> Flags:
    """The instances with the highest sum over runs of 1 / rank."""
    return _first(candidates.members.entry, limit, -votes(candidates.members), candidates.lots(TIE))


def votes(members: Members) -> Whole:
    """(m,) the sum over runs of 1 / rank, in whole numbers; those that differ by rounding alone are equal."""
    total = np.zeros(len(members), dtype=np.int64)
    np.add.at(total, members.member, SCALE // members.rank.astype(np.int64))
    return (total + (1 << (FINEST - 1))) >> FINEST


def thread_random(candidates: Candidates, limit: int) -> Flags:
    """The three policies of the guidelines."""
    members = candidates.members
    thread = _numbers(members.entry, members.thread)
    is_post = candidates.is_pooled & _is_first_of_pooled_post(candidates)
    lot = candidates.lots(TIE)
    one_each = np.zeros(len(members), dtype=np.bool_)
    rows = np.flatnonzero(is_post)
    one_each[rows] = _first(thread[rows], 1, lot[rows])
    n_entries = int(members.entry.max(initial=-1)) + 1
    n_posts = np.bincount(members.entry[is_post], minlength=n_entries)[members.entry]
    n_threads = np.bincount(members.entry[one_each], minlength=n_entries)[members.entry]
    # A thread's own lot decides whether it is taken: the lots of its posts would favor the larger threads.
    of_thread = candidates.lots(THREAD, _nth_of_thread(members.entry, thread))
    by_thread = _among(one_each, members.entry, limit, of_thread)
    # The threads' posts come first, then the unselected by lots that say nothing of how they fared before.
    filled = _among(is_post, members.entry, limit, ~one_each, candidates.lots(REST))
    return is_post & np.where(n_posts <= limit, True, np.where(n_threads < limit, filled, by_thread))


def _among(chosen_from: Flags, group: NDArray[Any], limit: int, *keys: NDArray[Any]) -> Flags:
    """The first `limit` of each group among some rows."""
    rows = np.flatnonzero(chosen_from)
    found = np.zeros(len(group), dtype=np.bool_)
    found[rows[_first(group[rows], limit, *(key[rows] for key in keys))]] = True
    return found


def _is_first_of_pooled_post(candidates: Candidates) -> Flags:
    members = candidates.members
    post = _numbers(members.entry, members.post)
    return _among(candidates.is_pooled, post, 1, candidates.nth)


def _numbers(entry: NDArray[np.int32], ids: NDArray[np.bytes_]) -> Whole:
    """(m,) a number for each pair of entry and id, in their order."""
    keys: list[NDArray[Any]] = [*reversed(byte_keys(ids)), entry]
    order = np.lexsort(keys)
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = (entry[order][1:] != entry[order][:-1]) | (ids[order][1:] != ids[order][:-1])
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(is_new) - 1
    return number


def _nth_of_thread(entry: NDArray[np.int32], thread: Whole) -> Whole:
    """(m,) the number of a thread within its entry, from 0."""
    lowest = np.full(int(entry.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(lowest, entry, thread)
    nth: Whole = thread - lowest[entry]
    return nth


CHOOSERS: Mapping[str, Chooser] = {
    "thread-random": thread_random,
    "most-runs": most_runs,
    "reciprocal-rank-vote": reciprocal_rank_vote,
}


def choose(candidates: Candidates, rules: InstanceRules) -> Flags:
    """(m,) which members are shown: those that the protocol's strategy chooses; all, where it names none."""
    if rules.strategy is None or rules.limit is None:
        return np.ones(len(candidates.members), dtype=np.bool_)
    return CHOOSERS[rules.strategy](candidates, rules.limit)


def positions(candidates: Candidates, is_shown: Flags) -> NDArray[np.int32]:
    """(m,) place of each member among those shown of its entry, from 1, drawn by lot; 0: not shown."""
    rows = np.flatnonzero(is_shown)
    entry = candidates.members.entry[rows]
    order = np.lexsort((candidates.lots(SHOWN)[rows], entry))
    position = np.zeros(len(is_shown), dtype=np.int32)
    position[rows[order]] = _nth_of(entry[order]) + 1
    return position
