"""Inferred average precision, for pools of which only a sample was judged."""

import numpy as np

from assay.measures.kernels import Values, kernel, share, sums
from assay.measures.matching import Hits, JudgedDocuments, count_above
from assay.protocols.measures import Measure

EPSILON = 1e-5


@kernel("infAP")
def inferred_average_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Average precision, with pooled documents without a grade expected to be as relevant as the judged ones.

    Such documents have a negative grade in the qrels. Documents that are not in the qrels are not relevant.

    Source
    ------
    Yilmaz & Aslam (2006), doi:10.1145/1183614.1183633; equals trec_eval's infAP.
    """
    is_relevant = hits.grade >= measure.level
    n_relevant_above = count_above(hits.topic, judged.n_topics, is_relevant)
    n_judged_above = n_relevant_above + count_above(hits.topic, judged.n_topics, ~is_relevant)
    n_pooled_above = n_judged_above + (0 if hits.n_pooled_above is None else hits.n_pooled_above)
    n_above = (hits.rank - 1).astype(np.float64)
    expected = (n_relevant_above + EPSILON) / (n_judged_above + 2 * EPSILON)
    in_pool = share(n_pooled_above, n_above)
    terms = 1.0 / (n_above + 1.0) + n_above / (n_above + 1.0) * in_pool * expected
    return share(sums(hits, np.where(is_relevant, terms, 0.0)), judged.n_graded(measure.level))
