"""Precision at a rank."""

from assay.measures.matching import Hits, JudgedDocuments
from assay.measures.parts import counts, relevant, top
from assay.measures.registry import Values, kernel
from assay.protocols.measures import Measure


@kernel("P")
def precision(hits: Hits, _: JudgedDocuments, measure: Measure) -> Values:
    """Relevant documents among the top k, divided by k however few the run has.

    Source
    ------
    Equals trec_eval's P.
    """
    return counts(relevant(top(hits, measure.k), measure.level)) / float(measure.k or 1)
