"""Q-measure."""

import numpy as np
from numpy.typing import NDArray

from assay.measures.matching import Hits, JudgedDocuments, position_in_topic
from assay.measures.parts import counts, relevant, share, sums, top
from assay.measures.registry import Values, kernel
from assay.protocols.measures import Measure


@kernel("Q")
def q_measure(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Mean over all relevant documents of (n + beta g) / (rank + beta G), at the rank of each that was found.

    n relevant documents with the gain g altogether were found so far; G is the gain that the best ranking has at that
    rank. The gain of a relevant document is its grade; with `beta` 0 this is average precision. A cutoff divides by k
    where there are more relevant documents.

    Source
    ------
    Sakai (2004), New performance metrics based on multigrade relevance, NTCIR-4; Sakai (2014), doi:10.1007/978-3-642-
    54798-0_6, for the cutoff.
    """
    beta = measure.number("beta") or 0.0
    found, ideal = relevant(top(hits, measure.k), measure.level), relevant(judged.ideal, measure.level)
    n_found = position_in_topic(found.topic, judged.n_topics) + 1
    best = _gain_at(ideal, found.topic, found.rank)
    terms = (n_found + beta * _gain_so_far(found)) / (found.rank + beta * best)
    n_relevant = judged.n_graded(measure.level)
    return share(sums(found, terms), n_relevant if measure.k is None else np.minimum(n_relevant, measure.k))


def _gain_so_far(hits: Hits) -> Values:
    total = np.cumsum(hits.grade)
    first = np.arange(len(hits.topic)) - position_in_topic(hits.topic, len(hits.n_returned))
    gains: Values = (total - (total - hits.grade)[first]).astype(np.float64)
    return gains


def _gain_at(ideal: Hits, topic: NDArray[np.int64], rank: NDArray[np.int64]) -> Values:
    """The gain that the ideal ranking of a topic has at a rank, which may lie below its last document."""
    n_ideal = counts(ideal)
    last = np.cumsum(n_ideal)
    row = (last - n_ideal)[topic] + np.minimum(rank, n_ideal[topic]) - 1
    gains: Values = _gain_so_far(ideal)[row]
    return gains
