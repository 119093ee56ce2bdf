"""Qrels as arrays."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class QrelsColumns:
    """Qrels as arrays, sorted by topic, then docno. A negative grade means: pooled, but not judged.

    topics : (topics,) codes.
    topic_index : (rows,) position in `topics`.
    docno : (rows,) UTF-8 bytes.
    grade : (rows,)
    """

    topics: NDArray[np.str_]
    topic_index: NDArray[np.int32]
    docno: NDArray[np.bytes_]
    grade: NDArray[np.int32]
