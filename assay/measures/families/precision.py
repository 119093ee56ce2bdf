"""Precision at a rank."""

from assay.evaluation.matching import Hits, JudgedDocuments
from assay.measures.names import Measure
from assay.measures.parts import counts, relevant, top
from assay.measures.registry import Values, kernel


@kernel("P")
def precision(hits: Hits, _: JudgedDocuments, measure: Measure) -> Values:
    """Relevant documents among the top k, divided by k however few the run has.

    Source
    ------
    Equals trec_eval's P.
    """
    return counts(relevant(top(hits, measure.k), measure.level)) / float(measure.k or 1)
