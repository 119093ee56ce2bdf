"""Utility of the top k ranks: 1 for each relevant document, less a cost for each of the others, divided by k."""

import numpy as np
from numpy.typing import NDArray

from assay.extensions import Extension
from assay.measures.matching import Hits, JudgedDocuments
from assay.protocols.measures import Measure, MeasureFamily, Parameter


def utility(hits: Hits, judged: JudgedDocuments, measure: Measure) -> NDArray[np.float64]:
    """(topics,) the utility in each topic of the qrels; 0.0 for a topic that is missing from the run."""
    k, cost = measure.k or 1, measure.number("cost") or 0.0
    is_relevant = (hits.rank <= k) & (hits.grade >= measure.level)
    n_relevant = np.bincount(hits.topic[is_relevant], minlength=judged.n_topics)
    n_returned = np.minimum(hits.n_returned, k)
    return (n_relevant - cost * (n_returned - n_relevant)) / k


EXTENSION = Extension(
    name="utility",
    title="Utility",
    adds=(
        MeasureFamily(
            name="Utility",
            title="relevant documents among the top {k}, less the cost of the others",
            compute="assay_utility:utility",
            has_level=True,
            cutoff="required",
            has_prime=True,
            parameters={"cost": Parameter(0.5, low=0.0, high=1.0)},
            least=-1.0,
        ),
    ),
)
