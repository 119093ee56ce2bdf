"""Runs of formula instances as runs of visually distinct formulas, as the ARQMath labs score them.

Each instance becomes its visually distinct formula, and of each formula the first from the top stays: highest score
first, ties in the order of the file. What stays has the highest score of the formula's instances, whichever of several
that tie is taken; then it is ranked as any run is. Instances without a visual id are skipped and counted.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.formats.qrels.columns import QrelsColumns
from assay.formats.qrels.reader import columns_from
from assay.formats.runs.columns import RunColumns
from assay.formulas.columns import Formulas


class Collapsed(NamedTuple):
    """A run of distinct formulas, and what became of the instances.

    columns : topics as before, without those that have no formula left; docno holds visual ids; rank as that of the
        instance which stays.
    n_skipped : instances without a visual id, unknown ones among them.
    n_repeated : instances of a formula that stands above them.
    """

    columns: RunColumns
    n_skipped: int
    n_repeated: int


def collapse_instances(run: RunColumns, formulas: Formulas) -> Collapsed:
    """Replace each instance by its distinct formula, and keep the first of each formula of a topic."""
    row = formulas.rows(run.docno)
    visual = formulas.visual[row] if len(formulas) else np.zeros(len(run), dtype="S1")
    has_visual = (row >= 0) & (visual != b"")
    at = np.flatnonzero(has_visual)
    at = at[_firsts(run.topic_index[at], visual[at])]
    columns, _ = RunColumns.ordered(
        topics=run.topics.tolist(),
        topic_index=run.topic_index[at],
        docno=visual[at],
        rank=run.rank[at],
        score=run.score[at],
    )
    n_skipped = len(run) - int(has_visual.sum())
    return Collapsed(_without_empty_topics(columns), n_skipped, len(run) - n_skipped - len(at))


def _firsts(topic: NDArray[np.int32], visual: NDArray[np.bytes_]) -> NDArray[np.intp]:
    """The first row of each (topic, visual id), ascending; rows stand in the order of their topic's scores."""
    _, code = np.unique(visual, return_inverse=True)
    first: NDArray[np.intp]
    _, first = np.unique(topic.astype(np.int64) * (len(visual) + 1) + code, return_index=True)
    first.sort()
    return first


def _without_empty_topics(columns: RunColumns) -> RunColumns:
    """A topic all of whose instances were skipped is not in the run any more."""
    left, index = np.unique(columns.topic_index, return_inverse=True)
    return RunColumns(
        columns.topics[left], index.astype(np.int32), columns.docno, columns.rank, columns.score
    )


def of_distinct_formulas(qrels: QrelsColumns, formulas: Formulas) -> tuple[QrelsColumns, int]:
    """Qrels of instances as qrels of distinct formulas, each with the highest grade of its instances.

    Also how many lines were left out, for instances without a visual id.
    """
    row = formulas.rows(qrels.docno)
    visual = (
        np.where(row >= 0, formulas.visual[row], b"") if len(formulas) else np.zeros(len(row), dtype="S1")
    )
    codes = [code.encode() for code in qrels.topics.tolist()]
    grades: dict[tuple[bytes, bytes], int] = {}
    for topic, one, grade in zip(
        qrels.topic_index.tolist(), visual.tolist(), qrels.grade.tolist(), strict=True
    ):
        if one:
            unit = codes[topic], one
            grades[unit] = max(grade, grades.get(unit, grade))
    n_skipped = int((visual == b"").sum())
    return columns_from((topic, one, grade) for (topic, one), grade in grades.items()), n_skipped
