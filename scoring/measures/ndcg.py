"""Normalised discounted cumulative gain."""

import numpy as np

from protocols.measure_names import Measure
from scoring.matching import Hits, JudgedDocuments
from scoring.measures.parts import discounts, share, sums, top
from scoring.measures.registry import Values, kernel


@kernel("nDCG")
def ndcg(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Normalised discounted cumulative gain, of the top k ranks where k is given.

    The discount is log2(rank + 1); the ideal is over all judged documents, the same for a primed measure. The level
    has no part in it.

    Source
    ------
    Järvelin & Kekäläinen (2002), doi:10.1145/582415.582418; equals trec_eval's ndcg and ndcg_cut.
    """
    best = judged.remember(("ideal dcg", measure.k), lambda: dcg(top(judged.ideal, measure.k)))
    return share(dcg(top(hits, measure.k)), best)


def dcg(hits: Hits) -> Values:
    """Discounted cumulative gain of each topic, where the gain is the grade."""
    return sums(hits, hits.grade / discounts(int(np.max(hits.rank, initial=1)))[hits.rank])
