"""Measures of citations in characters: how much of the text that a run cites is relevant, and new in the run.

A citation is a span of a post. Its docno is `thread:post:offset:length`, read from its end because the name of a
thread may contain colons. All characters of relevant citations are relevant. A run's citations are read from the best
to the worst, and a character counts as relevant at most once: citations that overlap an earlier one, lie inside it or
repeat it gain nothing from the common characters: these are false alarms. A near-duplicate counts as the citation that
was judged in its place, so after that citation, or after another near-duplicate of it, none of its characters is new.
A citation that is not judged, or judged not relevant, has the relevant characters of the citations that it overlaps.
The ranks below the last citation of a run have no characters, so precision at rank k of a short run is not lowered.

Source:
    BOLT Information Retrieval phase 3, evaluation guidelines, version 2.5: precision, recall and F at rank 100,
    R-precision, and average precision to rank 1000, in characters.
"""

import re
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import NotMeasurable
from assay.measures.kernels import Values, recall_points, share
from assay.measures.matching import Hits, JudgedDocuments, Lines
from assay.protocols.measures import Measure

CITATION = re.compile(rb"^(.+):(\d{1,9}):(\d{1,9})$", re.MULTILINE)
STRIDE = 1 << 32  # between posts on the one axis of all characters; more than an offset and a length
ACCEPTED = "measures in characters need ids like thread:post:offset:length"

Numbers = NDArray[np.int64]


class Spans(NamedTuple):
    """Citations as spans; every attribute is (citations,)."""

    post: list[bytes]
    start: Numbers
    length: Numbers


class RelevantText(NamedTuple):
    """The relevant characters of the qrels, as disjoint spans on one axis, ascending.

    Args:
        code: number of each post on the axis, by index of the topic and post.
        start, end: (spans,) places on the axis.
        n_characters: (topics,) number of relevant characters.
    """

    code: dict[tuple[int, bytes], int]
    start: Numbers
    end: Numbers
    n_characters: Numbers


class Cited(NamedTuple):
    """The citations of a run for topics of the qrels, ordered by topic, then rank; every attribute is (citations,).

    Args:
        topic: index into the topics of the qrels.
        rank: from 1.
        length: number of characters.
        n_new: number of relevant characters that no citation above has.
    """

    topic: Numbers
    rank: Numbers
    length: Numbers
    n_new: Numbers

    def so_far(self, numbers: Numbers) -> Numbers:
        """(citations,) the sum of numbers over each citation and those of its topic above it."""
        total = np.cumsum(numbers)
        first = np.searchsorted(self.topic, self.topic)
        return total - (total - numbers)[first] if len(total) else total


def spans_of(docnos: NDArray[Any]) -> Spans:
    """The spans of citations.

    Raises NotMeasurable: a docno is not `thread:post:offset:length`.
    """
    names = docnos.tolist()
    parts = CITATION.findall(b"\n".join(names))  # all at once, which takes half the time
    if len(parts) < len(names):
        other = next(name for name in names if not CITATION.fullmatch(name))
        raise NotMeasurable(
            f"{other.decode(errors='replace')} is not a citation; {ACCEPTED}",
            title="These measures need citations",
        )
    post, start, length = zip(*parts, strict=True) if parts else ((), (), ())
    return Spans(list(post), *(np.array(numbers, dtype="S9").astype(np.int64) for numbers in (start, length)))


def precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Relevant characters of the top k citations, each counted once, divided by all characters of these citations."""
    cited = cited_characters(hits, judged, measure.level)
    return precision_within(cited, judged.n_topics, _cutoffs(judged, measure))


def recall(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Share of the relevant characters that the top k citations have."""
    cited = cited_characters(hits, judged, measure.level)
    n_new = _sum_within(cited, cited.n_new, judged.n_topics, _cutoffs(judged, measure))
    return share(n_new, relevant_text(judged, measure.level).n_characters)


def f_measure(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Harmonic mean of precision and recall at rank k; they have equal weight."""
    p, r = precision(hits, judged, measure), recall(hits, judged, measure)
    return share(2.0 * p * r, p + r)


def r_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Precision at rank R, the number of relevant citations; near-duplicates together are one citation."""
    cited = cited_characters(hits, judged, measure.level)
    return precision_within(cited, judged.n_topics, judged.n_graded(measure.level))


def average_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """Sum over the ranks of the precision there, times the share of the relevant characters that are new there.

    If all citations have the same length and none overlap, this is the average precision of documents.
    """
    cited = cited_characters(hits, judged, measure.level)
    terms = cited.n_new * (cited.so_far(cited.n_new) / np.maximum(cited.so_far(cited.length), 1))
    total = _sum_within(cited, terms, judged.n_topics, _cutoffs(judged, measure))
    return share(total, relevant_text(judged, measure.level).n_characters)


def precision_at_recall(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """The highest precision at any rank from which on that share of the relevant characters is cited."""
    return interpolated_precision(hits, judged, measure.level, float(measure.number("recall") or 0.0))


def interpolated_precision(hits: Hits, judged: JudgedDocuments, level: int, at: float) -> Values:
    """(topics,) the highest precision at any rank by which a share `at` of the relevant characters is cited.

    A share of R characters is reached with round(share R) of them, at least one; 0.0 if it is not reached.
    """
    cited = cited_characters(hits, judged, level)
    wanted = np.maximum(recall_points(at, relevant_text(judged, level).n_characters), 1)
    n_relevant = cited.so_far(cited.n_new)
    is_reached = n_relevant >= wanted[cited.topic]
    values = np.zeros(judged.n_topics)
    precisions = n_relevant / np.maximum(cited.so_far(cited.length), 1)
    np.maximum.at(values, cited.topic[is_reached], precisions[is_reached])
    return values


def precision_within(cited: Cited, n_topics: int, cutoffs: Numbers) -> Values:
    """(topics,) precision of the citations up to a rank of each topic; 0.0 without citations."""
    n_new = _sum_within(cited, cited.n_new, n_topics, cutoffs)
    return share(n_new, _sum_within(cited, cited.length, n_topics, cutoffs))


def _cutoffs(judged: JudgedDocuments, measure: Measure) -> Numbers:
    k = np.iinfo(np.int64).max if measure.k is None else measure.k
    return np.full(judged.n_topics, k, dtype=np.int64)


def _sum_within(
    cited: Cited, terms: NDArray[np.float64] | Numbers, n_topics: int, cutoffs: Numbers
) -> Values:
    is_within = cited.rank <= cutoffs[cited.topic]
    total = np.bincount(cited.topic[is_within], weights=terms[is_within], minlength=n_topics)
    return total.astype(np.float64, copy=False)


def relevant_text(judged: JudgedDocuments, level: int) -> RelevantText:
    """The characters of citations with a grade from `level`. Near-duplicates have those of the judged citation."""

    def compute() -> RelevantText:
        row = np.flatnonzero((judged.grade >= level) & (judged.head == np.arange(len(judged.grade))))
        spans, code = spans_of(judged.docno[row]), dict[tuple[int, bytes], int]()
        posts = list(zip(judged.topic[row].tolist(), spans.post, strict=True))
        on_axis = [code.setdefault(post, len(code)) for post in posts]
        start = np.array(on_axis, dtype=np.int64) * STRIDE + spans.start
        # without their overlaps, ascending
        order = np.argsort(start, kind="stable")
        start, reach = start[order], np.maximum.accumulate((start + spans.length)[order])
        is_first = np.append(True, start[1:] > reach[:-1])[: len(start)]
        is_last = np.append(is_first[1:], True)[: len(start)]
        start, end = start[is_first], reach[is_last]
        topic = np.array([topic for topic, _ in code], dtype=np.int64)[start // STRIDE]
        n_characters = np.bincount(topic, weights=end - start, minlength=judged.n_topics).astype(np.int64)
        return RelevantText(code, start, end, n_characters)

    return judged.remember(("relevant text", level), compute)


def cited_characters(hits: Hits, judged: JudgedDocuments, level: int) -> Cited:
    """The citations of the run that hits come from.

    Raises:
        NotMeasurable: A docno of the run or of the qrels is not `thread:post:offset:length`.
        ValueError: The hits do not come from a run.
    """
    if hits.lines is None:
        raise ValueError("the hits do not come from a run, so their characters are not known")
    return hits.lines.latest(judged, level, partial(_cited, hits=hits, judged=judged, level=level))


def _cited(lines: Lines, *, hits: Hits, judged: JudgedDocuments, level: int) -> Cited:
    offsets = lines.run.offsets
    topic = np.repeat(lines.place, np.diff(offsets))
    row = np.arange(len(topic))
    rank = row - np.repeat(offsets[:-1], np.diff(offsets)) + 1
    is_counted = (topic >= 0) & (rank <= (np.inf if lines.depth is None else lines.depth))
    row = row[is_counted][np.argsort(topic[is_counted], kind="stable")]
    topic, rank, docno = topic[row], rank[row], lines.run.docno[row].astype(object)
    if hits.entry is not None and len(hits.entry):
        # A near-duplicate has the span of the citation that was judged.
        at = np.searchsorted(topic, hits.topic) + hits.rank - 1
        docno[at] = judged.docno[judged.head[hits.entry]]
    text, spans = relevant_text(judged, level), spans_of(docno)
    code = [text.code.get(place, -1) for place in zip(topic.tolist(), spans.post, strict=True)]
    on_axis = np.array(code, dtype=np.int64)
    start = np.where(on_axis < 0, -STRIDE, on_axis * STRIDE + spans.start)
    # (citations,) number of relevant characters of each citation that no citation above has
    end = start + spans.length
    # the relevant parts of citations: the citation, start and end of each part
    first = np.searchsorted(text.end, start, side="right")
    n_parts = np.maximum(np.searchsorted(text.start, end, side="left") - first, 0)
    citation = np.repeat(np.arange(len(start)), n_parts)
    span = first[citation] + _places_in_group(n_parts)
    starts, ends = np.maximum(start[citation], text.start[span]), np.minimum(end[citation], text.end[span])
    # between two borders, all characters are new in the first citation that has them
    borders = np.unique(np.concatenate([starts, ends]))
    first = np.searchsorted(borders, starts)
    n_steps = np.searchsorted(borders, ends) - first
    owner = np.full(max(len(borders) - 1, 0), len(start))
    np.minimum.at(owner, np.repeat(first, n_steps) + _places_in_group(n_steps), np.repeat(citation, n_steps))
    counted = np.bincount(owner, weights=np.diff(borders), minlength=len(start) + 1)
    return Cited(topic, rank, spans.length, counted[: len(start)].astype(np.int64))


def _places_in_group(sizes: Numbers) -> Numbers:
    """0, 1, ... for each member of groups of these sizes, one group after the other."""
    return np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
