"""Assignments: how far answers contain nuggets, and how far cited documents support sentences. Their files and qrels.

A line of a file is about the answer of a run to a topic, as nuggetizer writes it::

    {query, qid, answer_text, response_length, run_id, nuggets: [{text, importance, assignment}]}

Support of citations has the same form, with `citations: [{text, docid, assignment}]`, where `text` is the sentence;
that list is Assay's own. An assignment is the key of a grade of the protocol, such as `support`, or `failed`.

Answers that are graded by rubrics are those of RAGDoll, with `criteria: [{text, weight, tier, type, verdict}]` in the
place of nuggets. A verdict is one of `VERDICTS`, for the three grades of the protocol, or `failed`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from assay.answers import LISTED, NUGGET, Answer, CitationUnit, NuggetUnit, Sentence, digest_of, unit_of
from assay.errors import InputError
from assay.formats.qrels.columns import PartRow, QrelsColumns, columns_of, documents
from assay.formats.runs.rules import MAX_CITED
from assay.formats.tokens import is_word
from assay.nuggets.files import Record, records
from assay.nuggets.lists import Nugget, NuggetList
from assay.protocols.schema import Grade, JudgingRules
from assay.tables import natural

FAILED = "failed"
VERDICTS = ("not_satisfied", "partially_satisfied", "satisfied")  # for grades in ascending order
NO_GRADE = -1  # in qrels
NOT_A_NUGGET = b"-"  # the importance of a citation


class Assignment(NamedTuple):
    """The grade of a unit of a topic; -1 if the assignment failed."""

    topic: str
    unit: NuggetUnit | CitationUnit
    grade: int


def read_assignments(data: bytes, name: str, judging: JudgingRules) -> list[Assignment]:
    """The assignments of a file.

    Raises:
        InputError: A line has a wrong value, or two lines contradict each other.
    """
    grades: dict[tuple[str, NuggetUnit | CitationUnit], int] = {}
    for record in records(data, name):
        topic = record.topic(record.content.get("qid"), "qid")
        for place, unit, grade in units_in(record, judging):
            if grades.setdefault((topic, unit), grade) != grade:
                raise record.wrong(place, "the assignment that an earlier line with the same texts has")
    return [Assignment(topic, unit, grade) for (topic, unit), grade in grades.items()]


def units_in(record: Record, judging: JudgingRules) -> Iterator[tuple[str, NuggetUnit | CitationUnit, int]]:
    content = record.content
    nuggets, criteria, citations = (
        record.items(content.get(key), key) for key in ("nuggets", "criteria", "citations")
    )
    if not nuggets and not criteria and not citations:
        raise record.wrong(
            "nuggets", "a list of nuggets with assignments, criteria with verdicts, or citations"
        )
    if nuggets or criteria:
        answer = digest_of(record.text(content.get("answer_text"), "answer_text"))
        for items, grade_of in ((nuggets, _grade), (criteria, _verdict)):
            for place, item in items:
                nugget = Nugget(record.text(item.get("text"), f"{place}.text"))
                yield place, NuggetUnit(answer, nugget.key), grade_of(record, place, item, judging)
    for place, item in citations:
        sentence, docno = Sentence(record.text(item.get("text"), f"{place}.text")), item.get("docid")
        if not isinstance(docno, str) or not is_word(docno, MAX_CITED):
            raise record.wrong(f"{place}.docid", "the id of a document")
        yield place, CitationUnit(sentence.digest, docno), _grade(record, place, item, judging)


def _grade(record: Record, place: str, item: Mapping[str, object], judging: JudgingRules) -> int:
    word = item.get("assignment")
    choice = judging.choice(word) if isinstance(word, str) else None
    if isinstance(choice, Grade):
        return choice.value
    if choice is None and word != FAILED:
        raise record.wrong(
            f"{place}.assignment", ", ".join([choice.key for choice in judging.choices] + [FAILED])
        )
    return NO_GRADE


def _verdict(record: Record, place: str, item: Mapping[str, object], judging: JudgingRules) -> int:
    grades = sorted(grade.value for grade in judging.grades)
    if len(grades) != len(VERDICTS):
        raise record.wrong(f"{place}.verdict", "a protocol with three grades")
    word = "_".join(str(item.get("verdict")).lower().replace("_", " ").split())
    if word not in (*VERDICTS, FAILED):
        raise record.wrong(f"{place}.verdict", ", ".join((*VERDICTS, FAILED)))
    return NO_GRADE if word == FAILED else grades[VERDICTS.index(word)]


def write_assignments(
    runs: Mapping[str, Mapping[str, Answer]],
    lists: Sequence[NuggetList],
    grades: Mapping[tuple[str, str], int],
    judging: JudgingRules,
    *,
    citations: int,
) -> bytes:
    """The assignments of the answers of some runs. Failed units say so.

    Args:
        runs: by tag, the answer to each topic.
        grades: by topic and id of a unit; -1 if it failed. Answers without any unit there are left out.
        citations: number of the citations of a sentence that are judged.
    """
    words = {grade.value: grade.key for grade in judging.grades}
    verdicts = dict(zip(sorted(words), VERDICTS, strict=False))
    of_topic = {nuggets.topic: nuggets for nuggets in lists}
    lines = []
    for tag, answers in runs.items():
        for topic, answer in sorted(answers.items()):
            nuggets = of_topic.get(topic, NuggetList(topic))
            content = {
                "query": nuggets.title,
                "qid": topic,
                "answer_text": answer.text,
                "response_length": answer.n_words,
                "run_id": tag,
                "nuggets": [
                    {
                        "text": nugget.shown,
                        "importance": nugget.importance or FAILED,
                        "assignment": words.get(grade, FAILED),
                    }
                    for nugget in nuggets.nuggets
                    if nugget.weight is None and (grade := _of(grades, answer, nugget)) is not None
                ],
                "criteria": [
                    {
                        "text": nugget.shown,
                        "type": nugget.kind,
                        "tier": TIERS.get(nugget.importance, FAILED),
                        "weight": nugget.weight,
                        "verdict": verdicts.get(grade, FAILED),
                    }
                    for nugget in nuggets.nuggets
                    if nugget.weight is not None and (grade := _of(grades, answer, nugget)) is not None
                ],
                "citations": [
                    {"text": sentence.text, "docid": unit.docno, "assignment": words.get(grade, FAILED)}
                    for sentence in answer.sentences
                    for unit in sentence.units(citations)
                    if (grade := grades.get((topic, str(unit)))) is not None
                ],
            }
            if content["nuggets"] or content["criteria"] or content["citations"]:
                kept = {key: value for key, value in content.items() if value or key != "criteria"}
                lines.append(json.dumps(kept, ensure_ascii=False) + "\n")
    return "".join(lines).encode()


TIERS = {"vital": "mandatory", "okay": "optional"}  # of criteria, by the importance


def _of(grades: Mapping[tuple[str, str], int], answer: Answer, nugget: Nugget) -> int | None:
    return grades.get((answer.topic, str(NuggetUnit(answer.digest, nugget.key))))


def grades_of(columns: QrelsColumns) -> dict[tuple[str, str], int]:
    """The grades of qrels by topic and id of a unit."""
    rows = zip(documents(columns), columns.grade.tolist(), strict=True)
    return {(topic.decode(), docno.decode()): grade for (topic, docno), grade in rows}


def qrels_of(assignments: Iterable[Assignment], lists: Sequence[NuggetList]) -> QrelsColumns:
    """Qrels with the assignments, and with the lists of nuggets.

    Raises:
        InputError: A nugget is in no list, or has no importance.
    """
    importance: dict[tuple[str, str], bytes] = {}
    for nuggets in lists:
        for key, nugget in nuggets.by_key.items():
            if not nugget.importance:
                raise InputError(
                    f"the nugget {key} of topic {nuggets.topic} has no importance; use vital or okay"
                )
            weight = "" if nugget.weight is None else f":{nugget.weight:.12g}"
            importance[nuggets.topic, key] = f"{nugget.importance}{weight}".encode()
    listed = [Assignment(topic, NuggetUnit(LISTED, key), NO_GRADE) for topic, key in importance]
    rows = []
    for topic, unit, grade in (*assignments, *listed):
        part = NOT_A_NUGGET
        if isinstance(unit, NuggetUnit):
            if (topic, unit.nugget) not in importance:
                raise InputError(f"the nugget {unit.nugget} of topic {topic} is not in the list of nuggets")
            part = importance[topic, unit.nugget]
        rows.append(PartRow(topic.encode(), str(unit).encode(), grade, (part,)))
    return columns_of(rows, "nuggets")


def with_nuggets(columns: QrelsColumns, lists: Sequence[NuggetList]) -> QrelsColumns:
    """Qrels of judgments with the importance of nuggets, and with the lists.

    Nuggets that are in no list any more are left out: an earlier version of the list had them.

    Raises:
        InputError: A nugget has no importance, or a row is not of generated answers.
    """
    of_topic = {nuggets.topic: nuggets.by_key for nuggets in lists}
    assignments = []
    for (topic, docno), grade in grades_of(columns).items():
        unit = unit_of(docno)
        if unit is None:
            raise InputError(
                f"{docno} of topic {topic} is neither a nugget nor a citation of a generated answer"
            )
        if isinstance(unit, CitationUnit) or unit.nugget in of_topic.get(topic, {}):
            assignments.append(Assignment(topic, unit, grade))
    return qrels_of(assignments, lists)


def without_score(columns: QrelsColumns) -> list[str]:
    """The topics of qrels whose rubric has no positive weight, in natural order. A nugget without one has weight 1."""
    if columns.kind != "nuggets" or columns.parts is None:
        return []
    scored: dict[int, bool] = {}
    rows = zip(columns.topic_index.tolist(), columns.docno.tolist(), columns.parts.tolist(), strict=True)
    for topic, docno, part in rows:
        if docno.startswith(NUGGET.encode()):
            scored[topic] = scored.get(topic, False) or float(part.partition(b":")[2] or 1) > 0
    return sorted(
        (str(columns.topics[topic]) for topic, has_score in scored.items() if not has_score), key=natural
    )
