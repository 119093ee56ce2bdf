"""Rank-biased precision and its residual."""

import numpy as np

from assay.measures.kernels import Values, kernel, sums, top
from assay.measures.matching import Hits, JudgedDocuments
from assay.protocols.measures import Measure


@kernel("RBP")
def rank_biased_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Gain per document of a reader who goes on to the next rank with probability p: (1 - p) sum of g p^(rank - 1).

    The gain g is the grade divided by the highest grade of the topic's qrels, or by `max_rel`. With a level, it is 1
    for grades from the level and 0 for others.

    Source
    ------
    Moffat & Zobel (2008), doi:10.1145/1416950.1416952. trec_eval's rbp has p = 0.9 and the same definition for
    grades, but reads uninitialized memory there.
    """
    retrieved = top(hits, measure.k)
    if measure.level:
        gain = (retrieved.grade >= measure.level).astype(np.float64)
    else:
        highest = judged.remember("highest grade", lambda: _highest_grades(judged))
        fixed = measure.number("max_rel")
        gain = np.minimum(retrieved.grade / (highest[retrieved.topic] if fixed is None else fixed), 1.0)
    persistence = measure.number("p") or 0.0
    return (1.0 - persistence) * sums(retrieved, gain * persistence ** (retrieved.rank - 1))


def _highest_grades(judged: JudgedDocuments) -> Values:
    highest = np.ones(judged.n_topics)
    np.maximum.at(highest, judged.topic, judged.grade)
    return highest


@kernel("RBPresid")
def residual(hits: Hits, _: JudgedDocuments, measure: Measure) -> Values:
    """How much higher rank-biased precision could be, if all unjudged documents and all further ranks were relevant.

    Source
    ------
    Moffat & Zobel (2008), doi:10.1145/1416950.1416952. trec_eval's rbp_resid is 0 where every document is judged.
    """
    persistence = measure.number("p") or 0.0
    retrieved = top(hits, measure.k)
    known: Values = np.power(persistence, retrieved.rank - 1, dtype=np.float64)
    return 1.0 - (1.0 - persistence) * sums(retrieved, known)
