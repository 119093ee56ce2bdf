"""The kernels by the family that each computes, and what kernels are made of: sums and shares per topic.

The module of a family is imported when its kernel is requested for the first time.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from assay.measures.matching import Hits, JudgedDocuments
from assay.protocols.measures import FAMILIES, Measure

Values = NDArray[np.float64]
Kernel = Callable[[Hits, JudgedDocuments, Measure], Values]

_kernels: dict[str, Kernel] = {}


def kernel(*families: str) -> Callable[[Kernel], Kernel]:
    """Register the decorated function as the kernel of one or more families.

    Raises
    ------
    ValueError
        A family is missing from `assay.protocols.measures.FAMILIES`.
    """
    for family in families:
        if family not in FAMILIES:
            raise ValueError(f"{family} is missing from assay.protocols.measures.FAMILIES")

    def register(function: Kernel) -> Kernel:
        for family in families:
            _kernels[family] = function
        return function

    return register


def kernel_of(family: str) -> Kernel:
    """The kernel of a family in `FAMILIES`."""
    if family not in _kernels:
        import_module(f"assay.measures.families.{FAMILIES[family].module}")
    return _kernels[family]


def top(hits: Hits, k: int | None) -> Hits:
    """The hits at the top k ranks; all hits if k is None."""
    return hits if k is None else hits.kept(hits.rank <= k)


def relevant(hits: Hits, level: int) -> Hits:
    """The hits with a grade from `level`."""
    return hits.kept(hits.grade >= level)


def counts(hits: Hits) -> NDArray[np.int64]:
    """(topics,) number of hits."""
    return np.bincount(hits.topic, minlength=len(hits.n_returned))


def sums(hits: Hits, terms: NDArray[np.float64] | NDArray[np.int64]) -> Values:
    """(topics,) sum of the terms (hits,), added one by one in the order of the ranks."""
    weighted = np.bincount(hits.topic, weights=terms, minlength=len(hits.n_returned))
    return weighted.astype(np.float64, copy=False)  # without hits, NumPy returns whole numbers


def share(
    part: NDArray[np.float64] | NDArray[np.int64], whole: NDArray[np.float64] | NDArray[np.int64]
) -> Values:
    """(topics,) `part` divided by `whole`; 0.0 where `whole` is 0."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def discounts(depth: int) -> Values:
    """log2(rank + 1), indexed by rank, at least up to `depth`; index 0 has no rank.

    The logarithm is that of the C library, as in trec_eval: NumPy's own log2 differs in the last bit for some ranks.
    """
    return _discounts(1 << max(10, depth.bit_length()))


@lru_cache(maxsize=16)
def _discounts(depth: int) -> Values:
    return np.array([1.0, *(math.log2(rank + 1) for rank in range(1, depth + 1))])
