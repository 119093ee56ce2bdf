"""Binary preference."""

import numpy as np

from assay.measures.kernels import Values, kernel, share, sums
from assay.measures.matching import Hits, JudgedDocuments, count_above
from assay.protocols.measures import Measure


@kernel("bpref", "GMbpref")
def bpref(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Mean over all relevant documents of 1 - min(n, R) / min(N, R), with n judged nonrelevant documents above each.

    R and N are the numbers of relevant and of judged nonrelevant documents of the topic. Unjudged documents do not
    count, so the primed measure has the same value.

    Source
    ------
    Buckley & Voorhees (2004), doi:10.1145/1008992.1009000, as trec_eval computes bpref.
    """
    is_relevant = hits.grade >= measure.level
    n_relevant, n_nonrelevant = judged.n_graded(measure.level), judged.n_graded(0, measure.level)
    n_above = count_above(hits.topic, judged.n_topics, ~is_relevant)
    most = np.minimum(n_relevant, n_nonrelevant)[hits.topic]
    capped = np.minimum(n_above, n_relevant[hits.topic])
    lost = np.divide(capped, most, out=np.zeros(len(hits.topic)), where=is_relevant & (n_above > 0))
    return share(sums(hits, np.where(is_relevant, 1.0 - lost, 0.0)), n_relevant)
