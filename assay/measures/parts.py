"""What the kernels are made of: hits that count, and sums and shares by topic."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from assay.measures.matching import Hits
from assay.measures.registry import Values


def top(hits: Hits, k: int | None) -> Hits:
    """The hits of the top k ranks; all if k is None."""
    return hits if k is None else hits.kept(hits.rank <= k)


def relevant(hits: Hits, level: int) -> Hits:
    """The hits with a grade from `level`."""
    return hits.kept(hits.grade >= level)


def counts(hits: Hits) -> NDArray[np.int64]:
    """Hits of each topic. Shape (topics,)."""
    return np.bincount(hits.topic, minlength=len(hits.n_returned))


def sums(hits: Hits, terms: NDArray[np.float64] | NDArray[np.int64]) -> Values:
    """Sum of the terms of each topic, one by one in rank order. Shape (topics,)."""
    weighted = np.bincount(hits.topic, weights=terms, minlength=len(hits.n_returned))
    return weighted.astype(np.float64, copy=False)  # of no hit at all NumPy makes whole numbers


def share(
    part: NDArray[np.float64] | NDArray[np.int64], whole: NDArray[np.float64] | NDArray[np.int64]
) -> Values:
    """Part by whole for each topic, 0.0 where the whole is nothing."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def discounts(depth: int) -> Values:
    """log2(rank + 1) for ranks up to `depth` at least; index 0 stands for no rank.

    From the C library, as in trec_eval: NumPy's own log2 differs in the last bit for some ranks.
    """
    return _discounts(1 << max(10, depth.bit_length()))


@lru_cache(maxsize=16)
def _discounts(depth: int) -> Values:
    return np.array([1.0, *(math.log2(rank + 1) for rank in range(1, depth + 1))])
