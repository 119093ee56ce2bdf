"""Values of measures over all orders of the documents with equal scores: the lowest, the expected and the highest.

A run whose scores are equal has no order of its own, and a measure of it depends on how ties are broken. The lowest and
highest values are those of the orders with the worst, or the best, documents of each tie first: exact for measures that
never fall when a document with a higher grade moves up. The expected values are closed forms, with every order of a tie
as likely as any other.

Source:
    McSherry & Najork (2008), doi:10.1007/978-3-540-78646-7_38.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.formats.runs.columns import RunColumns
from assay.measures.kernels import Values, dcg, dcg_gains, discounts, share
from assay.measures.matching import Hits, JudgedDocuments
from assay.measures.scores import RunScores, score_hits
from assay.protocols.measures import FAMILIES, Measure

Numbers = NDArray[np.int64]
KNOWN = ("P", "R", "Rprec", "Success", "AP", "RR", "nDCG", "DCG", "CG", "Grade")


class TieRange(NamedTuple):
    """The scores of a run over all orders of its ties."""

    lowest: RunScores
    expected: RunScores
    highest: RunScores


class Ties(NamedTuple):
    """The ties that contain hits, by rank; a document without ties is one of size 1.

    Args:
        topic: (ties,) index into the topics of the qrels.
        above: (ties,) number of documents of the topic above the tie.
        size: (ties,) number of documents.
        of_hit: (hits,) the tie of each hit, not decreasing.
    """

    topic: Numbers
    above: Numbers
    size: Numbers
    of_hit: Numbers


def check_measures(measures: Sequence[Measure]) -> None:
    """Refuse measures whose values over the orders of ties are not known.

    Raises:
        InputError: The message names the first one, and those that are accepted.
    """
    for measure in measures:
        is_random = measure.word("norm") == "retrieved" if measure.family == "AP" else False
        if measure.family in {"nDCG", "DCG"}:
            is_random = bool(measure.table("gains"))
        if measure.family not in KNOWN or (is_random and (measure.family != "AP" or measure.k is not None)):
            accepted = ", ".join(KNOWN)
            raise InputError(
                f"{measure} over the orders of ties is not known; use {accepted}, without norm or gains"
            )


def tie_range(hits: Hits, judged: JudgedDocuments, measures: Sequence[Measure]) -> TieRange:
    """The scores over the orders of ties. `hits` are of a run, with its lines."""
    ties = _ties(hits)
    kinds = {False: (hits, ties), True: (hits.judged_only(), _among_hits(ties, hits))}
    columns = [_expected(*kinds[measure.judged_only], judged, measure) for measure in measures]
    summaries = tuple(FAMILIES[measure.family].summary for measure in measures)
    expected = RunScores(np.stack(columns, axis=1), hits.n_returned > 0, summaries)
    worst, best = (score_hits(_reordered(hits, ties, sign), judged, measures) for sign in (1, -1))
    return TieRange(worst, expected, best)


def _ties(hits: Hits) -> Ties:
    assert hits.lines is not None
    run, place = hits.lines.run, hits.lines.place
    assert isinstance(run, RunColumns)
    topic_of_run = np.full(len(hits.n_returned), -1)
    topic_of_run[place[place >= 0]] = np.flatnonzero(place >= 0)
    start = run.offsets[topic_of_run[hits.topic]]
    is_new = np.ones(len(run.score) + 1, dtype=np.bool_)
    is_new[1:-1] = (run.score[1:] != run.score[:-1]) | (run.topic_index[1:] != run.topic_index[:-1])
    first = np.flatnonzero(is_new)  # row of each tie of the run, then the number of rows
    tie = np.searchsorted(first, start + hits.rank - 1, side="right") - 1
    kept, index, of_hit = np.unique(tie, return_index=True, return_inverse=True)
    return Ties(hits.topic[index], first[kept] - start[index], first[kept + 1] - first[kept], of_hit)


def _among_hits(ties: Ties, hits: Hits) -> Ties:
    """The ties among the judged documents alone."""
    size = np.bincount(ties.of_hit, minlength=len(ties.topic))
    before = np.cumsum(size) - size
    n_hits = np.bincount(hits.topic, minlength=len(hits.n_returned))
    return ties._replace(above=before - (np.cumsum(n_hits) - n_hits)[ties.topic], size=size)


def _reordered(hits: Hits, ties: Ties, sign: int) -> Hits:
    """The hits with those of each tie by rising grade at its end, or for -1 by falling grade at its start."""
    order = np.lexsort((sign * hits.grade, ties.of_hit))
    n_hits = np.bincount(ties.of_hit, minlength=len(ties.topic))
    place = np.arange(len(order)) - (np.cumsum(n_hits) - n_hits)[ties.of_hit]
    shift = ties.above + (ties.size - n_hits if sign > 0 else 0)
    return Hits(hits.topic, shift[ties.of_hit] + place + 1, hits.grade[order], hits.n_returned)


def _expected(hits: Hits, ties: Ties, judged: JudgedDocuments, measure: Measure) -> Values:
    """(topics,) expected values."""
    n_relevant = judged.n_graded(measure.level)
    depth = np.full(judged.n_topics, np.iinfo(np.int64).max if measure.k is None else measure.k)
    if measure.family == "Rprec":
        depth = n_relevant
    within = np.clip(depth[ties.topic] - ties.above, 0, ties.size)  # ranks of the tie that count
    graded = np.bincount(ties.of_hit, hits.grade >= measure.level, len(ties.topic))
    match measure.family:
        case "P" | "R" | "Rprec":
            n = _summed(graded * within / ties.size, ties, judged)
            return n / float(measure.k or 1) if measure.family == "P" else share(n, n_relevant)
        case "CG" | "Grade":
            grades = np.bincount(ties.of_hit, hits.grade, len(ties.topic))
            return _summed(grades * within / ties.size, ties, judged) / float(
                (measure.k or 1) if measure.family == "Grade" else 1
            )
        case "DCG" | "nDCG":
            gains = np.bincount(ties.of_hit, dcg_gains(hits.grade, measure), len(ties.topic))
            last = ties.above + within
            weights = np.cumsum(np.append(0.0, 1.0 / discounts(int(np.max(last, initial=1)))[1:]))
            first = np.minimum(ties.above, last)
            value = _summed(gains * (weights[last] - weights[first]) / ties.size, ties, judged)
            if measure.family == "DCG":
                return value
            return share(value, dcg(judged.ideal, judged, measure))
        case _:
            return _by_order(graded.astype(np.int64), within, ties, judged, measure)


def _summed(values: Values, ties: Ties, judged: JudgedDocuments) -> Values:
    return np.bincount(ties.topic, values, judged.n_topics).astype(np.float64)


def _by_order(
    graded: Numbers, within: Numbers, ties: Ties, judged: JudgedDocuments, measure: Measure
) -> Values:
    """(topics,) expected success, reciprocal rank or average precision, tie by tie."""
    total, above = np.zeros(judged.n_topics), np.zeros(judged.n_topics, dtype=np.int64)
    missed = np.ones(judged.n_topics)  # the probability that no relevant document is above
    columns = (ties.topic, ties.above, ties.size, graded, within)
    for topic, start, n, n_relevant, n_ranks in zip(*(column.tolist() for column in columns), strict=True):
        if not n_relevant or not n_ranks:
            continue
        places = np.arange(1, n_ranks + 1)
        if measure.family == "AP":
            others = (places - 1) * ((n_relevant - 1) / max(n - 1, 1))
            precision = (above[topic] + 1 + others) / (start + places)
            total[topic] += n_relevant / n * precision.sum()
        else:
            # The first relevant document of the tie is at a place if it is relevant and the places above are not.
            open_places = n - places + 1
            not_yet = np.cumprod(np.append(1.0, 1.0 - np.minimum(n_relevant / open_places, 1.0)))
            first = not_yet[:-1] * np.minimum(n_relevant / open_places, 1.0)
            weights = 1.0 / (start + places) if measure.family == "RR" else 1.0
            total[topic] += missed[topic] * (first * weights).sum()
            missed[topic] *= not_yet[-1]
        above[topic] += n_relevant
    if measure.family != "AP":
        return total
    whole = judged.n_graded(measure.level)
    if measure.word("norm") == "retrieved":
        whole = above
    elif measure.word("norm") == "best" and measure.k is not None:
        whole = np.minimum(whole, measure.k)
    return share(total, whole)
