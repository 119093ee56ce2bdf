"""Numbers of judged and of relevant units per topic of qrels."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from assay.formats.qrels.columns import QrelsColumns


class Spread(NamedTuple):
    """Statistics of a number over all topics; all are 0 if there are no topics."""

    minimum: int
    maximum: int
    mean: float
    total: int


class QrelsSummary(NamedTuple):
    """Statistics of the judged and of the relevant units per topic."""

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

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """From the plain values of `as_json`."""
        return cls(values["n_topics"], Spread(**values["judged"]), Spread(**values["relevant"]))


class UnitsByTopic(NamedTuple):
    """Numbers of units, each (topics,) in the order of the qrels."""

    judged: NDArray[np.int64]
    relevant: NDArray[np.int64]


def units_by_topic(qrels: QrelsColumns, *, level: int) -> UnitsByTopic:
    """Judged and relevant units of each topic. Units are relevant from grade `level`; negative grades do not count."""
    topic = qrels.topic_index.astype(np.int64)
    judged, relevant = (
        np.bincount(topic[qrels.grade >= lowest], minlength=len(qrels.topics))
        for lowest in (0, max(level, 0))
    )
    return UnitsByTopic(judged, relevant)


def summarize_qrels(qrels: QrelsColumns, *, level: int) -> QrelsSummary:
    """Statistics over all topics of the qrels. A unit is relevant from grade `level`.

    Source
    ------
    Mansouri et al., Effects of Context, Complexity, and Clustering on Evaluation for Math Formula Retrieval, table 5.
    """
    counts = units_by_topic(qrels, level=level)
    return QrelsSummary(len(qrels.topics), _spread(counts.judged), _spread(counts.relevant))


def _spread(counts: NDArray[np.int64]) -> Spread:
    if not len(counts):
        return Spread(0, 0, 0.0, 0)
    return Spread(int(counts.min()), int(counts.max()), float(counts.mean()), int(counts.sum()))
