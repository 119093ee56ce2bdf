"""Normalized discounted cumulative gain."""

import numpy as np
from numpy.typing import NDArray

from assay.measures.kernels import Values, discounts, kernel, share, sums, top
from assay.measures.matching import Hits, JudgedDocuments
from assay.protocols.measures import Measure


@kernel("nDCG")
def ndcg(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Normalized discounted cumulative gain of the top k ranks, or of all ranks.

    The gain is the grade, or 2^grade - 1 with `dcg=exp-log2`; the discount is log2(rank + 1). The ideal ranking has all
    judged documents, also for a primed measure. The level does not apply.

    Source
    ------
    Järvelin & Kekäläinen (2002), doi:10.1145/582415.582418; equals trec_eval's ndcg and ndcg_cut. Exponential
    gain: Burges et al. (2005), doi:10.1145/1102351.1102363.
    """
    formula = measure.word("dcg")
    best = judged.remember(
        ("ideal dcg", measure.k, formula), lambda: _dcg(top(judged.ideal, measure.k), formula)
    )
    return share(_dcg(top(hits, measure.k), formula), best)


def _dcg(hits: Hits, formula: str) -> Values:
    gains: NDArray[np.float64] | NDArray[np.int64]
    gains = np.exp2(hits.grade) - 1.0 if formula == "exp-log2" else hits.grade
    return sums(hits, gains / discounts(int(np.max(hits.rank, initial=1)))[hits.rank])
