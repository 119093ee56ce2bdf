"""Expected reciprocal rank."""

import numpy as np

from assay.measures.kernels import Values, kernel, sums, top
from assay.measures.matching import Hits, JudgedDocuments
from assay.protocols.measures import Measure


@kernel("ERR")
def expected_reciprocal_rank(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Expected value of 1 / rank at which a reader stops, who is satisfied by a document of grade g with probability
    (2^g - 1) / 2^max_rel.

    The default of `max_rel` is the highest grade of the qrels. gdeval, which ir_measures calls, uses 4.

    Source
    ------
    Chapelle et al. (2009), doi:10.1145/1645953.1646033.
    """
    retrieved = top(hits, measure.k)
    highest = measure.number("max_rel") or float(np.max(judged.grade, initial=1))
    satisfied = np.minimum((np.exp2(retrieved.grade) - 1.0) / np.exp2(highest), 1.0)
    reached = np.ones(len(satisfied))  # the probability that the reader reaches this hit
    for row in range(1, len(satisfied)):
        if retrieved.topic[row] == retrieved.topic[row - 1]:
            reached[row] = reached[row - 1] * (1.0 - satisfied[row - 1])
    return sums(retrieved, reached * satisfied / retrieved.rank)
