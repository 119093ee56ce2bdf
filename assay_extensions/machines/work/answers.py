"""The answer of a program to a unit: a grade or a non-answer of the protocol, or what is wrong with it."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.errors import AssayError
from assay.formats.judgments.cells import choice_of
from assay.formats.judgments.rows import JudgmentRow
from assay.protocols.questions import WrongAnswer, check_answers, questions_for
from assay.protocols.schema import Grade, JudgingRules, NonAnswer
from assay.structure import is_number

REQUIRED = ("topic", "docno", "grade")
OPTIONAL = ("comment", "seconds", "answers")
SHOWN = 80  # characters of an answer
MAX_SECONDS = 10**6


class BadAnswer(AssayError):
    """An answer that is not a judgment of the unit. `is_lost`: the program has lost step, so it must start again."""

    def __init__(self, message: str, *, is_lost: bool = False) -> None:
        super().__init__(message)
        self.is_lost = is_lost


@dataclass(frozen=True, slots=True)
class Answer:
    """The choice of the program; `seconds` is None if it does not say."""

    choice: Grade | NonAnswer
    comment: str
    seconds: int | None
    answers: Mapping[str, Any]

    @property
    def grade(self) -> int | None:
        return self.choice.value if isinstance(self.choice, Grade) else None


def read_answer(line: bytes, *, topic: str, docno: str, rules: JudgingRules) -> Answer:
    """The answer in a line: topic, document and grade, which is a number, or the key of a grade or a non-answer.

    Raises BadAnswer: it is not an answer to this unit.

    >>> from assay.protocols.loader import load_protocol
    >>> rules = load_protocol("arqmath-2020-task1").judging
    >>> read_answer(b'{"topic": "A.1", "docno": "7", "grade": 2}', topic="A.1", docno="7", rules=rules).grade
    2
    """
    try:
        row = json.loads(line.decode())
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise BadAnswer(f"expected a JSON object, got {_shown(line.decode(errors='replace'))}")
    missing = [name for name in REQUIRED if name not in row]
    unknown = [name for name in row if name not in REQUIRED + OPTIONAL]
    if missing or unknown:
        wrong = f"{missing[0]} is missing" if missing else f"{unknown[0]} is not known"
        raise BadAnswer(f"{wrong}; expected {', '.join(REQUIRED)}, and optionally {', '.join(OPTIONAL)}")
    asked, answered = (topic, docno), (row["topic"], str(row["docno"]))
    if asked != answered:
        raise BadAnswer(
            f"the answer is for document {answered[1]} of topic {answered[0]}, expected {docno} of {topic}",
            is_lost=True,
        )
    comment = row.get("comment") or ""
    if not isinstance(comment, str):
        raise BadAnswer(f"comment is not a string: {_shown(comment)}")
    grade = row["grade"]
    if isinstance(grade, bool) or not isinstance(grade, (int, str)):
        raise BadAnswer(f"grade is neither a whole number nor a string: {_shown(grade)}")
    named = {"choice": grade} if isinstance(grade, str) else {"grade": grade}
    try:
        choice = choice_of(JudgmentRow(topic, docno, "", **named), rules)
    except ValueError as error:
        raise BadAnswer(str(error)) from None
    if isinstance(choice, NonAnswer) and choice.needs_comment and not comment.strip():
        raise BadAnswer(f"{choice.key} needs a comment that says why")
    return Answer(choice, comment.strip(), _seconds(row.get("seconds")), _answers(row, choice, rules))


def _seconds(value: object) -> int | None:
    if value is None:
        return None
    if not is_number(value) or not math.isfinite(value):
        raise BadAnswer(f"seconds is not a number: {_shown(value)}")
    if not 0 <= value <= MAX_SECONDS:
        raise BadAnswer(f"seconds is not between 0 and {MAX_SECONDS}: {_shown(value)}")
    return round(value)


def _answers(row: Mapping[str, object], choice: Grade | NonAnswer, rules: JudgingRules) -> dict[str, Any]:
    """The answers to questions; those that the program leaves out are for people to see."""
    given = row.get("answers") or {}
    if not isinstance(given, dict):
        raise BadAnswer(f"answers is not an object: {_shown(given)}")
    try:
        return check_answers(rules, questions_for(rules), choice=choice.key, answers=given, needs_all=False)
    except WrongAnswer as wrong:
        raise BadAnswer(f"answers: {_shown(wrong.question)}: {wrong}") from None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
