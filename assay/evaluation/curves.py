"""Curves of a run, per topic: precision at cutoffs, and interpolated precision at levels of recall.

Both count documents, or characters of citations (see `assay.measures.characters`).

The functions take hits and judged documents, like the kernels of `assay.measures`. Pass `hits.judged_only()` for curves
without unjudged documents. A topic that has no relevant documents, or that is missing from the run, has 0.0 everywhere.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.measures import characters
from assay.measures.interpolated import interpolated_precision, recall_points
from assay.measures.kernels import relevant
from assay.measures.matching import Hits, JudgedDocuments
from assay.protocols.measures import Measure

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
RECALLS = tuple(tenth / 10 for tenth in range(11))


def precision_at(hits: Hits, *, level: int, cutoffs: Sequence[int] = CUTOFFS) -> NDArray[np.float64]:
    """(topics, cutoffs) relevant documents among the top k, divided by k, even if the run has fewer documents.

    Raises
    ------
    ValueError
        A cutoff is below 1.
    """
    _check(cutoffs)
    n_topics = len(hits.n_returned)
    is_relevant = hits.grade >= level
    topic, rank = hits.topic[is_relevant], hits.rank[is_relevant]
    columns = [np.bincount(topic[rank <= k], minlength=n_topics) / k for k in cutoffs]
    return np.column_stack(columns) if columns else np.zeros((n_topics, 0))


def _check(cutoffs: Sequence[int]) -> None:
    if any(k < 1 for k in cutoffs):
        raise ValueError(f"got the cutoffs {list(cutoffs)}; each must be at least 1")


def precision_of_characters(
    hits: Hits, judged: JudgedDocuments, *, level: int, cutoffs: Sequence[int] = CUTOFFS
) -> NDArray[np.float64]:
    """(topics, cutoffs) relevant characters of the top k citations, divided by all their characters.

    Raises
    ------
    ValueError
        A cutoff is below 1.
    """
    _check(cutoffs)
    measures = [Measure("charP", level, k) for k in cutoffs]
    return _table([characters.precision(hits, judged, measure) for measure in measures], judged)


def recall_precision(
    hits: Hits, judged: JudgedDocuments, *, level: int, recalls: Sequence[float] = RECALLS
) -> NDArray[np.float64]:
    """(topics, recalls) interpolated precision: the highest precision at this level of recall or above.

    Source
    ------
    Equals trec_eval's iprec_at_recall: a recall of x with R relevant documents is reached with round(x R) of them.
    """
    retrieved, n_relevant = relevant(hits, level), judged.n_graded(level)
    points = [interpolated_precision(retrieved, recall_points(recall, n_relevant)) for recall in recalls]
    return _table(points, judged)


def recall_precision_of_characters(
    hits: Hits, judged: JudgedDocuments, *, level: int, recalls: Sequence[float] = RECALLS
) -> NDArray[np.float64]:
    """(topics, recalls) interpolated precision in characters, at shares of the relevant characters."""
    return _table(
        [characters.interpolated_precision(hits, judged, level, recall) for recall in recalls], judged
    )


def _table(columns: list[NDArray[np.float64]], judged: JudgedDocuments) -> NDArray[np.float64]:
    return np.column_stack(columns) if columns else np.zeros((judged.n_topics, 0))
