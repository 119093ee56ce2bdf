"""Interpolated precision at a level of recall."""

import numpy as np
from numpy.typing import NDArray

from assay.measures.matching import Hits, JudgedDocuments
from assay.measures.parts import counts, relevant
from assay.measures.registry import Values, kernel
from assay.protocols.measures import Measure


@kernel("IPrec")
def precision_at_recall(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """The highest precision at any rank from which that share of the relevant documents is found.

    Source
    ------
    Equals iprec_at_recall of trec_eval 10.0; 9.x rounds the share of the relevant documents up from a tenth.
    """
    points = recall_points(float(measure.number("recall") or 0.0), judged.n_graded(measure.level))
    return interpolated_precision(relevant(hits, measure.level), points)


def recall_points(recall: float, n_relevant: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many relevant documents make up that share of them, to the nearest; a half is rounded up. Shape (topics,)."""
    exact = recall * n_relevant
    below = np.floor(exact)
    points: NDArray[np.int64] = (below + (exact - below >= 0.5)).astype(np.int64)
    return points


def interpolated_precision(found: Hits, n_wanted: NDArray[np.int64]) -> Values:
    """The highest precision at any rank where `n_wanted` relevant documents are found; 0.0 where there is none.

    Parameters
    ----------
    found : the relevant documents of the run.
    n_wanted : (topics,)
    """
    n_found = counts(found)
    end = np.cumsum(n_found)
    place = np.arange(len(found.topic)) - (end - n_found)[found.topic] + 1
    precision = np.append(place / found.rank, 0.0)
    is_reached = (n_found > 0) & (n_wanted <= n_found)
    start = (end - n_found + np.maximum(n_wanted, 1) - 1)[is_reached]
    values = np.zeros(len(n_found))
    if len(start):
        bounds = np.column_stack((start, end[is_reached])).ravel()
        values[is_reached] = np.maximum.reduceat(precision, bounds)[::2]
    return values
