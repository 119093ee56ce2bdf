"""What a run finds on its way down: precision at cutoffs, and the recall-precision curve, per topic.

Kernels take hits and judged documents, as those of `scoring.measures` do; give `hits.judged_only()` for the curves of
judged documents alone. A topic without relevant documents, or that the run has not, is 0.0 throughout.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scoring.matching import Hits, JudgedDocuments, position_in_topic

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
    n_topics = judged.n_topics
    is_relevant = hits.grade >= level
    topic, rank = hits.topic[is_relevant], hits.rank[is_relevant]
    precision = (position_in_topic(topic, n_topics) + 1) / rank
    ends = np.cumsum(np.bincount(topic, minlength=n_topics))
    n_relevant = judged.n_graded(level)
    curve = np.zeros((n_topics, len(recalls)))
    for place, (start, end) in enumerate(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)):
        best = np.maximum.accumulate(precision[start:end][::-1])[::-1]
        # halves go up, as in C's lround; without a document to reach, the best of all
        needed = np.maximum(np.floor(np.array(recalls) * n_relevant[place] + 0.5).astype(np.int64), 1)
        is_reached = needed <= len(best)
        curve[place, is_reached] = best[needed[is_reached] - 1]
    return curve
