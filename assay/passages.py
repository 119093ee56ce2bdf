"""Finds near-duplicate passages. One passage of each class is judged, and the others inherit its judgment.

Two passages are near-duplicates if they share a large enough part of the word bigrams of either passage: `|A & B| >=
overlap * max(|A|, |B|)`. Each bigram counts once per passage. Words consist of letters, digits and underscores; upper
and lower case are equal. A passage of one word has that word as its only bigram. A passage without words is not a
near-duplicate of any other.

Near-duplication is not transitive, so each class has a *leader*. Passages are visited from the best to the worst. Each
joins the first leader of which it is a near-duplicate; if there is none, it becomes a leader. So each passage that
inherits a judgment is a near-duplicate of the judged passage itself.

Not all pairs are compared. If n bigrams may differ, near-duplicates share one of the n + 1 rarest bigrams of each
(prefix filtering; Chaudhuri, Ganti & Kaushik 2006, doi:10.1109/ICDE.2006.9), so only leaders with such a bigram are
compared.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from fractions import Fraction

WORD = re.compile(r"\w+")


def words_of(passage: str) -> list[str]:
    """The words of a passage, in order."""
    return WORD.findall(unicodedata.normalize("NFC", passage).casefold())


def needed(size: int, overlap: "Fraction") -> int:
    """The number of shared bigrams that a passage of `size` bigrams needs for a near-duplicate."""
    return -(-size * overlap.numerator // overlap.denominator)


def leaders(passages: Sequence[str], overlap: float) -> list[int]:
    """The index of the leader of each passage; the own index for a leader. Passages come from the best to the worst.

    Raises `ValueError` if the overlap is not above 0, or above 1.
    """
    from fractions import Fraction  # noqa: PLC0415 -- slow to import, and few protocols need it

    share = Fraction(str(overlap))
    if not 0 < share <= 1:
        raise ValueError(f"the overlap is {overlap}; it must be above 0 and at most 1")
    numbers: dict[str, int] = {}
    words_by_passage = [
        [numbers.setdefault(word, len(numbers)) for word in words_of(passage)] for passage in passages
    ]
    lengths = np.array([len(words) for words in words_by_passage], dtype=np.int64)
    word = np.array([number for words in words_by_passage for number in words], dtype=np.int64)
    passage = np.repeat(np.arange(len(passages)), lengths)
    is_pair = passage[1:] == passage[:-1]
    alone = lengths[passage] == 1  # the only word of its passage counts as a bigram
    n_words = len(numbers)
    bigram = np.concatenate([(word[:-1] * n_words + word[1:])[is_pair], n_words * n_words + word[alone]])
    holder = np.concatenate([passage[:-1][is_pair], passage[alone]])
    distinct, code = np.unique(bigram, return_inverse=True)
    # Nearly all pairs are different, so np.unique would take four times as long.
    pairs = np.sort(holder * len(distinct) + code)
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    holder, code = np.divmod(pairs, max(1, len(distinct)))
    by_count = np.argsort(np.bincount(code, minlength=len(distinct)), kind="stable")
    place = np.empty(len(distinct), dtype=np.int64)
    place[by_count] = np.arange(len(distinct))
    ordered = np.sort(holder * len(distinct) + place[code]) % max(1, len(distinct))
    rarest_first, borders = ordered, np.searchsorted(holder, np.arange(len(passages) + 1))
    index = _Leaders(share, rarest_first)
    spans = zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)
    return [index.leader_of(i, start, end) if start < end else i for i, (start, end) in enumerate(spans)]


@dataclass(slots=True)
class _Leaders:
    """The leaders so far, indexed by their rarest bigrams."""

    overlap: "Fraction"
    bigrams: NDArray[np.int64]  # of each passage, the rarest first
    spans: dict[int, slice] = field(default_factory=dict)
    by_bigram: dict[int, list[int]] = field(default_factory=dict)
    same: dict[bytes, int] = field(default_factory=dict)

    def leader_of(self, passage: int, start: int, end: int) -> int:
        """The leader whose class a passage joins; the passage itself, if it becomes a leader."""
        span, size = slice(start, end), end - start
        key = self.bigrams[span].tobytes()
        leader = self.same.get(key)
        if leader is None:
            rarest = self.bigrams[start : end - needed(size, self.overlap) + 1].tolist()
            leader = self._first_near(span, rarest)
            if leader is None:
                leader = passage
                self.spans[passage] = span
                for bigram in rarest:
                    self.by_bigram.setdefault(bigram, []).append(passage)
            self.same[key] = leader
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
