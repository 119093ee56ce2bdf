"""How many units were judged and found relevant a topic: of formulae once by instance, once by distinct formula."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.qrels_format import QrelsColumns, columns_from


class Spread(NamedTuple):
    """A count over topics; all 0 where there is no topic."""

    minimum: int
    maximum: int
    mean: float
    total: int


class UnitCounts(NamedTuple):
    """Judged and relevant units a topic."""

    n_topics: int
    judged: Spread
    relevant: Spread

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "n_topics": self.n_topics,
            "judged": self.judged._asdict(),
            "relevant": self.relevant._asdict(),
        }


class TopicCounts(NamedTuple):
    """(topics,) each, in the order of the qrels."""

    judged: NDArray[np.int64]
    relevant: NDArray[np.int64]


def topic_counts(qrels: QrelsColumns, *, level: int) -> TopicCounts:
    """Units with a grade, and with a grade from `level`. A negative grade is none."""
    of = qrels.topic_index.astype(np.int64)
    judged, relevant = (
        np.bincount(of[qrels.grade >= lowest], minlength=len(qrels.topics)) for lowest in (0, max(level, 0))
    )
    return TopicCounts(judged, relevant)


def unit_counts(qrels: QrelsColumns, *, level: int) -> UnitCounts:
    """Minimum, maximum and mean over all topics of the qrels: the Comparison's Table 5."""
    counts = topic_counts(qrels, level=level)
    return UnitCounts(len(qrels.topics), _spread(counts.judged), _spread(counts.relevant))


def _spread(counts: NDArray[np.int64]) -> Spread:
    if not len(counts):
        return Spread(0, 0, 0.0, 0)
    return Spread(int(counts.min()), int(counts.max()), float(counts.mean()), int(counts.sum()))


def distinct(qrels: QrelsColumns, unit_of: Mapping[bytes, bytes]) -> tuple[QrelsColumns, int]:
    """Qrels of instances as qrels of the units that they are instances of: each has the highest grade of its own.

    Parameters
    ----------
    unit_of : the unit of each instance, by docno; an instance that it has not is left out.

    Returns
    -------
    The qrels of units, and how many judged instances were left out.
    """
    best: dict[tuple[bytes, bytes], int] = {}
    left_out = 0
    codes = [code.encode() for code in qrels.topics.tolist()]
    rows = zip(qrels.topic_index.tolist(), qrels.docno.tolist(), qrels.grade.tolist(), strict=True)
    for topic, docno, grade in rows:
        unit = unit_of.get(docno)
        if unit is None:
            left_out += 1
            continue
        key = (codes[topic], unit)
        best[key] = max(grade, best.get(key, grade))
    return columns_from((topic, unit, grade) for (topic, unit), grade in best.items()), left_out
