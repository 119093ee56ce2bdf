"""Qrels as arrays."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

Row = tuple[bytes, bytes, int]  # topic, docno, grade


@dataclass(frozen=True, slots=True, eq=False)
class QrelsColumns:
    """Qrels as arrays, sorted by topic, then docno. A negative grade means: pooled, but not judged.

    Args:
        topics: (topics,) codes.
        topic_index: (rows,) position in `topics`.
        docno: (rows,) UTF-8 bytes.
        grade: (rows,)
    """

    topics: NDArray[np.str_]
    topic_index: NDArray[np.int32]
    docno: NDArray[np.bytes_]
    grade: NDArray[np.int32]


def columns_from(rows: Iterable[Row]) -> QrelsColumns:
    """Arrays from rows (topic, docno, grade) in any order; each document once per topic."""
    ordered = sorted(rows)
    codes = [topic for topic, _ in groupby(ordered, key=itemgetter(0))]
    place = {topic: index for index, topic in enumerate(codes)}
    return QrelsColumns(
        topics=np.array([code.decode() for code in codes], dtype=np.str_),
        topic_index=np.array([place[topic] for topic, _, _ in ordered], dtype=np.int32),
        docno=np.array([docno for _, docno, _ in ordered], dtype=np.bytes_),
        grade=np.array([grade for _, _, grade in ordered], dtype=np.int32),
    )
