"""Precision at a rank."""

from assay.measures.kernels import Values, counts, kernel, relevant, top
from assay.measures.matching import Hits, JudgedDocuments
from assay.protocols.measures import Measure


@kernel("P")
def precision(hits: Hits, _: JudgedDocuments, measure: Measure) -> Values:
    """Relevant documents among the top k, divided by k, even if the run has fewer documents.

    Source
    ------
    Equals trec_eval's P.
    """
    return counts(relevant(top(hits, measure.k), measure.level)) / float(measure.k or 1)
