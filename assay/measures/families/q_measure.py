"""Q-measure."""

import numpy as np
from numpy.typing import NDArray

from assay.measures.kernels import Values, counts, kernel, relevant, share, sums, top
from assay.measures.matching import Hits, JudgedDocuments, position_in_topic
from assay.protocols.measures import Measure


@kernel("Q")
def q_measure(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Mean over all relevant documents of (n + beta g) / (rank + beta G) at their rank; 0 if not retrieved.

    n is the number of relevant documents up to that rank, g their total gain, and G the gain of the ideal ranking at
    that rank. The gain of a relevant document is its grade. With `beta` 0 this is average precision. With a cutoff, the
    sum is divided by k if there are more relevant documents.

    Source
    ------
    Sakai (2004), New performance metrics based on multigrade relevance, NTCIR-4; Sakai (2014), doi:10.1007/978-3-642-
    54798-0_6, for the cutoff.
    """
    beta = measure.number("beta") or 0.0
    retrieved, ideal = relevant(top(hits, measure.k), measure.level), relevant(judged.ideal, measure.level)
    n_so_far = position_in_topic(retrieved.topic, judged.n_topics) + 1
    best = _gain_at(ideal, retrieved.topic, retrieved.rank)
    terms = (n_so_far + beta * _gain_so_far(retrieved)) / (retrieved.rank + beta * best)
    n_relevant = judged.n_graded(measure.level)
    return share(
        sums(retrieved, terms), n_relevant if measure.k is None else np.minimum(n_relevant, measure.k)
    )


def _gain_so_far(hits: Hits) -> Values:
    total = np.cumsum(hits.grade)
    first = np.arange(len(hits.topic)) - position_in_topic(hits.topic, len(hits.n_returned))
    gains: Values = (total - (total - hits.grade)[first]).astype(np.float64)
    return gains


def _gain_at(ideal: Hits, topic: NDArray[np.int64], rank: NDArray[np.int64]) -> Values:
    """The gain of the ideal ranking of a topic up to a rank, which may be below its last document."""
    n_ideal = counts(ideal)
    last = np.cumsum(n_ideal)
    row = (last - n_ideal)[topic] + np.minimum(rank, n_ideal[topic]) - 1
    gains: Values = _gain_so_far(ideal)[row]
    return gains
