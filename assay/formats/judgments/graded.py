"""Judgments of files with the grades and answers of a protocol, for what compares the judgments of people."""

from collections.abc import Mapping, Sequence
from typing import Any

from assay.formats.compression import read_file
from assay.formats.judgments.cells import grade_of
from assay.formats.judgments.reader import JudgmentsError, parse_judgments
from assay.formats.judgments.rows import JudgmentRow, JudgmentStream
from assay.formats.qrels.reader import Complaint
from assay.protocols.questions import WrongAnswer, from_text, problem_with, stored
from assay.protocols.schema import JudgingRules


def read_graded(
    path: str, rules: JudgingRules | None, *, judge: str = "", columns: Mapping[str, str] | None = None
) -> list[JudgmentRow]:
    """The current judgments of a file with their grades; `judge` is the assessor of a file that names none.

    Raises:
        InputError: The file is not a file of judgments. The message names the lines.
    """
    read = parse_judgments(read_file(path), path, judge=judge, columns=columns or {})
    return graded([row for row in read.rows if row.is_current], rules, path, is_named=has_names(read))


def has_names(read: JudgmentStream) -> bool:
    """Return whether a file may have names of choices as grades."""
    is_own = read.form == "assay-csv"
    return read.form == "turkle" or (is_own and not {"grade", "choice"} <= read.columns.keys())


def graded(
    rows: Sequence[JudgmentRow], rules: JudgingRules | None, name: str, *, is_named: bool
) -> list[JudgmentRow]:
    """The judgments with their grades by the protocol."""
    answers_with_grades = []
    for row in rows:
        try:
            answers, grade = _answers(row, rules), grade_of(row, rules, is_named=is_named)
            is_as_read = grade == row.grade and not answers and not row.answers  # as in most files
            answers_with_grades.append(row if is_as_read else row._replace(grade=grade, answers=answers))
        except (ValueError, WrongAnswer) as error:
            raise JudgmentsError(name, [Complaint(row.line, str(error))]) from None
    return answers_with_grades


def _answers(row: JudgmentRow, rules: JudgingRules | None) -> dict[str, Any]:
    """The answers of a row to questions of the protocol.

    Raises:
        WrongAnswer: A question does not accept its answer.
    """
    if rules is None:
        return {}
    questions = {question.key: question for question in rules.questions}
    given = {
        key: from_text(questions[key], answer) if isinstance(answer, str) else answer
        for key, answer in row.answers.items()
        if key in questions
    }
    answers = stored(rules, given)
    for key, answer in answers.items():
        if answer != [] and (problem := problem_with(questions[key], answer)):
            raise WrongAnswer(key, problem, code="unknown-answer")
    return answers
