"""Recall at a rank."""

from protocols.measure_names import Measure
from scoring.matching import Hits, JudgedDocuments
from scoring.measures.parts import counts, relevant, share, top
from scoring.measures.registry import Values, kernel


@kernel("R")
def recall(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Share of the relevant documents that stand among the top k.

    Source
    ------
    Equals trec_eval's recall.
    """
    return share(counts(relevant(top(hits, measure.k), measure.level)), judged.n_graded(measure.level))
