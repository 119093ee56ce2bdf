"""Success: whether a relevant document was retrieved."""

import numpy as np

from assay.measures.kernels import Values, counts, kernel, relevant, top
from assay.measures.matching import Hits, JudgedDocuments
from assay.protocols.measures import Measure


@kernel("Success")
def success(hits: Hits, _: JudgedDocuments, measure: Measure) -> Values:
    """1 if there is a relevant document among the top k, 0 otherwise.

    Source
    ------
    Equals trec_eval's success.
    """
    return (counts(relevant(top(hits, measure.k), measure.level)) > 0).astype(np.float64)
