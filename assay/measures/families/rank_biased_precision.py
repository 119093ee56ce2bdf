"""Rank-biased precision, and what it leaves open."""

import numpy as np

from assay.measures.matching import Hits, JudgedDocuments
from assay.measures.parts import sums, top
from assay.measures.registry import Values, kernel
from assay.protocols.measures import Measure


@kernel("RBP")
def rank_biased_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """What a reader gains for each document who goes on to the next with the chance p: (1 - p) sum of g p^(rank - 1).

    The gain g is the grade by the highest grade of the topic's qrels, or by `max_rel`; with a level it is 1 from there.

    Source
    ------
    Moffat & Zobel (2008), doi:10.1145/1416950.1416952. trec_eval's rbp has p = 0.9 and means the same for grades, but
    reads memory there that it never wrote.
    """
    found = top(hits, measure.k)
    if measure.level:
        gain = (found.grade >= measure.level).astype(np.float64)
    else:
        highest = judged.remember("highest grade", lambda: _highest_grades(judged))
        fixed = measure.number("max_rel")
        gain = np.minimum(found.grade / (highest[found.topic] if fixed is None else fixed), 1.0)
    persistence = measure.number("p") or 0.0
    return (1.0 - persistence) * sums(found, gain * persistence ** (found.rank - 1))


def _highest_grades(judged: JudgedDocuments) -> Values:
    highest = np.ones(judged.n_topics)
    np.maximum.at(highest, judged.topic, judged.grade)
    return highest


@kernel("RBPresid")
def residual(hits: Hits, _: JudgedDocuments, measure: Measure) -> Values:
    """How much higher rank-biased precision could be: if all were relevant that is unjudged, or below the run's end.

    Source
    ------
    Moffat & Zobel (2008), doi:10.1145/1416950.1416952. trec_eval's rbp_resid is 0 where every document is judged.
    """
    persistence = measure.number("p") or 0.0
    found = top(hits, measure.k)
    known: Values = np.power(persistence, found.rank - 1, dtype=np.float64)
    return 1.0 - (1.0 - persistence) * sums(found, known)
