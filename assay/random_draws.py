"""Random numbers from a seed, for many units at once, and for each unit independently of all others.

Each unit has its own stream: SplitMix64 (Steele, Lea & Flood 2014, doi:10.1145/2660193.2660195), started with the
SHA-256 of seed, topic and unit. The n-th number of a stream is computed directly, so whole arrays are drawn without a
loop. The generator is implemented here, so that no version of a library changes the result of a seed.
"""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
STREAM = 1 << 32  # numbers for one purpose of a unit; those of the next purpose follow


def stream_starts(seed: int, units: Iterable[tuple[bytes, bytes]]) -> NDArray[np.uint64]:
    """(units,) the start of the stream of each unit; a unit is the code of its topic and its docno."""
    of_seed = hashlib.sha256(b"%d\0" % seed)
    starts = bytearray()
    for topic, docno in units:
        digest = of_seed.copy()
        digest.update(b"%b\0%b" % (topic, docno))
        starts += digest.digest()[:8]
    return np.frombuffer(bytes(starts), dtype=">u8").astype(np.uint64)


def random_numbers(start: NDArray[np.uint64], nth: NDArray[Any], purpose: int = 0) -> NDArray[np.uint64]:
    """Random numbers of streams.

    Args:
        start: (n,) starts of the streams.
        nth: (n,) index of the number in each stream, from 0, below 2^32.
        purpose: numbers for different purposes are independent.

    Returns:
        (n,) numbers from 0 to 2^64 - 1.
    """
    state = start + (nth.astype(np.uint64) + np.uint64(purpose * STREAM + 1)) * _GOLDEN
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    number: NDArray[np.uint64] = state ^ (state >> np.uint64(31))
    return number
