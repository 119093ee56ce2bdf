"""Reciprocal rank."""

import numpy as np

from assay.measures.matching import Hits, JudgedDocuments, position_in_topic
from assay.measures.parts import relevant, sums, top
from assay.measures.registry import Values, kernel
from assay.protocols.measures import Measure


@kernel("RR")
def reciprocal_rank(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """1 / rank of the first relevant document, among the top k where k is given.

    Source
    ------
    Equals trec_eval's recip_rank.
    """
    found = relevant(top(hits, measure.k), measure.level)
    is_first = position_in_topic(found.topic, judged.n_topics) == 0
    return sums(found, np.where(is_first, 1.0 / found.rank, 0.0))
