"""Interpolated precision at a level of recall."""

import numpy as np
from numpy.typing import NDArray

from assay.measures.kernels import Values, counts, relevant
from assay.measures.matching import Hits, JudgedDocuments
from assay.protocols.measures import Measure


def precision_at_recall(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """The highest precision at any rank from which on that share of the relevant documents is retrieved.

    Source
    ------
    Equals iprec_at_recall of trec_eval 10.0; 9.x rounds that share up from a tenth.
    """
    points = recall_points(float(measure.number("recall") or 0.0), judged.n_graded(measure.level))
    return interpolated_precision(relevant(hits, measure.level), points)


def recall_points(recall: float, n_relevant: NDArray[np.int64]) -> NDArray[np.int64]:
    """(topics,) number of relevant documents that make up a share of them, rounded; a half is rounded up.

    >>> recall_points(0.5, np.array([1, 4])).tolist()
    [1, 2]
    """
    exact = recall * n_relevant
    below = np.floor(exact)
    points: NDArray[np.int64] = (below + (exact - below >= 0.5)).astype(np.int64)
    return points


def interpolated_precision(retrieved: Hits, n_wanted: NDArray[np.int64]) -> Values:
    """(topics,) the highest precision at any rank with `n_wanted` relevant documents; 0.0 if there is no such rank.

    Parameters
    ----------
    retrieved : the relevant documents of the run.
    n_wanted : (topics,) number of relevant documents that must be retrieved.
    """
    n_retrieved = counts(retrieved)
    end = np.cumsum(n_retrieved)
    n_so_far = np.arange(len(retrieved.topic)) - (end - n_retrieved)[retrieved.topic] + 1
    precision = np.append(n_so_far / retrieved.rank, 0.0)
    is_reached = (n_retrieved > 0) & (n_wanted <= n_retrieved)
    start = (end - n_retrieved + np.maximum(n_wanted, 1) - 1)[is_reached]
    values = np.zeros(len(n_retrieved))
    if len(start):
        bounds = np.column_stack((start, end[is_reached])).ravel()
        values[is_reached] = np.maximum.reduceat(precision, bounds)[::2]
    return values
