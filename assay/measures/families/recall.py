"""Recall at a rank."""

from assay.measures.matching import Hits, JudgedDocuments
from assay.measures.parts import counts, relevant, share, top
from assay.measures.registry import Values, kernel
from assay.protocols.measures import Measure


@kernel("R")
def recall(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Share of the relevant documents that stand among the top k.

    Source
    ------
    Equals trec_eval's recall.
    """
    return share(counts(relevant(top(hits, measure.k), measure.level)), judged.n_graded(measure.level))
