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

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """From its plain values."""
        return cls(values["n_topics"], Spread(**values["judged"]), Spread(**values["relevant"]))


def units_by_topic(qrels: QrelsColumns, *, level: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(topics,) judged units, and relevant units, which have a grade from `level`; negative grades do not count."""
    topic = qrels.topic_index.astype(np.int64)
    judged, relevant = (
        np.bincount(topic[qrels.grade >= lowest], minlength=len(qrels.topics))
        for lowest in (0, max(level, 0))
    )
    return judged, relevant


def summarize_qrels(qrels: QrelsColumns, *, level: int) -> QrelsSummary:
    """Statistics over all topics of the qrels. A unit is relevant from grade `level`.

    Source
    ------
    Mansouri et al., Effects of Context, Complexity, and Clustering on Evaluation for Math Formula Retrieval, table 5.
    """
    judged, relevant = (
        Spread(int(n.min()), int(n.max()), float(n.mean()), int(n.sum())) if len(n) else Spread(0, 0, 0.0, 0)
        for n in units_by_topic(qrels, level=level)
    )
    return QrelsSummary(len(qrels.topics), judged, relevant)
