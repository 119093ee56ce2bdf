"""Near-duplicates among passages: classes of which one passage is judged and the rest inherit its judgment.

Two passages are near-duplicates if the word bigrams that they share are at least a share of those of the one, and of
those of the other: |A & B| >= overlap * max(|A|, |B|). A bigram is counted once however often it stands in a passage.
Words are runs of letters, digits and underscores, without regard to case. A passage of one word has that word as its
only bigram; one without words is nobody's near-duplicate.

Near-duplication is not transitive, so a class has a *leader*: passages are walked from the best to the worst, and each
joins the first leader of which it is a near-duplicate, or else leads a class of its own. Hence each passage that
inherits a judgment is a near-duplicate of the very one that was judged, not of a neighbor's neighbor.

Nothing compares all pairs. Where n bigrams may differ, near-duplicates share one of the n + 1 rarest of each (prefix
filtering; Chaudhuri, Ganti & Kaushik 2006, doi:10.1109/ICDE.2006.9): only leaders that do are looked at.
"""

import re
import unicodedata
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

WORD = re.compile(r"\w+")
Bigrams = frozenset[tuple[str, ...]]


def words_of(passage: str) -> list[str]:
    """The words of a passage, in its order."""
    return WORD.findall(unicodedata.normalize("NFC", passage).casefold())


def bigrams(passage: str) -> Bigrams:
    """The distinct word bigrams of a passage."""
    words = words_of(passage)
    return frozenset({tuple(words)}) if len(words) == 1 else frozenset(pairwise(words))


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
    rarest_first, borders = _numbered(passages)
    index = _Leaders(share, rarest_first)
    spans = zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)
    return [index.leader_of(i, start, end) if start < end else i for i, (start, end) in enumerate(spans)]


def _numbered(passages: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct bigrams of each passage as numbers, lower for rarer ones, and the borders between passages."""
    numbers: dict[str, int] = {}
    found = [[numbers.setdefault(word, len(numbers)) for word in words_of(passage)] for passage in passages]
    lengths = np.array([len(one) for one in found], dtype=np.int64)
    word = np.array([one for words in found for one in words], dtype=np.int64)
    passage = np.repeat(np.arange(len(found)), lengths)
    is_pair = passage[1:] == passage[:-1]
    alone = lengths[passage] == 1  # the only word of its passage: a bigram of its own kind
    n_words = len(numbers)
    bigram = np.concatenate([(word[:-1] * n_words + word[1:])[is_pair], n_words * n_words + word[alone]])
    holder = np.concatenate([passage[:-1][is_pair], passage[alone]])
    distinct, code = np.unique(bigram, return_inverse=True)
    pairs = np.sort(
        holder * len(distinct) + code
    )  # many and nearly all different: np.unique takes four times as long
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    holder, code = np.divmod(pairs, max(1, len(distinct)))
    by_count = np.argsort(np.bincount(code, minlength=len(distinct)), kind="stable")
    place = np.empty(len(distinct), dtype=np.int64)
    place[by_count] = np.arange(len(distinct))
    ordered = np.sort(holder * len(distinct) + place[code]) % max(1, len(distinct))
    return ordered, np.searchsorted(holder, np.arange(len(found) + 1))


class _Leaders:
    """The leaders so far, to be found by the rarest of their bigrams."""

    def __init__(self, overlap: Fraction, rarest_first: NDArray[np.int64]) -> None:
        self.overlap = overlap
        self.bigrams = rarest_first
        self.spans: dict[int, slice] = {}
        self.by_bigram: dict[int, list[int]] = {}
        self.same: dict[bytes, int] = {}

    def leader_of(self, passage: int, start: int, end: int) -> int:
        """The leader of the class that a passage joins, or the passage itself, which from now on leads one."""
        span, size = slice(start, end), end - start
        found = self.bigrams[span].tobytes()
        leader = self.same.get(found)
        if leader is None:
            rarest = self.bigrams[start : end - needed(size, self.overlap) + 1].tolist()
            leader = self._first_near(span, rarest)
            if leader is None:
                leader = passage
                self.spans[passage] = span
                for bigram in rarest:
                    self.by_bigram.setdefault(bigram, []).append(passage)
            self.same[found] = leader
        return leader

    def _first_near(self, span: slice, rarest: list[int]) -> int | None:
        candidates = sorted({leader for bigram in rarest for leader in self.by_bigram.get(bigram, ())})
        if not candidates:
            return None
        ours = frozenset(self.bigrams[span].tolist())
        return next((leader for leader in candidates if self._is_near(ours, leader)), None)

    def _is_near(self, ours: frozenset[int], leader: int) -> bool:
        theirs = self.bigrams[self.spans[leader]].tolist()
        return len(ours.intersection(theirs)) >= needed(max(len(ours), len(theirs)), self.overlap)
