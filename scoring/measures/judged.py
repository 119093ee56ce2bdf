"""How much of a ranking is judged."""

import numpy as np

from protocols.measure_names import Measure
from scoring.matching import Hits, JudgedDocuments
from scoring.measures.parts import counts, share, top
from scoring.measures.registry import Values, kernel


@kernel("judged")
def judged_share(hits: Hits, _: JudgedDocuments, measure: Measure) -> Values:
    """Judged documents among the top k, divided by k or by what the run has, if that is less.

    Source
    ------
    Equals ir_measures' Judged. trec_eval's unj divides by k, always.
    """
    return share(counts(top(hits, measure.k)), np.minimum(hits.n_returned, measure.k or 1))
