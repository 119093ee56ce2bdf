"""Judged share of a ranking."""

import numpy as np

from assay.measures.kernels import Values, counts, kernel, share, top
from assay.measures.matching import Hits, JudgedDocuments
from assay.protocols.measures import Measure


@kernel("judged")
def judged_share(hits: Hits, _: JudgedDocuments, measure: Measure) -> Values:
    """Judged documents among the top k (or all), divided by k or by the number of documents of the run if it is less.

    Source
    ------
    Equals ir_measures' Judged. trec_eval's unj always divides by k.
    """
    n_counted = hits.n_returned if measure.k is None else np.minimum(hits.n_returned, measure.k)
    return share(counts(top(hits, measure.k)), n_counted)
