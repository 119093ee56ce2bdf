"""Reciprocal rank."""

import numpy as np

from assay.measures.kernels import Values, kernel, relevant, sums, top
from assay.measures.matching import Hits, JudgedDocuments, position_in_topic
from assay.protocols.measures import Measure


@kernel("RR")
def reciprocal_rank(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """1 / rank of the first relevant document among the top k, or among all.

    Source
    ------
    Equals trec_eval's recip_rank.
    """
    retrieved = relevant(top(hits, measure.k), measure.level)
    is_first = position_in_topic(retrieved.topic, judged.n_topics) == 0
    return sums(retrieved, np.where(is_first, 1.0 / retrieved.rank, 0.0))
