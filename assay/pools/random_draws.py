"""Lots that a seed draws, for as many units at once as there are, and for each of them independently of all others.

Each unit has a stream of its own: SplitMix64 (Steele, Lea & Flood 2014, doi:10.1145/2660193.2660195) started with
sha256 of seed, topic and unit. Its n-th number is computed directly, so that whole arrays are drawn without a loop, and
the dozen lines are ours: no version of any library changes what a seed gives.
"""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
STREAM = 1 << 32  # numbers of one purpose of a unit; the next purpose begins behind them


def starts(seed: int, units: Iterable[tuple[bytes, bytes]]) -> NDArray[np.uint64]:
    """(units,) where the stream of each unit begins; a unit is its topic's code and its docno."""
    base = hashlib.sha256(b"%d\0" % seed)
    found = bytearray()
    for topic, docno in units:
        one = base.copy()
        one.update(b"%b\0%b" % (topic, docno))
        found += one.digest()[:8]
    return np.frombuffer(bytes(found), dtype=">u8").astype(np.uint64)


def drawn(start: NDArray[np.uint64], nth: NDArray[Any], purpose: int = 0) -> NDArray[np.uint64]:
    """(n,) the nth number, from 0, of the streams that begin at `start`, for one of several purposes."""
    state = start + (nth.astype(np.uint64) + np.uint64(purpose * STREAM + 1)) * _GOLDEN
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    number: NDArray[np.uint64] = state ^ (state >> np.uint64(31))
    return number
