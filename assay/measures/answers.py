"""Measures of generated answers: the nuggets that an answer contains, and how far what a sentence cites supports it.

A unit that is assigned the highest grade (`max_rel`) counts 1, a lower grade its share of it, and grade 0 nothing. With
the usual grades: support 1, partial support 1/2, none 0. The strict measures count the highest grade only.

V is the share of a topic's vital nuggets that the answer contains, A that of all its nuggets, and W counts okay nuggets
half. They leave out criteria that an answer must avoid. The score of a rubric is the sum of weight times value over its
criteria, divided by the sum of the positive weights; it can be negative. A nugget without a weight has weight 1.
RAGDoll's mean is over the answers whose rubric has a positive weight.

The value is 0 for a topic without nuggets or without an answer. Scoring stops if a nugget or citation of an answer has
no grade: a failed assignment is not a zero.

Source:
    RAGDoll 1f06719, rubric/metrics.py, for rubrics;
    Pradeep et al. (2024), arXiv:2411.09607, and castorini/nuggetizer, core/metrics.py, for V, A and their strict forms;
    vectara/open-rag-eval, autonugget_metric.py, for W (but without its nugget for topics that have no okay ones);
    Thakur et al. (2025), arXiv:2504.15205, for weighted precision and recall of citations. Only the first citation of
    a sentence is judged there; the mean over several ones of a sentence (`citations`) is our own.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.answers import ANSWER, LISTED, NuggetUnit, unit_of
from assay.errors import InputError, NotMeasurable
from assay.formats.runs.columns import Ranked
from assay.measures.kernels import Values, share
from assay.measures.matching import Hits, JudgedDocuments, Lines, remembered
from assay.protocols.measures import Measure

SHOWN = 3  # units that a message names


def _check_assigned(lacking: list[tuple[str, str]]) -> None:
    if lacking:
        named = "; ".join(f"{unit} of topic {topic}" for topic, unit in lacking[:SHOWN])
        more = f" and {len(lacking) - SHOWN:,} more" if len(lacking) > SHOWN else ""
        raise NotMeasurable(
            f"units of the run without a grade: {named}{more}. Judge them, or score only runs that were pooled",
            title="Some nuggets or citations have no grade",
        )


class Nuggets(NamedTuple):
    """The nuggets of qrels by topic, each with its importance and weight, and the grades of those in each answer."""

    listed: list[dict[str, bytes]]
    grades: dict[tuple[int, str], dict[str, int]]


@remembered
def nuggets_of(judged: JudgedDocuments) -> Nuggets:
    listed: list[dict[str, bytes]] = [{} for _ in range(judged.n_topics)]
    grades: defaultdict[tuple[int, str], dict[str, int]] = defaultdict(dict)
    rows = zip(
        judged.topic.tolist(),
        judged.docno.tolist(),
        judged.grade.tolist(),
        judged.parts_of("nuggets"),
        strict=True,
    )
    for topic, docno, grade, importance in rows:
        unit = unit_of(docno.decode())
        if isinstance(unit, NuggetUnit):
            first = listed[topic].setdefault(unit.nugget, importance)
            if first != importance:
                name, words = f"{unit.nugget} of topic {judged.topics[topic]}", (first, importance)
                both = " and ".join(word.decode() for word in sorted(words, reverse=True))
                raise InputError(f"the nugget {name} is both {both} in the qrels; use one list of nuggets")
            if unit.answer != LISTED and grade >= 0:
                grades[topic, unit.answer][unit.nugget] = grade
    return Nuggets(listed, grades)


def _answers(lines: Lines) -> Iterator[tuple[int, str]]:
    """The topic and the digest of each answer of a run; the first row of a topic is the answer."""
    firsts = lines.run.docno[lines.run.offsets[:-1]].tolist()
    for topic, docno in zip(lines.place.tolist(), firsts, strict=True):
        if not docno.startswith(ANSWER.encode()):
            raise NotMeasurable(
                "the run ranks documents; these measures need generated answers, such as those of TREC RAG",
                title="These measures need generated answers",
            )
        if topic >= 0:
            yield topic, docno.decode().removeprefix(ANSWER)


def _lacking_nuggets(lines: Lines, judged: JudgedDocuments) -> list[tuple[str, str]]:
    nuggets = nuggets_of(judged)
    return [
        (str(judged.topics[topic]), str(NuggetUnit(answer, nugget)))
        for topic, answer in _answers(lines)
        for nugget in nuggets.listed[topic]
        if nugget not in nuggets.grades.get((topic, answer), {})
    ]


def nugget_score(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """The share of the nuggets of a topic that its answer contains: the vital ones, all, or weighted; or its score."""
    assert hits.lines is not None  # these measures have no prime
    _check_assigned(_lacking_nuggets(hits.lines, judged))
    return _weighted(hits.lines, judged, measure)[:, 0]


def rubric_counts(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """(topics, 2) the score of each answer by its rubric, and 1 if the topic has an answer and a positive weight."""
    assert hits.lines is not None
    _check_assigned(_lacking_nuggets(hits.lines, judged))
    return _weighted(hits.lines, judged, measure)


def rubric_of_answers(counts: Values) -> Values:
    """(rows,) the mean score of the answers with one, by `rubric_counts`."""
    return share(counts[:, 0], counts[:, 1])


def _weighted(lines: Lines, judged: JudgedDocuments, measure: Measure) -> Values:
    nuggets, values = nuggets_of(judged), np.zeros((judged.n_topics, 2))
    weight_of = WEIGHTS[measure.family.partition("_")[0]]
    is_strict, most = measure.family.endswith("_strict"), measure.number("max_rel") or 1.0
    for topic, answer in _answers(lines):
        weights = {nugget: weight_of(*_parts(word)) for nugget, word in nuggets.listed[topic].items()}
        total = sum(weight for weight in weights.values() if weight > 0)
        values[topic, 1] = total > 0
        for nugget, weight in weights.items() if total else ():
            gain = min(nuggets.grades[topic, answer][nugget] / most, 1.0)
            values[topic, 0] += weight * (np.floor(gain) if is_strict else gain) / total
    return values


def _parts(word: bytes) -> tuple[bool, float]:
    """Read the importance of a nugget: True if it is vital, and its weight."""
    importance, _, weight = word.partition(b":")
    return importance == b"vital", float(weight or 1)


# The weights of nuggets by whether they are vital, and by their own weights.
WEIGHTS: dict[str, Callable[[bool, float], float]] = {
    "V": lambda is_vital, weight: float(is_vital and weight >= 0),
    "A": lambda is_vital, weight: float(weight >= 0),
    "W": lambda is_vital, weight: (1.0 if is_vital else 0.5) * (weight >= 0),
    "Rubric": lambda is_vital, weight: weight,
}


class Support(NamedTuple):
    """The sentences of a run, and the support of those with citations: each (topics,)."""

    n_sentences: Values
    n_cited: Values
    total: Values  # of the values of the sentences


class _Sentences(NamedTuple):
    """The rows of the judged citations of a run, with the sentence of each; and the topic of each sentence."""

    row: NDArray[np.intp]
    sentence: NDArray[np.intp]
    topic: NDArray[np.int64]


def _sentences(lines: Lines, most: int) -> _Sentences:
    """The first citations of the sentences in topics of the qrels."""
    run, kind = lines.run, lines.run.docno.astype("S1")
    list(_answers(lines))  # else the rows are documents
    topic = np.repeat(lines.place, np.diff(run.offsets))
    starts = np.flatnonzero(kind == b"s")
    row = np.flatnonzero((kind == b"c") & (topic >= 0))
    sentence = np.searchsorted(starts, row) - 1
    is_first = row - starts[sentence] <= most if len(row) else np.zeros(0, dtype=np.bool_)
    return _Sentences(row[is_first], sentence[is_first], topic[starts])


def _grades(lines: Lines, judged: JudgedDocuments) -> NDArray[np.int64]:
    """(rows of the run,) the grade of each; -1 without one."""
    grade = np.full(len(lines.run), -1, dtype=np.int64)
    located = judged.locate(lines.run)
    start = np.zeros(judged.n_topics, dtype=np.int64)
    is_there = lines.place >= 0
    start[lines.place[is_there]] = lines.run.offsets[:-1][is_there]
    grade[start[judged.topic[located.entry]] + located.rank - 1] = judged.grade[located.entry]
    return grade


def _lacking_citations(lines: Lines, judged: JudgedDocuments, most: int) -> list[tuple[str, str]]:
    row = _sentences(lines, most).row
    row = row[_grades(lines, judged)[row] < 0]
    topic = np.repeat(lines.place, np.diff(lines.run.offsets))[row]
    docnos = lines.run.docno[row].tolist()
    return [(str(judged.topics[t]), docno.decode()) for t, docno in zip(topic.tolist(), docnos, strict=True)]


def _support(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Support:
    lines, most = hits.lines, int(measure.number("citations") or 1)
    assert lines is not None  # these measures have no prime
    _check_assigned(_lacking_citations(lines, judged, most))
    sentences = _sentences(lines, most)
    gain = np.minimum(_grades(lines, judged)[sentences.row] / (measure.number("max_rel") or 1.0), 1.0)
    n = len(sentences.topic)
    n_citations = np.bincount(sentences.sentence, minlength=n)
    value = share(np.bincount(sentences.sentence, weights=gain, minlength=n), n_citations)
    is_judged = sentences.topic >= 0
    topic, n_topics = sentences.topic[is_judged], judged.n_topics

    def total(of_sentences: Values) -> Values:
        return np.asarray(np.bincount(topic, of_sentences[is_judged], n_topics), dtype=np.float64)

    return Support(total(np.ones(n)), total((n_citations > 0).astype(np.float64)), total(value))


def support_precision(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """The support of the sentences that cite something, on average."""
    support = _support(hits, judged, measure)
    return share(support.total, support.n_cited)


def support_recall(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """The support of all sentences, on average; one that cites nothing has none."""
    support = _support(hits, judged, measure)
    return share(support.total, support.n_sentences)


def support_f(hits: Hits, judged: JudgedDocuments, measure: Measure) -> Values:
    """The harmonic mean of support precision and recall, by topic."""
    support = _support(hits, judged, measure)
    return share(2 * support.total, support.n_cited + support.n_sentences)


def unassigned(run: Ranked, judged: JudgedDocuments, *, citations: int = 1) -> list[tuple[str, str]]:
    """Topic and id of each unit of a run that has no grade, which stops the scoring.

    Args:
        citations: number of the citations of a sentence that are judged; 0: none.
    """
    lines = judged.locate(run).lines
    lacking = _lacking_nuggets(lines, judged) if judged.kind == "nuggets" else []
    return lacking + (_lacking_citations(lines, judged, citations) if citations else [])
