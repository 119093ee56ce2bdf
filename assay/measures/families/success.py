"""Whether anything relevant was found."""

import numpy as np

from assay.measures.matching import Hits, JudgedDocuments
from assay.measures.parts import counts, relevant, top
from assay.measures.registry import Values, kernel
from assay.protocols.measures import Measure


@kernel("Success")
def success(hits: Hits, _: JudgedDocuments, measure: Measure) -> Values:
    """1 if there is a relevant document among the top k, else 0.

    Source
    ------
    Equals trec_eval's success.
    """
    return (counts(relevant(top(hits, measure.k), measure.level)) > 0).astype(np.float64)
