"""Precision at rank R."""

from assay.measures.kernels import Values, counts, kernel, relevant, share
from assay.measures.matching import Hits, JudgedDocuments
from assay.protocols.measures import Measure


@kernel("Rprec")
def r_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Precision at rank R, the number of relevant documents of the topic, even if the run has fewer documents.

    Source
    ------
    Equals trec_eval's Rprec.
    """
    n_relevant = judged.n_graded(measure.level)
    within = hits.kept(hits.rank <= n_relevant[hits.topic])
    return share(counts(relevant(within, measure.level)), n_relevant)
