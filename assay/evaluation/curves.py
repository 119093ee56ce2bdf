"""What a run finds on its way down: precision at cutoffs, and the recall-precision curve, per topic.

Kernels take hits and judged documents, as those of `assay.measures` do; give `hits.judged_only()` for the curves of
judged documents alone. A topic without relevant documents, or that the run has not, is 0.0 throughout.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.measures.families.interpolated import interpolated_precision, recall_points
from assay.measures.matching import Hits, JudgedDocuments
from assay.measures.parts import relevant

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
RECALLS = tuple(tenth / 10 for tenth in range(11))


def precision_at(hits: Hits, *, level: int, cutoffs: Sequence[int] = CUTOFFS) -> NDArray[np.float64]:
    """(topics, cutoffs) relevant documents among the top k, divided by k however few the run has.

    Raises
    ------
    ValueError
        A cutoff is below 1.
    """
    if any(k < 1 for k in cutoffs):
        raise ValueError(f"the cutoffs are {list(cutoffs)}; each must be at least 1")
    n_topics = len(hits.n_returned)
    is_relevant = hits.grade >= level
    topic, rank = hits.topic[is_relevant], hits.rank[is_relevant]
    columns = [np.bincount(topic[rank <= k], minlength=n_topics) / k for k in cutoffs]
    return np.column_stack(columns) if columns else np.zeros((n_topics, 0))


def recall_precision(
    hits: Hits, judged: JudgedDocuments, *, level: int, recalls: Sequence[float] = RECALLS
) -> NDArray[np.float64]:
    """(topics, recalls) interpolated precision: the best at this recall or any beyond it.

    Source
    ------
    Equals trec_eval's iprec_at_recall: a recall x of R relevant documents is reached with round(x R) of them.
    """
    found, n_relevant = relevant(hits, level), judged.n_graded(level)
    points = [interpolated_precision(found, recall_points(recall, n_relevant)) for recall in recalls]
    return np.column_stack(points) if points else np.zeros((judged.n_topics, 0))
