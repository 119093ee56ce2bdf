"""Finds texts that are nearly the same, in time and memory that grow in proportion to their number.

Two texts are near-duplicates if they share a large enough part of the shingles of either:
`|A & B| >= overlap * max(|A|, |B|)`. This is the rule of `assay.passages`, with three words in a row instead of two,
since a question is longer than a citation.

Texts with a high overlap are candidates by MinHash with locality-sensitive hashing (Broder 1997,
doi:10.1109/SEQUEN.1997.666900; Indyk & Motwani 1998, doi:10.1145/276698.276876): 64 minima in 16 bands of 4. Texts of
an overlap of 0.8 have a Jaccard index of 0.67 or more; they are candidates with a probability of at least 97 %, and
those of an index of 0.8 with 99.98 %. Each pair of candidates is then compared exactly.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from hashlib import blake2b
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from assay.formulas.visual_ids import first_rows
from assay.html.sanitize import plain
from assay.passages import words_of

N_WORDS = 3
# Kept texts: a text is compared with so many at most, so boilerplate does not take all day
LARGEST_BUCKET = 100
_ROWS = 4  # of a band
_SEED = 20_201_109  # of the hash functions; another one would change which pairs are candidates


def words(html: str) -> list[str]:
    """The words of HTML or of plain text, in order."""
    return words_of(plain(html))


def shingles(text: list[str]) -> frozenset[str]:
    """Each three words in a row; all words of a shorter text together.

    >>> sorted(shingles("a prime is a prime".split()))
    ['a prime is', 'is a prime', 'prime is a']
    """
    last = max(1, len(text) - N_WORDS + 1)
    return frozenset(" ".join(text[at : at + N_WORDS]) for at in range(last)) if text else frozenset()


def share(ours: frozenset[str], theirs: frozenset[str]) -> float:
    """The part of the shingles of the larger text that both have; 0 if a text has no words."""
    return len(ours & theirs) / max(len(ours), len(theirs)) if ours and theirs else 0.0


def fingerprint(text: list[str]) -> int:
    """A number of 63 bits that texts share if their words are equal."""
    return int.from_bytes(blake2b(" ".join(text).encode(errors="replace"), digest_size=8).digest()) >> 1


def same_texts(fingerprints: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """The place of each text that repeats an earlier one, with the place of the first. 0 is a text without words."""
    first = first_rows(fingerprints)
    repeats = np.flatnonzero((first != np.arange(len(first))) & (fingerprints != 0))
    yield from zip(repeats.tolist(), first[repeats].tolist(), strict=True)


class MinHash:
    """The bands of a text: numbers of which similar texts share at least one."""

    N_BANDS = 16

    def __init__(self) -> None:
        rng = np.random.default_rng(_SEED)
        n = self.N_BANDS * _ROWS
        self._factor = rng.integers(1, 2**63, size=(n, 1), dtype=np.uint64) | np.uint64(1)
        self._term = rng.integers(0, 2**63, size=(n, 1), dtype=np.uint64)
        self._mix = rng.integers(1, 2**63, size=_ROWS, dtype=np.uint64) | np.uint64(1)

    def bands(self, text: frozenset[str]) -> NDArray[np.uint64]:
        """(16,) the bands of a text that has words."""
        numbers = np.fromiter((crc32(word.encode(errors="replace")) for word in text), np.uint64, len(text))
        minima = ((self._factor * numbers + self._term) >> np.uint64(32)).min(axis=1)
        bands: NDArray[np.uint64] = (minima.reshape(self.N_BANDS, _ROWS) * self._mix).sum(
            axis=1, dtype=np.uint64
        )
        return bands


def near_texts(
    bands: NDArray[np.uint64], has_words: NDArray[np.bool_], text_of: Callable[[int], str], overlap: float
) -> Iterator[tuple[int, int, float]]:
    """Each text that is nearly an earlier one that is kept, with that one and their overlap.

    Args:
        bands: (texts, 16) of each text, in the order in which the first of several is kept.
        has_words: (texts,) a text without words is no near-duplicate.
        text_of: gives the HTML of a text by its place.
    """
    # (texts, 16) the number of the bucket of each text in each band; -1 if no other text is in it
    buckets = np.full(bands.shape, -1, dtype=np.int64)
    places = np.flatnonzero(has_words)
    for band in range(bands.shape[1]):
        _, numbers, sizes = np.unique(bands[places, band], return_inverse=True, return_counts=True)
        is_shared = sizes[numbers] > 1
        buckets[places[is_shared], band] = numbers[is_shared] * bands.shape[1] + band
    kept: dict[int, list[int]] = {}  # by bucket

    @lru_cache(maxsize=1000)
    def shingles_of(text: int) -> frozenset[str]:
        return shingles(words(text_of(text)))

    for text in np.flatnonzero((buckets >= 0).any(axis=1)).tolist():
        own = [bucket for bucket in buckets[text].tolist() if bucket >= 0]
        earlier = sorted({other for bucket in own for other in kept.get(bucket, ())})
        parts = ((other, share(shingles_of(text), shingles_of(other))) for other in earlier)
        near = next(((other, part) for other, part in parts if part >= overlap), None)
        if near is not None:
            yield text, *near
            continue
        for bucket in own:
            if len(kept.setdefault(bucket, [])) < LARGEST_BUCKET:
                kept[bucket].append(text)
