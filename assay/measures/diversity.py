"""Measures of subtopics: how many of the meanings of a topic a run finds early.

A document is relevant to a subtopic from the level of the measure. Its gain is the sum over its subtopics of
(1 - alpha)^n, with n the documents above it that are relevant to the subtopic. Only subtopics with a relevant document
count. The best ranking takes the document with the largest gain next, among equal ones that with the larger docno. The
bound is a document at each rank that is relevant to all subtopics.

Source:
    Clarke et al. (2008), doi:10.1145/1390334.1390446 (alpha-nDCG); Clarke, Kolla & Vechtomova (2009),
    doi:10.1007/978-3-642-04417-5_17 (NRBP); Chapelle et al. (2011), doi:10.1007/s10791-011-9167-7 (ERR-IA). Values
    equal those of ndeval 4.5 with runs sorted by score, except at rank 1, where ndeval leaves alpha-DCG and ERR-IA
    as sums.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.measures.kernels import Values, counts, discounts, share, sums, top
from assay.measures.matching import Hits, JudgedDocuments, position_in_topic, remembered
from assay.protocols.measures import Measure
from assay.tables import natural

Numbers = NDArray[np.int64]


class Subtopics(NamedTuple):
    """The subtopics to which documents of qrels are relevant.

    Args:
        entry: (pairs,) row of the qrels, ascending.
        subtopic: (pairs,) number of the subtopic, in the order of topics and then names.
        topic: (subtopics,) index of its topic.
        first: (rows + 1,) row i has the pairs from first[i] up to first[i + 1].
    """

    entry: Numbers
    subtopic: Numbers
    topic: Numbers
    first: Numbers

    def n_relevant(self) -> Numbers:
        """(subtopics,) number of relevant documents."""
        return np.bincount(self.subtopic, minlength=len(self.topic))


class Pairs(NamedTuple):
    """The retrieved documents of each subtopic, ordered by topic and rank: `hit` is (pairs,) the place in the hits."""

    hit: Numbers
    subtopic: Numbers
    above: Numbers  # of the same subtopic


@remembered
def subtopics_of(judged: JudgedDocuments, level: int) -> Subtopics:
    """The subtopics of qrels, from a level."""
    relevant: list[tuple[int, int, tuple[Any, bytes]]] = []  # topic, row, subtopic
    rows = zip(judged.topic.tolist(), judged.parts_of("subtopics"), strict=True)
    for entry, (topic, words) in enumerate(rows):
        for word in words.split():
            name, _, grade = word.rpartition(b":")
            if int(grade) >= level:
                relevant.append((topic, entry, (natural(name.decode()), name)))
    names = sorted({(topic, name) for topic, _, name in relevant})
    number = {name: n for n, name in enumerate(names)}
    numbered = sorted((entry, number[topic, name]) for topic, entry, name in relevant)
    entries, subtopics = np.array(numbered, dtype=np.int64).reshape(-1, 2).T
    first = np.searchsorted(entries, np.arange(len(judged.topic) + 1)).astype(np.int64)
    return Subtopics(entries, subtopics, np.array([topic for topic, _ in names], dtype=np.int64), first)


def _pairs(hits: Hits, subtopics: Subtopics) -> Pairs:
    assert hits.entry is not None  # hits of a run, or of the best ranking
    n = subtopics.first[hits.entry + 1] - subtopics.first[hits.entry]
    hit = np.repeat(np.arange(len(hits.topic)), n)
    start = np.repeat(np.cumsum(n) - n, n)
    subtopic = subtopics.subtopic[np.repeat(subtopics.first[hits.entry], n) + np.arange(len(hit)) - start]
    order = np.argsort(subtopic, kind="stable")
    above = np.empty(len(hit), dtype=np.int64)
    above[order] = position_in_topic(subtopic[order], len(subtopics.topic))
    return Pairs(hit, subtopic, above)


def _powers(base: float, n: int) -> Values:
    """(n,) 1, base, base^2, ..., multiplied one by one."""
    powers: Values = np.cumprod(np.append(1.0, np.full(n - 1, base))).astype(np.float64)
    return powers


def _gains(hits: Hits, judged: JudgedDocuments, level: int, alpha: float) -> Values:
    """(hits,) the gain of each document."""
    pairs = _pairs(hits, subtopics_of(judged, level))
    worth = _powers(1.0 - alpha, int(np.max(pairs.above, initial=0)) + 1)
    return np.bincount(pairs.hit, weights=worth[pairs.above], minlength=len(hits.topic)).astype(np.float64)


@remembered
def best_ranking(judged: JudgedDocuments, level: int, alpha: float) -> Hits:
    """The relevant documents of qrels in the greedy order."""
    subtopics, order = subtopics_of(judged, level), []
    documents = np.unique(subtopics.entry)[::-1]  # a topic's rows are sorted by docno: the largest first
    for topic in range(judged.n_topics):
        order += _greedy_order(documents[judged.topic[documents] == topic], subtopics, alpha)
    entry = np.array(order, dtype=np.int64)
    place = judged.topic[entry]
    rank = position_in_topic(place, judged.n_topics) + 1
    n = np.bincount(place, minlength=judged.n_topics)
    return Hits(place, rank, judged.grade[entry], n, entry=entry)


def _greedy_order(documents: Numbers, subtopics: Subtopics, alpha: float) -> list[int]:
    """The documents of a topic, each time the first of those with the largest gain."""
    sets = [subtopics.subtopic[slice(*subtopics.first[row : row + 2])] for row in documents.tolist()]
    names = np.unique(np.concatenate(sets)) if sets else np.zeros(0, dtype=np.int64)
    is_relevant = np.array([np.isin(names, subset) for subset in sets]).reshape(len(sets), len(names)).T
    worth, order = np.ones(len(names)), []
    gain = np.where(is_relevant, worth[:, np.newaxis], 0.0).sum(axis=0)
    for _ in range(len(documents)):
        chosen = int(np.argmax(gain))
        order.append(int(documents[chosen]))
        worth[is_relevant[:, chosen]] *= 1.0 - alpha
        gain = np.where(is_relevant, worth[:, np.newaxis], 0.0).sum(axis=0)
        gain[np.isin(documents, order)] = -1.0
    return order


def _n_subtopics(judged: JudgedDocuments, level: int) -> Numbers:
    """(topics,) number of subtopics with a relevant document."""
    return np.bincount(subtopics_of(judged, level).topic, minlength=judged.n_topics)


def _discounted(hits: Hits, judged: JudgedDocuments, measure: Measure, alpha: float) -> Values:
    """(topics,) sum of the gains of the top k ranks, discounted by the rank or, for ERR, its logarithm; over its bound.

    Without a cutoff, the bound has as many ranks as the qrels have documents of the topic.
    """
    within = top(hits, measure.k)
    depth = int(max(np.max(within.rank, initial=1), measure.k or np.max(judged.n_graded(0), initial=1)))
    ranks = np.arange(1, depth + 1)
    discount = 1.0 / (ranks if "ERR" in measure.family else discounts(depth)[ranks])
    gains = _gains(hits, judged, measure.level, alpha)
    gains = gains if measure.k is None else gains[hits.rank <= measure.k]
    total = sums(within, gains * discount[within.rank - 1])
    n_subtopics = _n_subtopics(judged, measure.level)
    bound = np.cumsum(_powers(1.0 - alpha, depth) * discount)
    last = np.full(judged.n_topics, measure.k) if measure.k else np.maximum(judged.n_graded(0), 1)
    return share(total, n_subtopics * bound[last - 1])


def bounded(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """alpha-DCG and ERR-IA: the discounted gain of the run, divided by its bound."""
    return _discounted(hits, judged, measure, measure.number("alpha") or 0.0)


def normalized(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """alpha-nDCG and nERR-IA: the discounted gain of the run, divided by that of the best ranking."""
    alpha = measure.number("alpha") or 0.0
    best = judged.remember(
        ("best gain", measure),
        lambda: _discounted(best_ranking(judged, measure.level, alpha), judged, measure, alpha),
    )
    return share(_discounted(hits, judged, measure, alpha), best)


def novelty_and_rank_biased_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """NRBP: (1 - (1 - alpha) beta) / m times the sum of g beta^(rank - 1), with m subtopics."""
    alpha, beta = measure.number("alpha") or 0.0, measure.number("beta") or 0.0
    decay = _powers(beta, int(np.max(hits.rank, initial=1)))
    total = sums(hits, _gains(hits, judged, measure.level, alpha) * decay[hits.rank - 1])
    return share(total * (1.0 - (1.0 - alpha) * beta), _n_subtopics(judged, measure.level))


def normalized_nrbp(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """nNRBP: NRBP, divided by that of the best ranking."""
    ranking = best_ranking(judged, measure.level, measure.number("alpha") or 0.0)
    best = judged.remember(
        ("best nrbp", measure), lambda: novelty_and_rank_biased_precision(ranking, judged, measure)
    )
    return share(novelty_and_rank_biased_precision(hits, judged, measure), best)


def subtopic_recall(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Share of the subtopics that a relevant document among the top k has."""
    within = top(hits, measure.k)
    pairs = _pairs(within, subtopics_of(judged, measure.level))
    n_found = np.bincount(within.topic[pairs.hit[pairs.above == 0]], minlength=judged.n_topics)
    return share(n_found, _n_subtopics(judged, measure.level))


def subtopic_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """P-IA: precision at rank k, mean over the subtopics."""
    within = top(hits, measure.k)
    pairs = _pairs(within, subtopics_of(judged, measure.level))
    n_relevant = counts(within._replace(topic=within.topic[pairs.hit]))
    return share(n_relevant, (measure.k or 1) * _n_subtopics(judged, measure.level))


def subtopic_average_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """AP-IA: average precision, mean over the subtopics."""
    subtopics = subtopics_of(judged, measure.level)
    pairs = _pairs(hits, subtopics)
    terms = (pairs.above + 1) / hits.rank[pairs.hit]
    total = np.bincount(pairs.subtopic, weights=terms, minlength=len(subtopics.topic)).astype(np.float64)
    of_subtopics = share(total, subtopics.n_relevant())
    summed = np.bincount(subtopics.topic, weights=of_subtopics, minlength=judged.n_topics).astype(np.float64)
    return share(summed, _n_subtopics(judged, measure.level))
