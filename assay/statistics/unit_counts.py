"""How many units were judged and found relevant a topic, whatever the units of the qrels are."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.formats.qrels.columns import QrelsColumns


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
