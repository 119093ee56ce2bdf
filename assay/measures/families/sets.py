"""Measures of all that a run returned, whatever its order."""

import numpy as np
from numpy.typing import NDArray

from assay.measures.matching import Hits, JudgedDocuments
from assay.measures.parts import counts, relevant, share
from assay.measures.registry import Values, kernel
from assay.protocols.measures import Measure


def _found(hits: Hits, measure: Measure) -> NDArray[np.int64]:
    return counts(relevant(hits, measure.level))


@kernel("SetP", "P-hit")
def set_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Share of the documents returned that is relevant; of the best that there could be, if `relative`.

    Source
    ------
    Equals trec_eval's set_P and set_relative_P; NTCIR's MathIR tasks call it P-hit.
    """
    best = hits.n_returned
    if measure.word("relative") == "True":
        best = np.minimum(best, judged.n_graded(measure.level))
    return share(_found(hits, measure), best)


@kernel("SetR")
def set_recall(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Share of the relevant documents that was returned.

    Source
    ------
    Equals trec_eval's set_recall.
    """
    return share(_found(hits, measure), judged.n_graded(measure.level))


@kernel("SetF")
def set_f(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """(b + 1) P R / (b P + R): the harmonic mean of precision and recall, where recall has the weight b.

    Source
    ------
    Equals trec_eval's set_F, and is its first parameter what `beta` is here.
    """
    weight = measure.number("beta") or 0.0
    n_found = _found(hits, measure)
    precision, recall = share(n_found, hits.n_returned), share(n_found, judged.n_graded(measure.level))
    return share((weight + 1.0) * precision * recall, weight * precision + recall)


@kernel("SetAP")
def set_average_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Precision by recall of what was returned.

    Source
    ------
    Equals trec_eval's set_map.
    """
    n_found = _found(hits, measure).astype(np.float64)
    n_relevant = judged.n_graded(measure.level).astype(np.float64)
    return share(n_found * n_found, hits.n_returned * n_relevant)


@kernel("NumRet")
def n_returned(hits: Hits, _: JudgedDocuments, measure: Measure) -> Values:
    """Documents returned; the relevant ones among them, where a level is given.

    Source
    ------
    Equals trec_eval's num_ret and num_rel_ret.
    """
    number = _found(hits, measure) if measure.level else hits.n_returned
    return number.astype(np.float64)


@kernel("NumRel")
def n_relevant(_: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Relevant documents in the qrels.

    Source
    ------
    Equals trec_eval's num_rel.
    """
    return judged.n_graded(measure.level).astype(np.float64)
