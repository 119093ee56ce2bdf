"""Expected reciprocal rank."""

import numpy as np

from assay.measures.matching import Hits, JudgedDocuments
from assay.measures.parts import sums, top
from assay.measures.registry import Values, kernel
from assay.protocols.measures import Measure


@kernel("ERR")
def expected_reciprocal_rank(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """1 / rank at which a reader stops who is content with a document of grade g with (2^g - 1) / 2^max_rel.

    `max_rel` is the highest grade of the qrels, unless it is given; gdeval, which ir_measures calls, has 4.

    Source
    ------
    Chapelle et al. (2009), doi:10.1145/1645953.1646033.
    """
    found = top(hits, measure.k)
    highest = measure.number("max_rel") or float(np.max(judged.grade, initial=1))
    content = np.minimum((np.exp2(found.grade) - 1.0) / np.exp2(highest), 1.0)
    unsure = np.ones(len(content))  # the chance that the reader comes as far as this hit
    for row in range(1, len(content)):
        if found.topic[row] == found.topic[row - 1]:
            unsure[row] = unsure[row - 1] * (1.0 - content[row - 1])
    return sums(found, unsure * content / found.rank)
