"""Precision at rank R."""

from assay.measures.matching import Hits, JudgedDocuments
from assay.measures.parts import counts, relevant, share
from assay.measures.registry import Values, kernel
from assay.protocols.measures import Measure


@kernel("Rprec")
def r_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Precision at rank R, where R is the number of the topic's relevant documents, however few the run has.

    Source
    ------
    Equals trec_eval's Rprec.
    """
    n_relevant = judged.n_graded(measure.level)
    within = hits.kept(hits.rank <= n_relevant[hits.topic])
    return share(counts(relevant(within, measure.level)), n_relevant)
