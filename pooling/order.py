"""The order in which a pool is presented.

The order of a topic follows from the seed, the topic's code and its docnos alone, not from the other topics; and
from the raw stream of PCG64, which NumPy promises never to change, not from a shuffle that it may.
"""

import hashlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pooling.depth import PooledUnits

MAX_SEED = 2**63 - 1


def random_order(units: PooledUnits, seed: int) -> NDArray[np.int32]:
    """(n,) position of each entry within its topic, from 1, shuffled by the seed.

    Raises
    ------
    ValueError
        The seed is negative or does not fit into 63 bits.
    """
    if not 0 <= seed <= MAX_SEED:
        raise ValueError(f"the seed is {seed}; use a whole number from 0 to {MAX_SEED}")
    position = np.empty(len(units), dtype=np.int32)
    ends = np.cumsum(units.sizes)
    for code, start, end in zip(units.topics.tolist(), ends - units.sizes, ends, strict=True):
        stable = int.from_bytes(hashlib.sha256(code.encode()).digest()[:8], "big")
        lots = np.random.PCG64(np.random.SeedSequence([seed, stable])).random_raw(int(end - start))
        position[start:end][np.argsort(lots, kind="stable")] = np.arange(1, end - start + 1)
    return position


ORDERS: dict[str, Callable[[PooledUnits, int], NDArray[np.int32]]] = {"random": random_order}
