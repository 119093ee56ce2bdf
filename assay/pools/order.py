"""The order in which the entries of a pool are presented.

- `random`: at random.
- `by-run-votes`: entries of the most runs first; ties at random.
- `by-answer`: generated answers at random, and the nuggets of each one after the other; then cited documents likewise.
- `move-to-front`: entries with the best rank in any run first; ties at random. This is about what the rule does until a
  relevant unit is found; `assay.pools.move_to_front` finds the next unit from the judgments so far.

The order within a topic depends only on the seed, the topic's code and its entries, not on other topics. Random draws
come from the raw stream of PCG64, which NumPy promises not to change. Positions are from 1; an order raises ValueError
for a seed that is negative or does not fit into 63 bits. Decision: ADR 6.
"""

import hashlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from assay.answers import is_citation
from assay.errors import InputError
from assay.pools.depth import PooledUnits

MAX_SEED = 2**63 - 1


def random_order(units: PooledUnits, seed: int) -> NDArray[np.int32]:
    """(n,) position of each entry within its topic: at random with the seed."""
    return _ordered(units, seed, np.zeros(len(units), dtype=np.int64))


def by_run_votes(units: PooledUnits, seed: int) -> NDArray[np.int32]:
    """(n,) position of each entry within its topic: entries of the most runs first, ties at random."""
    return _ordered(units, seed, -np.bincount(units.entry, minlength=len(units)))


def by_best_rank(units: PooledUnits, seed: int) -> NDArray[np.int32]:
    """(n,) position of each entry within its topic: entries with the best rank first, ties at random."""
    return _ordered(units, seed, units.best_rank)


def _ordered(units: PooledUnits, seed: int, key: NDArray[np.int64]) -> NDArray[np.int32]:
    position = np.empty(len(units), dtype=np.int32)
    ends = np.cumsum(units.sizes)
    for code, start, end in zip(units.topics.tolist(), ends - units.sizes, ends, strict=True):
        order = np.lexsort((topic_draws(seed, code, int(end - start)), key[start:end]))
        position[start:end][order] = np.arange(1, end - start + 1)
    return position


def by_answer(units: PooledUnits, seed: int) -> NDArray[np.int32]:
    """(n,) position of each entry within its topic: answer by answer at random, the nuggets of each as in their list.

    Citations follow: document by document at random, with all sentences that cite it.
    """
    names = [docno.decode() for docno in units.docno.tolist()]
    last = [is_citation(name) for name in names]
    groups = [
        name.split(":", 2)[2] if is_last else name.rpartition(":")[0]
        for name, is_last in zip(names, last, strict=True)
    ]
    position = np.empty(len(units), dtype=np.int32)
    best, ends = units.best_rank, np.cumsum(units.sizes)
    for code, start, end in zip(units.topics.tolist(), ends - units.sizes, ends, strict=True):
        distinct, of_group = np.unique(np.array(groups[start:end], dtype=np.str_), return_inverse=True)
        draws = topic_draws(seed, code, len(distinct))[of_group]
        order = np.lexsort((best[start:end], draws, np.array(last[start:end], dtype=np.bool_)))
        position[start:end][order] = np.arange(1, end - start + 1)
    return position


def topic_draws(seed: int, code: str, n: int) -> NDArray[np.uint64]:
    """(n,) random numbers of a topic, which depend on the seed and on the code of the topic only."""
    if not 0 <= seed <= MAX_SEED:
        raise InputError(f"the seed is {seed}; use a whole number from 0 to {MAX_SEED}")
    stable = int.from_bytes(hashlib.sha256(code.encode()).digest()[:8], "big")
    return np.random.PCG64(np.random.SeedSequence([seed, stable])).random_raw(n)


Order = Callable[[PooledUnits, int], NDArray[np.int32]]
ORDERS: dict[str, Order] = {
    "random": random_order,
    "by-run-votes": by_run_votes,
    "move-to-front": by_best_rank,
    "by-answer": by_answer,
}
