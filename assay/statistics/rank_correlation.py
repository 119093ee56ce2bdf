"""Similarity of two rankings: Kendall's tau-b and tau_AP of rankings of runs, rank-biased overlap of result lists,
and what two runs share.

A ranking of runs is an array of scores (runs,): a higher score is better, equal scores tie. Result lists are two runs
as columns, in the order of trec_eval, which has no ties. Functions raise ValueError for arrays of different lengths.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.answers import ANSWER, CitationUnit, unit_of
from assay.formats.runs.columns import Ranked

Values = NDArray[np.float64]
PERSISTENCE = 0.9
DEPTHS = (1, 5, 10, 20, 50, 100, 1000)  # at which two runs are compared
DECIMALS = 12  # smaller differences of means are rounding errors: the runs tie


def kendall_tau(first: Values, second: Values) -> float:
    """Kendall's tau-b: concordant minus discordant pairs of runs, normalized for ties.

    Args:
        first, second: (runs,) scores of the same runs.

    Returns:
        From -1 to 1; nan if a ranking ties all runs, or if there are fewer than two runs.

    Source:
        Kendall (1945), doi:10.1093/biomet/33.3.239; equals scipy.stats.kendalltau.

    >>> round(kendall_tau(np.array([0.3, 0.2, 0.1]), np.array([0.3, 0.1, 0.2])), 3)
    0.333
    """
    left, right = _signs(first, second)
    pairs = np.triu_indices(len(left), 1)
    untied = math.sqrt(float(np.square(left[pairs]).sum()) * float(np.square(right[pairs]).sum()))
    return float((left[pairs] * right[pairs]).sum()) / untied if untied else math.nan


def tau_ap(reference: Values, estimate: Values) -> float:
    """AP correlation of an estimated ranking with a reference: errors near the top weigh more.

    Runs that tie in the estimate count with the mean over all their possible orders (tau_AP,a). A pair that ties in the
    reference counts as half correct.

    Args:
        reference, estimate: (runs,) scores of the same runs.

    Returns:
        From -1 to 1; nan if there are fewer than two runs.

    Source:
        Yilmaz, Aslam & Robertson (2008), doi:10.1145/1390334.1390435; ties: Urbano & Marrero (2017),
        doi:10.1145/3121050.3121106.

    >>> round(tau_ap(np.array([0.3, 0.2, 0.1]), np.array([0.2, 0.3, 0.1])), 3)  # the two best runs exchanged
    0.0
    """
    truth, estimated = _signs(reference, estimate)
    n = len(truth)
    if n < 2:
        return math.nan
    n_above = (estimated < 0).sum(axis=1)
    n_correct = np.where(estimated < 0, (truth < 0) + 0.5 * (truth == 0), 0.0).sum(axis=1)
    share = np.zeros(n)
    for run in range(n):
        n_tied = int((n_above == n_above[run]).sum())
        # runs above it, at each place in its group of ties
        above = np.arange(n_above[run], n_above[run] + n_tied)
        within = (above - n_above[run]) / 2
        share[run] = float(np.where(above > 0, (n_correct[run] + within) / np.maximum(above, 1), 0.0).mean())
    return 2 * float(share.sum()) / (n - 1) - 1


def tau_ap_b(first: Values, second: Values) -> float:
    """The symmetric AP correlation (tau_AP,b): errors near the top weigh more, and neither ranking is the reference.

    Args:
        first, second: (runs,) scores of the same runs.

    Returns:
        From -1 to 1; nan if a ranking ties all runs, or if there are fewer than two runs.

    Source:
        Urbano & Marrero (2017), doi:10.1145/3121050.3121106.
    """
    left, right = _signs(first, second)
    return (_untied_tau_ap(left, right) + _untied_tau_ap(right, left)) / 2


def _untied_tau_ap(truth: NDArray[np.int64], estimated: NDArray[np.int64]) -> float:
    """AP correlation over the runs that have a run strictly above them in the estimate."""
    is_above = estimated < 0
    n_above = is_above.sum(axis=1)
    is_counted = n_above > 0
    if not is_counted.any():
        return math.nan
    n_correct = (is_above & (truth < 0)).sum(axis=1)
    return 2 * float((n_correct[is_counted] / n_above[is_counted]).mean()) - 1


def _signs(first: Values, second: Values) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(runs, runs) for each ranking: 1 if the row's run is above the column's, -1 if below, 0 if they tie."""
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(
            f"the rankings have the shapes {first.shape} and {second.shape}; both must rank the same runs"
        )
    return _sign_of(first), _sign_of(second)


def _sign_of(scores: Values) -> NDArray[np.int64]:
    scores = np.round(scores, DECIMALS)
    return np.sign(scores[:, None] - scores[None, :]).astype(np.int64)


def ranks(scores: Values) -> NDArray[np.int64]:
    """(runs,) place of each run, from 1 for the highest score; equal scores share the best of their places.

    >>> ranks(np.array([0.1, 0.3, 0.3])).tolist()
    [3, 1, 1]
    """
    place: NDArray[np.int64] = (_sign_of(scores) < 0).sum(axis=1) + 1
    return place


class Overlap(NamedTuple):
    """Rank-biased overlap of two lists.

    Args:
        minimum: overlap of the ranks that the lists have.
        residual: what the ranks below their ends could add at most.
        extrapolated: estimate that assumes the same agreement below their ends.
    """

    minimum: float
    residual: float
    extrapolated: float


def rank_biased_overlap(ranks: NDArray[np.int64], n_first: int, n_second: int, p: float) -> Overlap:
    """Rank-biased overlap of two lists without ties; their lengths may differ.

    Args:
        ranks: (common, 2) ranks, from 1, of the documents that are in both lists.
        n_first, n_second: lengths of the lists.
        p: persistence: the probability that a reader goes on to the next rank. 0.9 gives the first ten ranks 86 % of
            the weight.

    Returns:
        Values from 0 (disjoint) to 1 (identical). Two empty lists have the overlap 0 and the residual 1.

    Raises ValueError: p is not between 0 and 1.

    Source:
        Webber, Moffat & Zobel (2010), doi:10.1145/1852102.1852106: equations 11, 30 and 32.
    """
    if not 0 < p < 1:
        raise ValueError(f"p is {p}; use a number between 0 and 1, such as 0.9")
    short, long = sorted((n_first, n_second))
    if not long:
        return Overlap(0.0, 1.0, 0.0)
    depth = np.arange(1, long + 1, dtype=np.float64)
    weight = p**depth
    shared = np.cumsum(np.bincount(ranks.max(axis=1, initial=0), minlength=long + 1)[1:]).astype(np.float64)
    at_long, at_short = float(shared[-1]), float(shared[short - 1]) if short else 0.0
    scale = (1 - p) / p
    minimum = scale * (float(((shared - at_long) * weight / depth).sum()) - at_long * math.log1p(-p))
    seen = float((shared * weight / depth).sum())
    below = depth[short:]
    assumed = float((at_short * (below - short) * weight[short:] / below).sum()) / max(short, 1)
    end = ((at_long - at_short) / long + at_short / max(short, 1)) * p**long
    # what the ranks below the ends of the lists could add at most
    full = short + long - int(at_long)  # the depth at which the lists could agree completely
    deep = np.arange(1, full + 1, dtype=np.float64)
    terms = p**deep / deep
    rest = float(terms[short:].sum()) * short + float(terms[long:].sum()) * long
    rest += int(at_long) * (-math.log1p(-p) - float(terms.sum()))
    residual = p**short + p**long - p**full - scale * rest
    return Overlap(minimum, residual, scale * (seen + assumed) + end)


def overlap_of_runs(first: Ranked, second: Ranked, *, p: float = PERSISTENCE) -> dict[str, Overlap]:
    """Rank-biased overlap of two runs for each topic of either run, by topic code in the order of bytes.

    That of generated answers is of the documents that they cite.
    """
    overlaps = {}
    for code in topics_of_both(first, second):
        left, right = documents_of(first, code), documents_of(second, code)
        overlaps[code] = rank_biased_overlap(common_ranks(left, right), len(left), len(right), p)
    return overlaps


def topics_of_both(first: Ranked, second: Ranked) -> list[str]:
    """The topics of either run, in the order of bytes."""
    return sorted({*first.topics.tolist(), *second.topics.tolist()}, key=str.encode)


def documents_of(run: Ranked, code: str) -> NDArray[np.bytes_]:
    """The documents of a topic by rank; none if the run does not have the topic.

    Those of a generated answer are the ones that it cites, in the order of their first citations.
    """
    place = int(np.searchsorted(run.topics, code))
    if place == len(run.topics) or run.topics[place] != code:
        return run.docno[:0]
    start, end = run.offsets[place : place + 2]
    docnos = run.docno[start:end]
    if start == end or not docnos[0].startswith(ANSWER.encode()):
        return docnos
    cited = (unit_of(docno.decode()) for docno in docnos.tolist())
    distinct = dict.fromkeys(unit.docno.encode() for unit in cited if isinstance(unit, CitationUnit))
    return np.array(list(distinct), dtype=np.bytes_) if distinct else docnos[:0]


def common_ranks(first: NDArray[np.bytes_], second: NDArray[np.bytes_]) -> NDArray[np.int64]:
    """(common, 2) ranks, from 1, of the documents in both lists."""
    _, in_first, in_second = np.intersect1d(first, second, assume_unique=True, return_indices=True)
    return np.column_stack((in_first, in_second)) + 1


# -- the difference of two runs in their documents, without judgments


class Move(NamedTuple):
    """A document with its rank in either run, from 1; None where the run does not have it."""

    docno: str
    first: int | None
    second: int | None


@dataclass(frozen=True, slots=True)
class TopicDifference:
    """Two rankings of one topic.

    Args:
        n_first, n_second, n_common: numbers of documents of each run, and of both.
        overlap: by depth of `DEPTHS`, the common documents of the first k ranks, as a share of the longer of the two
            rankings to rank k.
        rbo: rank-biased overlap, extrapolated.
        is_equal: whether both have the same documents in the same order.
    """

    topic: str
    n_first: int
    n_second: int
    n_common: int
    overlap: tuple[float, ...]
    rbo: float
    is_equal: bool


def difference_of_topic(first: Ranked, second: Ranked, topic: str) -> TopicDifference:
    """Compare the rankings of one topic; a topic that a run does not have is an empty ranking."""
    left, right = documents_of(first, topic), documents_of(second, topic)
    common = common_ranks(left, right)
    deepest, longest = common.max(axis=1, initial=0), max(len(left), len(right))
    return TopicDifference(
        topic=topic,
        n_first=len(left),
        n_second=len(right),
        n_common=len(common),
        overlap=tuple(float((deepest <= k).sum()) / (min(k, longest) or 1) for k in DEPTHS),
        rbo=rank_biased_overlap(common, len(left), len(right), PERSISTENCE).extrapolated,
        is_equal=bool(np.array_equal(left, right)),
    )


def moves_of_topic(first: Ranked, second: Ranked, topic: str, *, k: int) -> list[Move]:
    """The documents among the first k ranks of either run: those of the first run, then the new ones of the second."""
    left = [docno.decode() for docno in documents_of(first, topic).tolist()]
    right = [docno.decode() for docno in documents_of(second, topic).tolist()]
    rank_in_left = {docno: rank for rank, docno in enumerate(left, 1)}
    rank_in_right = {docno: rank for rank, docno in enumerate(right, 1)}
    shown = dict.fromkeys(left[:k] + right[:k])
    return [Move(docno, rank_in_left.get(docno), rank_in_right.get(docno)) for docno in shown]
