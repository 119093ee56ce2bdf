"""How much of a ranking is judged."""

import numpy as np

from assay.measures.matching import Hits, JudgedDocuments
from assay.measures.parts import counts, share, top
from assay.measures.registry import Values, kernel
from assay.protocols.measures import Measure


@kernel("judged")
def judged_share(hits: Hits, _: JudgedDocuments, measure: Measure) -> Values:
    """Judged documents among the top k, or among all; divided by k, or by what the run has if that is less.

    Source
    ------
    Equals ir_measures' Judged. trec_eval's unj divides by k, always.
    """
    n_looked_at = hits.n_returned if measure.k is None else np.minimum(hits.n_returned, measure.k)
    return share(counts(top(hits, measure.k)), n_looked_at)
