"""Curves of a run, per topic: precision at cutoffs, and interpolated precision at levels of recall.

Both count documents, or characters of citations (see `assay.measures.characters`).

The functions take hits and judged documents, like the kernels of `assay.measures`. Pass `hits.judged_only()` for curves
without unjudged documents. A topic that has no relevant documents, or that is missing from the run, has 0.0 everywhere.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.measures import characters, kernels
from assay.measures.kernels import interpolated_precision, recall_points, relevant
from assay.measures.matching import Hits, JudgedDocuments
from assay.protocols.measures import Measure

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
RECALLS = tuple(tenth / 10 for tenth in range(11))


def precision_at(
    hits: Hits,
    judged: JudgedDocuments,
    *,
    level: int,
    cutoffs: Sequence[int] = CUTOFFS,
    in_characters: bool = False,
) -> NDArray[np.float64]:
    """(topics, cutoffs) relevant documents among the top k, divided by k, even if the run has fewer documents.

    In characters: relevant characters of the top k citations, divided by all their characters.

    Raises ValueError: a cutoff is below 1.
    """
    if any(k < 1 for k in cutoffs):
        raise ValueError(f"got the cutoffs {list(cutoffs)}; each must be at least 1")
    family, kernel = ("charP", characters.precision) if in_characters else ("P", kernels.precision)
    columns = [kernel(hits, judged, Measure(family, level, k)) for k in cutoffs]
    return np.column_stack([np.zeros((judged.n_topics, 0)), *columns])


def recall_precision(
    hits: Hits,
    judged: JudgedDocuments,
    *,
    level: int,
    recalls: Sequence[float] = RECALLS,
    in_characters: bool = False,
) -> NDArray[np.float64]:
    """(topics, recalls) interpolated precision: the highest precision at this level of recall or above.

    Source:
        Equals trec_eval's iprec_at_recall: a recall of x with R relevant documents is reached with round(x R) of them.
    """
    if in_characters:
        columns = [characters.interpolated_precision(hits, judged, level, recall) for recall in recalls]
    else:
        retrieved, n_relevant = relevant(hits, level), judged.n_graded(level)
        columns = [interpolated_precision(retrieved, recall_points(recall, n_relevant)) for recall in recalls]
    return np.column_stack([np.zeros((judged.n_topics, 0)), *columns])
