"""D-nDCG and D♯-nDCG: measures of intents, which qrels call subtopics.

Source:
    Sakai and Song (2011), doi:10.1145/2009916.2010055. The gains are the grades, the intents of a topic are equally
    probable, and only those with a relevant document count.
"""

import numpy as np

from assay.measures.diversity import subtopic_recall, subtopics_of
from assay.measures.kernels import Values, discounts, share, sums, top
from assay.measures.matching import Hits, JudgedDocuments, position_in_topic, remembered
from assay.protocols.measures import Measure


@remembered
def global_gains(judged: JudgedDocuments, level: int) -> Values:
    """(rows,) the sum of the grades of each document of the qrels over its intents, divided by their number."""
    gains = np.zeros(len(judged.topic))
    for row, words in enumerate(judged.parts_of("subtopics")):
        grades = [int(word.rpartition(b":")[2]) for word in words.split()]
        gains[row] = sum(grade for grade in grades if grade >= level)
    n_intents = np.bincount(subtopics_of(judged, level).topic, minlength=judged.n_topics)
    return share(gains, n_intents[judged.topic])


def ndcg_of_intents(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """(topics,) nDCG of the top k ranks, with the global gain as the gain."""
    best = judged.remember(("ideal global gain", measure.k), lambda: _best(judged, measure))
    retrieved = top(hits, measure.k)
    assert retrieved.entry is not None
    gains = global_gains(judged, measure.level)[retrieved.entry]
    depth = int(np.max(retrieved.rank, initial=1))
    return share(sums(retrieved, gains / discounts(depth)[retrieved.rank]), best)


def _best(judged: JudgedDocuments, measure: Measure) -> Values:
    gains = global_gains(judged, measure.level)
    order = np.lexsort((-gains, judged.topic))
    topic = judged.topic[order]
    rank = position_in_topic(topic, judged.n_topics) + 1
    is_counted = np.ones(len(rank), dtype=bool) if measure.k is None else rank <= measure.k
    terms = gains[order] / discounts(int(np.max(rank, initial=1)))[rank]
    best = np.bincount(topic[is_counted], weights=terms[is_counted], minlength=judged.n_topics)
    return best.astype(np.float64)


def with_recall(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """(topics,) gamma times the share of the intents that are found (I-rec), plus 1 - gamma times D-nDCG."""
    gamma = measure.number("gamma") or 0.0
    recall = subtopic_recall(hits, judged, measure)
    return gamma * recall + (1 - gamma) * ndcg_of_intents(hits, judged, measure)
