"""The kernels of rankings and of sets of documents, and what kernels are made of: sums and shares per topic.

`FAMILIES` of `assay.protocols.measures` names the kernel of each family. "Equals" names the measure of trec_eval.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.measures.matching import Hits, JudgedDocuments, count_above, position_in_topic
from assay.protocols.measures import Measure

Values = NDArray[np.float64]

MOST_EXPONENT = 999  # sums of 2^grade are finite up to here
EPSILON = 1e-5  # of inferred average precision, as in trec_eval


def top(hits: Hits, k: int | None) -> Hits:
    """The hits at the top k ranks; all hits if k is None."""
    return hits if k is None else hits.kept(hits.rank <= k)


def relevant(hits: Hits, level: int) -> Hits:
    """The hits with a grade from `level`."""
    return hits.kept(hits.grade >= level)


def counts(hits: Hits) -> NDArray[np.int64]:
    """(topics,) number of hits."""
    return np.bincount(hits.topic, minlength=len(hits.n_returned))


def sums(hits: Hits, terms: NDArray[np.float64] | NDArray[np.int64]) -> Values:
    """(topics,) sum of the terms (hits,), added one by one in the order of the ranks."""
    weighted = np.bincount(hits.topic, weights=terms, minlength=len(hits.n_returned))
    return weighted.astype(np.float64, copy=False)  # without hits, NumPy returns whole numbers


def share(
    part: NDArray[np.float64] | NDArray[np.int64], whole: NDArray[np.float64] | NDArray[np.int64]
) -> Values:
    """`part` divided by `whole`, of equal shapes such as (topics,); 0.0 where `whole` is 0."""
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)


def discounts(depth: int) -> Values:
    """log2(rank + 1), indexed by rank, at least up to `depth`; index 0 has no rank.

    The logarithm is that of the C library, as in trec_eval: NumPy's own log2 differs in the last bit for some ranks.
    """
    return _discounts(1 << max(10, depth.bit_length()))


@lru_cache(maxsize=16)
def _discounts(depth: int) -> Values:
    return np.array([1.0, *(math.log2(rank + 1) for rank in range(1, depth + 1))])


def ndcg(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Normalized discounted cumulative gain of the top k ranks, or of all ranks.

    The gain is the grade, 2^grade - 1 with `dcg=exp-log2`, or that of the table `gains`, which is applied to the grade
    first; the discount is log2(rank + 1). The ideal ranking has all judged documents, also for a primed measure. The
    level does not apply.

    Source:
        Järvelin & Kekäläinen (2002), doi:10.1145/582415.582418; equals trec_eval's ndcg and ndcg_cut. Exponential gain:
        Burges et al. (2005), doi:10.1145/1102351.1102363.
    """
    name = ("ideal dcg", measure.k, measure.word("dcg"), measure.word("gains"))
    best = judged.remember(name, lambda: dcg(best_by_gain(judged, measure), judged, measure))
    return share(dcg(hits, judged, measure), best)


def best_by_gain(judged: JudgedDocuments, measure: Measure) -> Hits:
    """The best possible ranking, of every judged document, largest gain first; grades are in place of gains."""
    if not measure.table("gains"):
        return judged.ideal
    order = np.lexsort((-_mapped(judged.ideal.grade, measure), judged.ideal.topic))
    return judged.ideal._replace(grade=judged.ideal.grade[order])


def dcg(hits: Hits, _: JudgedDocuments, measure: Measure) -> Values:
    """Discounted cumulative gain, as in `ndcg`."""
    retrieved = top(hits, measure.k)
    gains = dcg_gains(retrieved.grade, measure)
    return sums(retrieved, gains / discounts(int(np.max(retrieved.rank, initial=1)))[retrieved.rank])


def dcg_gains(grade: NDArray[np.int64], measure: Measure) -> Values:
    """(rows,) the gain of each grade, as in `ndcg`."""
    gains = _mapped(grade, measure)
    if measure.word("dcg") == "exp-log2":
        if np.max(gains, initial=0) > MOST_EXPONENT:
            raise InputError(f"{measure}: the gain 2^grade is too large for grades above {MOST_EXPONENT}")
        return np.exp2(gains) - 1.0
    return gains.astype(np.float64)


def _mapped(grade: NDArray[np.int64], measure: Measure) -> NDArray[np.int64]:
    """(rows,) the numbers of the table `gains` for grades; a grade that is not in it keeps its number."""
    gains = grade.copy()
    for own, gain in measure.table("gains").items():
        gains[grade == own] = gain
    return gains


def cumulative_gain(hits: Hits, _: JudgedDocuments, measure: Measure) -> Values:
    """Sum of the grades of the top k ranks."""
    retrieved = top(hits, measure.k)
    return sums(retrieved, retrieved.grade)


def average_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Mean over all relevant documents of the precision at their rank; a document that is not retrieved counts 0.

    With `norm=retrieved`, the mean is over the relevant documents among the top k, or 0 if there are none. With
    `norm=best`, the sum is divided by the most relevant documents that the top k can have.

    Equals trec_eval's map, map_cut and, with the geometric mean over topics, gm_map. With `norm=retrieved` and k = 10
    it equals the MAP of the scorer of SemEval-2016 Task 3.
    """
    retrieved = relevant(top(hits, measure.k), measure.level)
    n_so_far = position_in_topic(retrieved.topic, judged.n_topics) + 1
    whole = counts(retrieved) if measure.word("norm") == "retrieved" else judged.n_graded(measure.level)
    if measure.word("norm") == "best" and measure.k is not None:
        whole = np.minimum(whole, measure.k)
    return share(sums(retrieved, n_so_far / retrieved.rank), whole)


def precision(hits: Hits, _: JudgedDocuments, measure: Measure) -> Values:
    """Relevant documents among the top k, divided by k, even if the run has fewer documents. Equals trec_eval's P."""
    return counts(relevant(top(hits, measure.k), measure.level)) / float(measure.k or 1)


def average_grade(hits: Hits, _: JudgedDocuments, measure: Measure) -> Values:
    """Sum of the grades of the top k, divided by k; an unjudged document counts 0.

    With k = 1 it equals the average relevance (AR) of ARQMath 2022's Task 3.
    """
    retrieved = top(hits, measure.k)
    return sums(retrieved, retrieved.grade) / float(measure.k or 1)


def recall(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Share of the relevant documents that are among the top k. Equals trec_eval's recall."""
    return share(counts(relevant(top(hits, measure.k), measure.level)), judged.n_graded(measure.level))


def r_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Precision at rank R, the number of relevant documents of the topic, even if the run has fewer documents.

    Equals trec_eval's Rprec.
    """
    n_relevant = judged.n_graded(measure.level)
    within = hits.kept(hits.rank <= n_relevant[hits.topic])
    return share(counts(relevant(within, measure.level)), n_relevant)


def reciprocal_rank(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """1 / rank of the first relevant document among the top k, or among all. Equals trec_eval's recip_rank."""
    retrieved = relevant(top(hits, measure.k), measure.level)
    is_first = position_in_topic(retrieved.topic, judged.n_topics) == 0
    return sums(retrieved, np.where(is_first, 1.0 / retrieved.rank, 0.0))


def success(hits: Hits, _: JudgedDocuments, measure: Measure) -> Values:
    """1 if there is a relevant document among the top k, 0 otherwise. Equals trec_eval's success."""
    return (counts(relevant(top(hits, measure.k), measure.level)) > 0).astype(np.float64)


def bpref(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Mean over all relevant documents of 1 - min(n, R) / min(N, R), with n judged nonrelevant documents above each.

    R and N are the numbers of relevant and of judged nonrelevant documents of the topic. Unjudged documents do not
    count, so the primed measure has the same value. Repeated near-duplicates that count as false alarms are above, but
    not in N; a document loses at most all of its 1.

    Source:
        Buckley & Voorhees (2004), doi:10.1145/1008992.1009000, as trec_eval computes bpref.
    """
    is_relevant = hits.grade >= measure.level
    n_relevant, n_nonrelevant = judged.n_graded(measure.level), judged.n_graded(0, measure.level)
    n_above = count_above(hits.topic, judged.n_topics, ~is_relevant)
    most = np.maximum(1, np.minimum(n_relevant, n_nonrelevant))[hits.topic]
    lost = np.minimum(n_above, most) / most
    return share(sums(hits, np.where(is_relevant, 1.0 - lost, 0.0)), n_relevant)


def judged_share(hits: Hits, _: JudgedDocuments, measure: Measure) -> Values:
    """Judged documents among the top k (or all), divided by k or by the number of documents of the run if it is less.

    Equals ir_measures' Judged. trec_eval's unj always divides by k.
    """
    n_counted = hits.n_returned if measure.k is None else np.minimum(hits.n_returned, measure.k)
    return share(counts(top(hits, measure.k)), n_counted)


def expected_reciprocal_rank(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Expected value of 1 / rank at which a reader stops, who is satisfied by a document of grade g with probability
    (2^g - 1) / 2^max_rel, or with `stop=linear` g / (max_rel + 1), as in NTCIREVAL.

    The default of `max_rel` is the highest grade of the qrels, or of the topic's with `per=topic`. gdeval, which
    ir_measures calls, uses 4.

    Source:
        Chapelle et al. (2009), doi:10.1145/1645953.1646033.
    """
    retrieved = top(hits, measure.k)
    return sums(retrieved, _stops(retrieved, judged, measure) / retrieved.rank)


def normalized_err(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Expected reciprocal rank, divided by that of the best ranking.

    Equals nERR of NTCIREVAL (with `compute`; `per=topic`: with `gcompute`), whose gains are the grades.
    """
    name = ("ideal err", measure)
    best = judged.remember(name, lambda: expected_reciprocal_rank(judged.ideal, judged, measure))
    return share(expected_reciprocal_rank(hits, judged, measure), best)


def intentwise_utility(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Sum over the ranks of p^rank times the probability that the reader stops there, as in NTCIREVAL.

    A reader is satisfied by a document with the grade g with probability g / (highest grade + 1).

    Source:
        Sakai & Zeng (2019), doi:10.1145/3331184.3331215.
    """
    retrieved = top(hits, measure.k)
    utility = np.power(measure.number("p") or 0.0, retrieved.rank)
    return sums(retrieved, _stops(retrieved, judged, measure) * utility)


def _stops(retrieved: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """(hits,) the probability that the reader stops at a hit: is satisfied there, and by none above."""
    fixed = measure.number("max_rel")
    if fixed is None and measure.word("per") == "topic":
        highest = judged.highest_grades[retrieved.topic]
    else:
        highest = np.full(len(retrieved.topic), fixed or float(np.max(judged.grade, initial=1)))
    if measure.word("stop") == "exp":
        satisfied: Values = np.minimum(np.exp2(retrieved.grade - highest) - np.exp2(-highest), 1.0)
    else:
        satisfied = np.minimum(retrieved.grade / (highest + 1.0), 1.0)
    reached = np.ones(len(satisfied))  # the probability that the reader reaches this hit
    for row in range(1, len(satisfied)):
        if retrieved.topic[row] == retrieved.topic[row - 1]:
            reached[row] = reached[row - 1] * (1.0 - satisfied[row - 1])
    return reached * satisfied


def q_measure(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Mean over all relevant documents of (n + beta g) / (rank + beta G) at their rank; 0 if not retrieved.

    n is the number of relevant documents up to that rank, g their total gain, and G the gain of the ideal ranking at
    that rank. The gain of a relevant document is its grade. With `beta` 0 this is average precision. With a cutoff, the
    sum is divided by k if there are more relevant documents.

    Source:
        Sakai (2004), New performance metrics based on multigrade relevance, NTCIR-4; Sakai (2014),
        doi:10.1007/978-3-642-54798-0_6, for the cutoff.
    """
    beta = measure.number("beta") or 0.0
    retrieved, ideal = relevant(top(hits, measure.k), measure.level), relevant(judged.ideal, measure.level)
    n_so_far = position_in_topic(retrieved.topic, judged.n_topics) + 1
    n_ideal = counts(ideal)  # the gain of the ideal ranking stays the same below its last document
    first = np.cumsum(n_ideal) - n_ideal
    at = first[retrieved.topic] + np.minimum(retrieved.rank, n_ideal[retrieved.topic]) - 1
    best = _gain_so_far(ideal)[at]
    terms = (n_so_far + beta * _gain_so_far(retrieved)) / (retrieved.rank + beta * best)
    whole = judged.n_graded(measure.level)
    return share(sums(retrieved, terms), whole if measure.k is None else np.minimum(whole, measure.k))


def _gain_so_far(hits: Hits) -> Values:
    total = np.cumsum(hits.grade)
    first = np.arange(len(hits.topic)) - position_in_topic(hits.topic, len(hits.n_returned))
    gains: Values = (total - (total - hits.grade)[first]).astype(np.float64)
    return gains


def rank_biased_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Gain per document of a reader who goes on to the next rank with probability p: (1 - p) sum of g p^(rank - 1).

    The gain g is the grade divided by the highest grade of the topic's qrels, or by `max_rel`. With a level, it is 1
    for grades from the level and 0 for others.

    Source:
        Moffat & Zobel (2008), doi:10.1145/1416950.1416952. trec_eval's rbp has p = 0.9 and the same definition for
        grades, but reads uninitialized memory there.
    """
    retrieved = top(hits, measure.k)
    if measure.level:
        gain = (retrieved.grade >= measure.level).astype(np.float64)
    else:
        highest = judged.highest_grades
        fixed = measure.number("max_rel")
        gain = np.minimum(retrieved.grade / (highest[retrieved.topic] if fixed is None else fixed), 1.0)
    persistence = measure.number("p") or 0.0
    return (1.0 - persistence) * sums(retrieved, gain * persistence ** (retrieved.rank - 1))


def residual(hits: Hits, _: JudgedDocuments, measure: Measure) -> Values:
    """Largest rise of rank-biased precision, if all unjudged documents and all further ranks were relevant.

    Source:
        Moffat & Zobel (2008), doi:10.1145/1416950.1416952. trec_eval's rbp_resid is 0 where every document is judged.
    """
    persistence = measure.number("p") or 0.0
    retrieved = top(hits, measure.k)
    known: Values = np.power(persistence, retrieved.rank - 1, dtype=np.float64)
    return 1.0 - (1.0 - persistence) * sums(retrieved, known)


def inferred_average_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Average precision, with pooled documents without a grade expected to be as relevant as the judged ones.

    Such documents have a negative grade in the qrels. Documents that are not in the qrels are not relevant.

    Source:
        Yilmaz & Aslam (2006), doi:10.1145/1183614.1183633; equals trec_eval's infAP.
    """
    is_relevant = hits.grade >= measure.level
    n_relevant_above = count_above(hits.topic, judged.n_topics, is_relevant)
    n_judged_above = n_relevant_above + count_above(hits.topic, judged.n_topics, ~is_relevant)
    n_pooled_above = n_judged_above + (0 if hits.n_pooled_above is None else hits.n_pooled_above)
    n_above = (hits.rank - 1).astype(np.float64)
    expected = (n_relevant_above + EPSILON) / (n_judged_above + 2 * EPSILON)
    in_pool = share(n_pooled_above, n_above)
    terms = 1.0 / (n_above + 1.0) + n_above / (n_above + 1.0) * in_pool * expected
    return share(sums(hits, np.where(is_relevant, terms, 0.0)), judged.n_graded(measure.level))


def precision_at_recall(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """The highest precision at any rank from which on that share of the relevant documents is retrieved.

    Equals iprec_at_recall of trec_eval 10.0; 9.x rounds that share up from a tenth.
    """
    points = recall_points(float(measure.number("recall") or 0.0), judged.n_graded(measure.level))
    return interpolated_precision(relevant(hits, measure.level), points)


def recall_points(share_wanted: float, n_relevant: NDArray[np.int64]) -> NDArray[np.int64]:
    """(topics,) number of relevant documents that make up a share of them, rounded; a half is rounded up.

    >>> recall_points(0.5, np.array([1, 4])).tolist()
    [1, 2]
    """
    exact = share_wanted * n_relevant
    below = np.floor(exact)
    points: NDArray[np.int64] = (below + (exact - below >= 0.5)).astype(np.int64)
    return points


def interpolated_precision(retrieved: Hits, n_wanted: NDArray[np.int64]) -> Values:
    """(topics,) the highest precision at any rank with `n_wanted` relevant documents; 0.0 if there is no such rank.

    Args:
        retrieved: the relevant documents of the run.
        n_wanted: (topics,) number of relevant documents that must be retrieved.
    """
    n_retrieved = counts(retrieved)
    end = np.cumsum(n_retrieved)
    n_so_far = np.arange(len(retrieved.topic)) - (end - n_retrieved)[retrieved.topic] + 1
    values_at_hits = np.append(n_so_far / retrieved.rank, 0.0)
    is_reached = (n_retrieved > 0) & (n_wanted <= n_retrieved)
    start = (end - n_retrieved + np.maximum(n_wanted, 1) - 1)[is_reached]
    values = np.zeros(len(n_retrieved))
    if len(start):
        bounds = np.column_stack((start, end[is_reached])).ravel()
        values[is_reached] = np.maximum.reduceat(values_at_hits, bounds)[::2]
    return values


# Measures of the set of documents that a run returned; their order does not matter.


def set_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Relevant share of the documents returned; with `relative`, divided by the highest possible share.

    Equals trec_eval's set_P and set_relative_P; NTCIR's MathIR tasks call it P-hit.
    """
    best = hits.n_returned
    if measure.word("relative") == "True":
        best = np.minimum(best, judged.n_graded(measure.level))
    return share(counts(relevant(hits, measure.level)), best)


def set_recall(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Share of the relevant documents that were returned. Equals trec_eval's set_recall."""
    return share(counts(relevant(hits, measure.level)), judged.n_graded(measure.level))


def set_f(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """(b + 1) P R / (b P + R): the harmonic mean of precision P and recall R, with the weight b of recall.

    Equals trec_eval's set_F; its first parameter is `beta` here.
    """
    weight = measure.number("beta") or 0.0
    n_relevant_returned = counts(relevant(hits, measure.level))
    p = share(n_relevant_returned, hits.n_returned)
    r = share(n_relevant_returned, judged.n_graded(measure.level))
    return share((weight + 1.0) * p * r, weight * p + r)


def set_average_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Product of precision and recall of the documents returned. Equals trec_eval's set_map."""
    n_relevant_returned = counts(relevant(hits, measure.level)).astype(np.float64)
    n_relevant = judged.n_graded(measure.level).astype(np.float64)
    return share(n_relevant_returned * n_relevant_returned, hits.n_returned * n_relevant)


def n_returned(hits: Hits, _: JudgedDocuments, measure: Measure) -> Values:
    """Number of documents returned; with a level, of relevant documents returned.

    Equals trec_eval's num_ret and num_rel_ret.
    """
    number = counts(relevant(hits, measure.level)) if measure.level else hits.n_returned
    return number.astype(np.float64)


def total_relevant(_: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Number of relevant documents in the qrels. Equals trec_eval's num_rel."""
    return judged.n_graded(measure.level).astype(np.float64)
