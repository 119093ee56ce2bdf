"""Numbers of judged and of relevant units per topic of qrels."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from assay.formats.qrels.columns import QrelsColumns


@dataclass(frozen=True)
class Spread:
    """Statistics of a number over all topics; all are 0 if there are no topics."""

    minimum: int
    maximum: int
    mean: float
    total: int


@dataclass(frozen=True)
class QrelsSummary:
    """Statistics of the judged and of the relevant units per topic."""

    n_topics: int
    judged: Spread
    relevant: Spread


Grades = Mapping[int, int]  # numbers of units, by grade


def grades_by_topic(qrels: QrelsColumns) -> dict[str, dict[int, int]]:
    """The number of units with each grade, by topic; a topic has only the grades that it uses."""
    codes: list[str] = qrels.topics.tolist()
    counts: dict[str, dict[int, int]] = {code: {} for code in codes}
    pairs, numbers = np.unique(np.column_stack([qrels.topic_index, qrels.grade]), axis=0, return_counts=True)
    for (topic, grade), n in zip(pairs.tolist(), numbers.tolist(), strict=True):
        counts[codes[topic]][grade] = n
    return counts


def n_from(grades: Grades, level: int) -> int:
    """The number of units with a grade from `level`; negative grades do not count."""
    return sum(n for grade, n in grades.items() if grade >= max(level, 0))


def summarize_qrels(qrels: QrelsColumns, *, level: int) -> QrelsSummary:
    """Statistics over all topics of the qrels. A unit is relevant from grade `level`."""
    return summarize(grades_by_topic(qrels).values(), level=level)


def summarize(topics: Iterable[Grades], *, level: int) -> QrelsSummary:
    """Statistics over topics, from the number of units with each grade.

    Source:
        Mansouri et al., Effects of Context, Complexity, and Clustering on Evaluation for Math Formula Retrieval, table
        5.
    """
    counts = [(n_from(grades, 0), n_from(grades, level)) for grades in topics]
    judged, relevant = (
        Spread(min(column, default=0), max(column, default=0), sum(column) / max(len(column), 1), sum(column))
        for column in ([n for n, _ in counts], [n for _, n in counts])
    )
    return QrelsSummary(len(counts), judged, relevant)
