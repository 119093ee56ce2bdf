"""Measures of the set of documents that a run returned; their order does not matter."""

import numpy as np
from numpy.typing import NDArray

from assay.measures.kernels import Values, counts, relevant, share
from assay.measures.matching import Hits, JudgedDocuments
from assay.protocols.measures import Measure


def _n_relevant_returned(hits: Hits, measure: Measure) -> NDArray[np.int64]:
    """(topics,) number of relevant documents returned."""
    return counts(relevant(hits, measure.level))


def set_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Relevant share of the documents returned; with `relative`, divided by the highest possible share.

    Source
    ------
    Equals trec_eval's set_P and set_relative_P; NTCIR's MathIR tasks call it P-hit.
    """
    best = hits.n_returned
    if measure.word("relative") == "True":
        best = np.minimum(best, judged.n_graded(measure.level))
    return share(_n_relevant_returned(hits, measure), best)


def set_recall(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Share of the relevant documents that were returned.

    Source
    ------
    Equals trec_eval's set_recall.
    """
    return share(_n_relevant_returned(hits, measure), judged.n_graded(measure.level))


def set_f(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """(b + 1) P R / (b P + R): the harmonic mean of precision P and recall R, with the weight b of recall.

    Source
    ------
    Equals trec_eval's set_F; its first parameter is `beta` here.
    """
    weight = measure.number("beta") or 0.0
    n_relevant_returned = _n_relevant_returned(hits, measure)
    precision = share(n_relevant_returned, hits.n_returned)
    recall = share(n_relevant_returned, judged.n_graded(measure.level))
    return share((weight + 1.0) * precision * recall, weight * precision + recall)


def set_average_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Product of precision and recall of the documents returned.

    Source
    ------
    Equals trec_eval's set_map.
    """
    n_relevant_returned = _n_relevant_returned(hits, measure).astype(np.float64)
    n_relevant = judged.n_graded(measure.level).astype(np.float64)
    return share(n_relevant_returned * n_relevant_returned, hits.n_returned * n_relevant)


def n_returned(hits: Hits, _: JudgedDocuments, measure: Measure) -> Values:
    """Number of documents returned; with a level, of relevant documents returned.

    Source
    ------
    Equals trec_eval's num_ret and num_rel_ret.
    """
    number = _n_relevant_returned(hits, measure) if measure.level else hits.n_returned
    return number.astype(np.float64)


def n_relevant(_: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Number of relevant documents in the qrels.

    Source
    ------
    Equals trec_eval's num_rel.
    """
    return judged.n_graded(measure.level).astype(np.float64)
