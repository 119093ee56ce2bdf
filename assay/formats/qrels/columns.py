"""Qrels as arrays."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.protocols.measures import QrelsKind

Row = tuple[bytes, bytes, int]  # topic, docno, grade


@dataclass(frozen=True, slots=True, eq=False)
class QrelsColumns:
    """Qrels as arrays, sorted by topic, then docno. A negative grade means: pooled, but not judged.

    Args:
        topics: (topics,) codes.
        topic_index: (rows,) position in `topics`.
        docno: (rows,) UTF-8 bytes.
        grade: (rows,)
        kind: what lines of the file have besides these.
        parts: (rows,) that, as bytes (`assay.formats.qrels.parts`); None if kind is "grades".
    """

    topics: NDArray[np.str_]
    topic_index: NDArray[np.int32]
    docno: NDArray[np.bytes_]
    grade: NDArray[np.int32]
    kind: QrelsKind = "grades"
    parts: NDArray[np.object_] | None = None

    def rows(self) -> Iterator[tuple[str, bytes, int]]:
        """Topic, docno and grade of each row."""
        codes = self.topics.tolist()
        rows = zip(self.topic_index.tolist(), self.docno.tolist(), self.grade.tolist(), strict=True)
        return ((codes[topic], docno, grade) for topic, docno, grade in rows)

    def of_topics(self, codes: Collection[str]) -> "QrelsColumns":
        """The rows of some topics, without the others."""
        is_kept = np.isin(self.topics, np.array(list(codes), dtype=np.str_))
        rows = is_kept[self.topic_index]
        kept = self.kept(rows)
        place = np.cumsum(is_kept, dtype=np.int32) - 1
        return replace(kept, topics=self.topics[is_kept], topic_index=place[kept.topic_index])

    def kept(self, rows: NDArray[Any]) -> "QrelsColumns":
        """Some rows, with all topics: a topic without rows still counts, with the value 0."""
        return replace(
            self,
            topic_index=self.topic_index[rows],
            docno=self.docno[rows],
            grade=self.grade[rows],
            parts=None if self.parts is None else self.parts[rows],
        )


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
