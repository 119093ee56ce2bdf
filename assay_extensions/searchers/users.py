"""uRBP, U-measure, and discounted cumulative gain of sessions.

Source:
    Zuccon (2016), doi:10.1007/978-3-319-30671-1_21: uRBP, by the formulas of ubire. Sakai and Dou (2013),
    doi:10.1145/2484028.2484031: U-measure; its discount is at the end of a document, as in Sakai's entry of the
    Encyclopedia of Database Systems, doi:10.1007/978-1-4899-7993-3_80706-1. Järvelin et al. (2008),
    doi:10.1007/978-3-540-78646-7_4: SessionDCG (sDCG); Kanoulas et al. (2011), doi:10.1145/2009916.2010056: its
    discounts here, and nSessionDCG (nsDCG), by the formulas of ir_metrics.
"""

import re

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, NotMeasurable
from assay.measures.kernels import MOST_EXPONENT, Values, share, sums, top
from assay.measures.matching import Hits, JudgedDocuments, position_in_topic, remembered
from assay.measures.pooled import Counts
from assay.protocols.measures import Measure

RELEVANCE, UNDERSTANDING = b"1", b"2"  # the subtopics of qrels for uRBP
QUERY = re.compile(r"(.+)[._-](\d{1,9})")  # session and number of a topic, such as 1-2_3


@remembered
def _graded_twice(judged: JudgedDocuments) -> NDArray[np.int64]:
    """(rows, 2) how relevant each document is, and how well it is understood; 0 if the qrels do not say it."""
    grades = np.zeros((len(judged.topic), 2), dtype=np.int64)
    for row, words in enumerate(judged.parts_of("subtopics")):
        for word in words.split():
            name, _, grade = word.rpartition(b":")
            if name not in {RELEVANCE, UNDERSTANDING}:
                raise NotMeasurable(
                    f"uRBP needs the subtopics 1, the relevance, and 2, the understandability; got {name.decode()}",
                    title="These measures need other qrels",
                )
            grades[row, int(name == UNDERSTANDING)] = max(int(grade), 0)
    return grades


def understood_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """(topics,) rank-biased precision, in which a relevant document counts as much as it is understood.

    That is 1 from the grade `from` of the understandability and 0 below, or the percentage of its grade in `percent`.
    """
    retrieved = top(hits, measure.k)
    assert retrieved.entry is not None
    relevance, understanding = _graded_twice(judged)[retrieved.entry].T
    gain = (understanding >= (measure.number("from") or 1)).astype(np.float64)
    if percent := measure.table("percent"):
        gain = np.array([min(percent.get(grade, 0), 100) / 100 for grade in understanding.tolist()])
    gain *= relevance >= measure.level
    persistence = measure.number("p") or 0.0
    return (1.0 - persistence) * sums(retrieved, gain * persistence ** (retrieved.rank - 1))


def u_measure(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """(topics,) the gain of each relevant document, less the share of L characters that are read until its end.

    A searcher reads `snippet` characters of each document, and `text` characters more of each relevant one. The gain
    is (2^grade - 1) / 2^max_rel, or that of the highest grade of the topic.
    """
    retrieved = top(hits, measure.k)
    relevant = retrieved.kept(retrieved.grade >= measure.level)
    n_read = position_in_topic(relevant.topic, judged.n_topics) + 1
    read = relevant.rank * (measure.number("snippet") or 0.0) + n_read * (measure.number("text") or 0.0)
    fixed = measure.number("max_rel")
    highest = judged.highest_grades[relevant.topic] if fixed is None else fixed
    gain = _exponential(relevant.grade, measure) / np.exp2(highest)
    return sums(relevant, gain * np.maximum(1.0 - read / (measure.number("L") or 1.0), 0.0))


def session_gains(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Counts:
    """(topics, 3) of the first query of a session its SessionDCG and 1, else 0 and 0; then that of the session."""
    return _by_session(_discounted(hits, judged, measure), judged)


def normalized_session_gains(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Counts:
    """(topics, 3) as for SessionDCG, divided by that of a session whose queries have the best rankings."""
    best = judged.remember(str(measure), lambda: _discounted(judged.ideal, judged, measure))
    return _by_session(_discounted(hits, judged, measure), judged, best)


def of_sessions(summed: Counts) -> Values:
    """(rows,) the mean over the sessions whose first query is in a row; the session's value for another query."""
    gain, n_sessions, own = summed.T
    return np.where(n_sessions > 0, share(gain, n_sessions), own)


@remembered
def _sessions(judged: JudgedDocuments) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(topics,) the session of each topic, and its place among the session's topics, from 0, by their numbers."""
    names = []
    for code in judged.topics.tolist():
        parts = QUERY.fullmatch(code)
        names.append((parts[1], int(parts[2])) if parts else (code, 0))
    order = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
    session = np.unique([name for name, _ in names], return_inverse=True)[1].astype(np.int64)
    place = np.empty(len(names), dtype=np.int64)
    place[order] = position_in_topic(session[order], len(names))
    return session, place


def _discounted(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """(topics,) the discounted gain of each query, discounted by its place in the session."""
    base, query_base = (measure.number(name) or 2.0 for name in ("b", "bq"))
    retrieved = top(hits, measure.k)
    gain = _exponential(retrieved.grade, measure) * np.log(base) / np.log(retrieved.rank + base - 1)
    place = _sessions(judged)[1]
    return np.array(sums(retrieved, gain) * np.log(query_base) / np.log(place + query_base))


def _by_session(gain: Values, judged: JudgedDocuments, best: Values | None = None) -> Counts:
    session, place = _sessions(judged)
    own: Values = np.bincount(session, weights=gain).astype(np.float64)
    if best is not None:
        own = share(own, np.bincount(session, weights=best))
    is_first = place == 0
    return np.stack(
        [np.where(is_first, own[session], 0.0), is_first.astype(np.float64), own[session]], axis=1
    )


def _exponential(grade: NDArray[np.int64], measure: Measure) -> Values:
    if np.max(grade, initial=0) > MOST_EXPONENT:
        raise InputError(f"{measure}: the gain 2^grade is too large for grades above {MOST_EXPONENT}")
    return np.array(np.exp2(grade) - 1.0)
