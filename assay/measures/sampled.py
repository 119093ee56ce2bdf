"""Measures inferred from samples of a pool: documents of strata that were judged with different probabilities.

For each stratum s of a topic, N documents are pooled, and n of them sampled: their grade is not negative. Above a rank
of the run, P documents of the stratum are pooled, J sampled and L relevant. Only the top 1000 ranks count, as in NIST's
script.

Source:
    Yilmaz, Kanoulas & Aslam (2008), doi:10.1145/1390334.1390437, as NIST's sample_eval.pl computes xinfAP and
    infNDCG (with its rounding of October 2011). Aslam & Pavlu (2007), A practical sampling strategy for efficient
    retrieval evaluation, for statAP.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.measures.kernels import EPSILON, Values, discounts, share, sums
from assay.measures.matching import Hits, JudgedDocuments, position_in_topic, remembered
from assay.protocols.measures import Measure

DEPTH = 1000  # ranks

Numbers = NDArray[np.int64]


class Strata(NamedTuple):
    """The strata of qrels.

    Args:
        number: (rows,) the stratum of each document, counted within its topic.
        pooled, sampled: (topics, strata) documents.
    """

    number: Numbers
    pooled: Numbers
    sampled: Numbers

    @property
    def weight(self) -> Values:
        """(topics, strata) how many pooled documents a sampled one represents."""
        return share(self.pooled, self.sampled)

    def sums(self, judged: JudgedDocuments, is_counted: NDArray[np.bool_]) -> Numbers:
        """(topics, strata) the number of rows that are counted."""
        n = self.pooled.shape[1]
        cell = judged.topic[is_counted] * n + self.number[is_counted]
        return np.bincount(cell, minlength=judged.n_topics * n).reshape(-1, n)


class Above(NamedTuple):
    """Pooled, sampled and relevant documents of each stratum above each document of a run, without and with itself."""

    hits: Hits
    stratum: Numbers  # (hits,)
    own: tuple[Numbers, ...]  # pooled, sampled, relevant: (hits, strata) of the document itself
    before: tuple[Numbers, ...]


@remembered
def strata_of(judged: JudgedDocuments) -> Strata:
    seen: list[dict[bytes, int]] = [{} for _ in range(judged.n_topics)]
    pairs = zip(judged.topic.tolist(), judged.parts_of("strata"), strict=True)
    number = np.array(
        [seen[topic].setdefault(word, len(seen[topic])) for topic, word in pairs], dtype=np.int64
    )
    empty = np.zeros((judged.n_topics, max(map(len, seen), default=1)), dtype=np.int64)
    strata = Strata(number, empty, empty)
    everything = np.ones(len(number), dtype=np.bool_)
    return strata._replace(
        pooled=strata.sums(judged, everything), sampled=strata.sums(judged, judged.grade >= 0)
    )


def _above(hits: Hits, judged: JudgedDocuments, level: int) -> Above:
    """Counts of what is above each pooled document of a run."""
    strata = strata_of(judged)
    assert hits.lines is not None  # these measures have no prime
    pooled = hits.lines.latest(
        judged, "pooled", lambda lines: judged.named_hits(lines.run, depth=min(lines.depth or DEPTH, DEPTH))
    )
    assert pooled.entry is not None  # they are of a run
    stratum = strata.number[pooled.entry]
    is_own = stratum[:, np.newaxis] == np.arange(strata.pooled.shape[1])
    own = tuple(
        (is_own & (pooled.grade >= lowest)[:, np.newaxis]).astype(np.int64) for lowest in (-999, 0, level)
    )
    first = np.arange(len(stratum)) - position_in_topic(pooled.topic, judged.n_topics)
    totals = (np.cumsum(counts, axis=0) - counts for counts in own)
    return Above(pooled, stratum, own, tuple(total - total[first] for total in totals))


def inferred_average_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """xinfAP: average precision, with the precision above each relevant document expected from the samples."""
    above = _above(hits, judged, measure.level)
    strata, ranked = strata_of(judged), above.hits
    pooled, sampled, relevant = above.before
    expected = (pooled * (relevant + EPSILON) / (sampled + 3 * EPSILON)).sum(axis=1)
    weight = strata.weight[ranked.topic, above.stratum]
    terms = np.where(ranked.grade >= measure.level, weight * (1.0 + expected) / ranked.rank, 0.0)
    # (topics,) the estimated number of relevant documents
    strata = strata_of(judged)
    estimated: Values = (strata.sums(judged, judged.grade >= measure.level) * strata.weight).sum(axis=1)
    return share(sums(ranked, terms), estimated)


def inferred_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """iP@k: precision at rank k, expected from the samples of the strata down to that rank."""
    above, k = _above(hits, judged, measure.level), measure.k or 1
    ranked = above.hits
    within = ranked.rank <= k
    shape = strata_of(judged).pooled.shape
    pooled, sampled, relevant = (_summed(counts[within], ranked.topic[within], shape) for counts in above.own)
    expected = (pooled * (relevant + EPSILON) / (sampled + 3 * EPSILON)).sum(axis=1)
    return np.asarray(expected / k, dtype=np.float64)


def _summed(rows: NDArray[np.int64] | NDArray[np.float64], topic: Numbers, shape: tuple[int, ...]) -> Values:
    total = np.zeros(shape)
    np.add.at(total, topic, rows)
    return total


def inferred_ndcg(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """infNDCG: the gain of the sampled documents of each stratum, extrapolated to its pooled ones, over the best."""
    above = _above(hits, judged, 1)
    ranked, shape = above.hits, strata_of(judged).pooled.shape
    gain = np.maximum(ranked.grade, 0) / discounts(DEPTH)[ranked.rank]
    gains = _summed(above.own[1] * gain[:, np.newaxis], ranked.topic, shape)
    pooled, sampled = (_summed(counts, ranked.topic, shape) for counts in above.own[:2])
    total = (pooled * share(gains, sampled)).sum(axis=1)
    return share(total, _ideal(judged))


@remembered
def _ideal(judged: JudgedDocuments) -> Values:
    """(topics,) the gain of the best ranking: as many documents of each grade as are estimated, rounded.

    After rank 1000, each lower grade still adds a document, as in NIST's script.
    """
    strata, best = strata_of(judged), np.zeros(judged.n_topics)
    rank = np.zeros(judged.n_topics, dtype=np.int64)
    for grade in sorted(set(judged.grade[judged.grade > 0].tolist()), reverse=True):
        estimated = (strata.sums(judged, judged.grade == grade) * strata.weight).sum(axis=1)
        for topic, number in enumerate(np.floor(estimated + 0.5).astype(np.int64).tolist()):
            last = rank[topic] + min(number, max(DEPTH - rank[topic], 1))
            for place in range(rank[topic] + 1, last + 1):
                best[topic] += grade / discounts(place)[place]
            rank[topic] = last
    return best


def estimated_average_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """statAP: each relevant document counts as many as the inverse of the probability that it was sampled.

    As in NIST's script, that of documents that the algorithms 0 and 2 chose is 1, unless the parameter says otherwise.
    """
    certain = (b"0", b"2") if measure.word("iprob") == "1" else ()
    lines = (words.split() for words in judged.parts_of("probabilities"))
    inverse = judged.remember(
        ("inverse", certain),
        lambda: np.array([1.0 if algorithm in certain else 1.0 / float(p) for algorithm, p in lines]),
    )
    assert hits.entry is not None  # they are of a run
    is_relevant = hits.grade >= measure.level
    ranked, weight = hits.kept(is_relevant), inverse[hits.entry[is_relevant]]
    total = np.cumsum(weight)
    first = np.arange(len(weight)) - position_in_topic(ranked.topic, judged.n_topics)
    above = total - weight - (total - weight)[first]
    relevant = np.where(judged.grade >= measure.level, inverse, 0.0)
    n_relevant = np.bincount(judged.topic, weights=relevant, minlength=judged.n_topics)
    return share(sums(ranked, weight * (1.0 + above) / ranked.rank), n_relevant)
