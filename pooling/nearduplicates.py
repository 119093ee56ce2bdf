"""Near-duplicates among passages: classes of which one passage is judged and the rest inherit its judgment.

Two passages are near-duplicates if the word bigrams that they share are at least a share of those of the one, and of
those of the other: |A & B| >= overlap * max(|A|, |B|). A bigram is counted once however often it stands in a passage.
Words are runs of letters, digits and underscores, without regard to case. A passage of one word has that word as its
only bigram; one without words is nobody's near-duplicate.

Near-duplication is not transitive, so a class has a *leader*: passages are walked from the best to the worst, and each
joins the first leader of which it is a near-duplicate, or else leads a class of its own. Hence each passage that
inherits a judgment is a near-duplicate of the very one that was judged, not of a neighbour's neighbour.

Nothing compares all pairs. Where n bigrams may differ, near-duplicates share one of the n + 1 rarest of each (prefix
filtering; Chaudhuri, Ganti & Kaushik 2006, doi:10.1109/ICDE.2006.9): only leaders that do are looked at.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pooling.columns import RunColumns
from pooling.depth import PooledUnits
from pooling.members import Members

WORD = re.compile(r"\w+")
Bigrams = frozenset[tuple[str, ...]]


def bigrams(passage: str) -> Bigrams:
    """The distinct word bigrams of a passage."""
    words = WORD.findall(unicodedata.normalize("NFC", passage).casefold())
    if len(words) == 1:
        return frozenset({tuple(words)})
    return frozenset(pairwise(words))


def needed(size: int, overlap: Fraction) -> int:
    """The fewest shared bigrams with which a passage of `size` bigrams may have a near-duplicate."""
    return -(-size * overlap.numerator // overlap.denominator)


def are_near_duplicates(one: Bigrams, two: Bigrams, overlap: Fraction) -> bool:
    """Whether two passages overlap enough, from either side."""
    return bool(one and two) and len(one & two) >= needed(max(len(one), len(two)), overlap)


def leaders(passages: Sequence[str], overlap: float) -> list[int]:
    """For each passage, from the best to the worst, the index of the leader of its class; its own for a leader.

    Raises
    ------
    ValueError
        The overlap is not above 0 and at most 1.
    """
    share = Fraction(str(overlap))
    if not 0 < share <= 1:
        raise ValueError(f"the overlap is {overlap}; it is above 0 and at most 1")
    found = [bigrams(passage) for passage in passages]
    number = _rarest_first(found)
    index = _Leaders(share)
    return [
        index.leader_of(i, frozenset(map(number.__getitem__, one))) if one else i
        for i, one in enumerate(found)
    ]


def _rarest_first(found: Iterable[Bigrams]) -> dict[tuple[str, ...], int]:
    """A number for each bigram, lower for rarer ones; the same for whatever order the passages come in."""
    counts = Counter(bigram for one in found for bigram in one)
    return {bigram: n for n, bigram in enumerate(sorted(counts, key=lambda one: (counts[one], one)))}


class _Leaders:
    """The leaders so far, to be found by the rarest of their bigrams."""

    def __init__(self, overlap: Fraction) -> None:
        self.overlap = overlap
        self.bigrams: dict[int, frozenset[int]] = {}
        self.by_bigram: dict[int, list[int]] = {}
        self.same: dict[frozenset[int], int] = {}

    def leader_of(self, passage: int, found: frozenset[int]) -> int:
        """The leader of the class that a passage joins, or the passage itself, which from now on leads one."""
        leader = self.same.get(found)
        if leader is None:
            rarest = sorted(found)[: len(found) - needed(len(found), self.overlap) + 1]
            leader = self._first_near(found, rarest)
            if leader is None:
                leader = passage
                self.bigrams[passage] = found
                for bigram in rarest:
                    self.by_bigram.setdefault(bigram, []).append(passage)
            self.same[found] = leader
        return leader

    def _first_near(self, found: frozenset[int], rarest: list[int]) -> int | None:
        candidates = sorted({leader for bigram in rarest for leader in self.by_bigram.get(bigram, ())})
        for leader in candidates:
            theirs = self.bigrams[leader]
            if len(found & theirs) >= needed(max(len(found), len(theirs)), self.overlap):
                return leader
        return None


def join_duplicates(
    units: PooledUnits, runs: Sequence[RunColumns], *, overlap: float, first: NDArray[np.bool_]
) -> tuple[PooledUnits, Members]:
    """Units of which one stands for each class, and all units as its members; the judged one at position 1.

    A class's leader is its highest-ranked unit: by the best rank in any run, then by how many runs have it, then by
    docno; but units of an earlier pool go first. A run brings a class at the rank of its first member there.

    Parameters
    ----------
    runs : have the passages of their citations.
    first : (n,) whether a unit is in an earlier pool.
    """
    texts = _passages(units, runs)
    n_runs = np.bincount(units.entry, minlength=len(units))
    order = np.lexsort((np.arange(len(units)), -n_runs, units.best_rank, ~first, units.topic_index))
    leader = np.arange(len(units))
    for rows in np.split(order, np.cumsum(units.sizes)[:-1]):
        leader[rows] = rows[leaders([texts[row] for row in rows.tolist()], overlap)]
    return _classes(units, leader), _members(units, leader)


def _passages(units: PooledUnits, runs: Sequence[RunColumns]) -> list[str]:
    """The text of each unit, as the first run that has it gives it."""
    texts = [""] * len(units)
    starts = np.searchsorted(units.entry, np.arange(len(units)))
    topics = units.topics.tolist()
    for row, at in enumerate(starts.tolist()):
        run = runs[units.run[at]]
        if run.passage is not None:
            topic = int(np.searchsorted(run.topics, topics[units.topic_index[row]]))
            texts[row] = run.passage[run.offsets[topic] + units.rank[at] - 1].decode()
    return texts


def _classes(units: PooledUnits, leader: NDArray[np.intp]) -> PooledUnits:
    """One entry for each leader, with the best rank of its class in each run."""
    key = leader[units.entry] * units.n_runs + units.run
    order = np.lexsort((units.rank, key))
    is_best = np.ones(len(order), dtype=np.bool_)
    is_best[1:] = key[order][1:] != key[order][:-1]
    best = order[is_best]
    joined = replace(
        units, entry=leader[units.entry][best].astype(np.int32), run=units.run[best], rank=units.rank[best]
    )
    return joined.of_entries(leader == np.arange(len(units)))


def _members(units: PooledUnits, leader: NDArray[np.intp]) -> Members:
    is_leader = leader == np.arange(len(units))
    entry = (np.cumsum(is_leader) - 1)[leader]
    order = np.argsort(entry, kind="stable")  # units are sorted by docno within a topic
    place = np.empty(len(units), dtype=np.int32)
    place[order] = np.arange(len(units))
    by_member = np.argsort(place[units.entry], kind="stable")
    nothing = np.zeros(len(units), dtype="S1")
    return Members(
        entry=entry[order].astype(np.int32),
        docno=units.docno[order],
        post=nothing,
        thread=nothing,
        position=is_leader[order].astype(np.int32),
        member=place[units.entry][by_member],
        run=units.run[by_member],
        rank=units.rank[by_member],
    )
