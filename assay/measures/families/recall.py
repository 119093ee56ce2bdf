"""Recall at a rank."""

from assay.measures.kernels import Values, counts, kernel, relevant, share, top
from assay.measures.matching import Hits, JudgedDocuments
from assay.protocols.measures import Measure


@kernel("R")
def recall(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Share of the relevant documents that are among the top k.

    Source
    ------
    Equals trec_eval's recall.
    """
    return share(counts(relevant(top(hits, measure.k), measure.level)), judged.n_graded(measure.level))
