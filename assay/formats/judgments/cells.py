"""From the cells of a row, as text, to a judgment, or what is wrong with them; and what it means in a protocol."""

import json
import re
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any, NamedTuple

from assay.formats.judgments.rows import ASSAY, TURKLE, JudgmentRow
from assay.formats.spreadsheet import original
from assay.protocols.schema import Grade, JudgingRules, NonAnswer

WHOLE = re.compile(r"[+-]?\d{1,4}(\.0*)?")
COUNT = re.compile(r"\d{1,9}(\.\d*)?")
TURKLE_TIME = "%a %b %d %H:%M:%S %Y"  # between time and year is the zone
ZONES = {"UTC", "GMT"}
ANSWER_TO = "answers."  # before the key of a question: the field of an answer to it
TRUE, FALSE = {"true", "1", "yes"}, {"false", "0", "no"}


class Wrong(NamedTuple):
    message: str


class BadCell(ValueError):
    """A cell that cannot be used."""


def row_of(cells: Mapping[str, str], form: str, line: int = 0) -> JudgmentRow | Wrong:
    """The judgment in the cells, by field."""
    if "\0" in "".join(cells.values()):
        unusable = next(name for name, text in cells.items() if "\0" in text)
        return Wrong(f"{unusable} contains a NUL character")
    if form == "assay-csv":
        cells = {name: original(text) for name, text in cells.items()}
    is_turkle = form == "turkle"
    try:
        topic, docno, assessor = (_word(cells, name) for name in ("topic", "docno", "assessor"))
        if not (topic and docno and assessor):
            raise BadCell("expected a topic, a docno and an assessor")
        if len(topic.split()) > 1 or len(docno.split()) > 1:
            raise BadCell(f"topic {topic!r} and docno {docno!r} must not contain white space")
        has_words = form == "assay-csv" and "choice" not in cells
        choice, grade = _answer(cells, is_turkle=is_turkle, has_words=has_words)
        others = {attribute: read(cells, name) for attribute, name, read in _readers(tuple(cells))}
        if is_turkle or not others.get("source"):
            others["source"] = TURKLE if is_turkle else ASSAY
        return JudgmentRow(topic, docno, assessor, line, choice, grade, cells.get("comment", ""), **others)
    except BadCell as refused:
        return Wrong(str(refused))


def check_cell(name: str, text: str, form: str) -> None:
    """Raise `BadCell` if a cell of a field that no other cell depends on cannot be used."""
    if "\0" in text:
        raise BadCell(f"{name} contains a NUL character")
    if name in READERS:
        READERS[name]({name: original(text) if form == "assay-csv" else text}, name)


def _word(cells: Mapping[str, str], name: str) -> str:
    """A cell whose words repeat from row to row: equal ones are one object."""
    text = cells.get(name, "")
    return sys.intern(text.strip()) if text else text


def _answer(cells: Mapping[str, str], *, is_turkle: bool, has_words: bool) -> tuple[str, int | None]:
    """Key and grade. Turkle, and a table that `has_words`, have one answer, which is a number or a word."""
    text = cells.get("grade", "").strip()
    if WHOLE.fullmatch(text):
        return _word(cells, "choice"), int(float(text))
    if is_turkle:
        if not text:
            raise BadCell("the row has no answer")
        return text, None
    if text and not (has_words and text[0].isalpha()):
        raise BadCell(f"grade {text!r} is not a whole number; leave it empty for a non-answer")
    return _word(cells, "choice") or sys.intern(text), None


def _count(cells: Mapping[str, str], name: str) -> int | None:
    text = cells.get(name, "").strip()
    if not text:
        return None
    if not COUNT.fullmatch(text):
        raise BadCell(f"{name} {text!r} is not a number")
    return round(float(text))


def _truth(cells: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = cells.get(name, "").strip().casefold()
    if text and text not in TRUE | FALSE:
        raise BadCell(f"{name} {text!r} is neither True nor False")
    return text in TRUE if text else default


def _answers(cells: Mapping[str, str]) -> dict[str, Any]:
    text = cells.get("answers", "").strip()
    try:
        answers = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        answers = None
    if not isinstance(answers, dict):
        raise BadCell(f'answers {text[:40]!r} is not an object of JSON such as {{"question": "answer"}}')
    named = {name: cell for name, cell in cells.items() if name.startswith(ANSWER_TO)}
    return answers | {name.removeprefix(ANSWER_TO): cell.strip() for name, cell in named.items()}


def _time(cells: Mapping[str, str], name: str) -> datetime | None:
    text = cells.get(name, "").strip()
    if not text:
        return None
    words = text.split()
    try:
        if len(words) == 6 and words[4] in ZONES:
            return datetime.strptime(" ".join([*words[:4], words[5]]), TURKLE_TIME).replace(tzinfo=UTC)
        time = datetime.fromisoformat(text)
    except ValueError:
        accepted = "2026-11-20T10:30:37+00:00 or Fri Nov 20 10:30:37 UTC 2026"
        raise BadCell(f"{name} {text!r} is not a time such as {accepted}") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


Reader = Callable[[Mapping[str, str], str], Any]
# What reads each field of a file besides those that all files have; in the order of their complaints.
READERS: Mapping[str, Reader] = {
    **dict.fromkeys(("pool", "batch", "kind"), _word),
    "round": _count,
    **dict.fromkeys(("unit", "left"), _word),
    "answers": lambda cells, _: _answers(cells),
    "guidelines": _count,
    "order": _word,
    "seat": _count,
    **dict.fromkeys(("accepted_at", "judged_at"), _time),
    **dict.fromkeys(("seconds", "judgment", "replaces"), _count),
    "is_current": partial(_truth, default=True),
    **dict.fromkeys(("is_withdrawn", "is_check"), partial(_truth, default=False)),
    "source": _word,
}


@lru_cache(maxsize=64)
def _readers(names: tuple[str, ...]) -> list[tuple[str, str, Reader]]:
    """The attribute of a row, the field and its reader, for the fields of a file."""
    present = {"answers" if name.startswith(ANSWER_TO) else name for name in names}
    renamed = {"judgment": "number"}
    return [(renamed.get(name, name), name, read) for name, read in READERS.items() if name in present]


def choice_of(row: JudgmentRow, rules: JudgingRules) -> Grade | NonAnswer:
    """The choice that a row names: by its key or label, or by the number of the grade.

    Raises `ValueError` if the protocol has no such choice, or the choice has another grade.
    """
    if row.choice:
        folded = row.choice.strip().casefold()
        named = rules.choice(row.choice) or next(
            (
                choice
                for choice in rules.choices
                if folded in {choice.key.casefold(), choice.label.casefold()}
            ),
            None,
        )
        if named is None:
            raise ValueError(f"{row.choice!r} is not a choice of the protocol; use {_accepted(rules)}")
        grade = named.value if isinstance(named, Grade) else None
        if row.grade is not None and row.grade != grade:
            raise ValueError(f"{row.choice!r} has the grade {grade}, not {row.grade}")
        return named
    if row.grade is None:
        raise ValueError(f"neither choice nor grade is given; use {_accepted(rules)}")
    graded = _choice_with_number(row.grade, rules)
    if graded is None:
        raise ValueError(f"grade {row.grade} is not in the protocol; use {_accepted(rules)}")
    return graded


def _choice_with_number(number: int, rules: JudgingRules) -> Grade | NonAnswer | None:
    grade = next((grade for grade in rules.grades if grade.value == number), None)
    return grade or next(
        (non_answer for non_answer in rules.non_answers if non_answer.qrels_code == number), None
    )


def _accepted(rules: JudgingRules) -> str:
    grades = [f"{grade.key} ({grade.value})" for grade in rules.grades]
    return ", ".join([*grades, *(choice.key for choice in rules.non_answers)])


def grade_of(row: JudgmentRow, rules: JudgingRules | None, *, is_named: bool) -> int | None:
    """The grade of a row, None for a non-answer. If it `is_named`, the file has names of choices instead of numbers.

    Raises `ValueError` if the protocol has no such choice; without a protocol, names mean nothing.
    """
    if row.grade is not None:
        return (
            row.grade
            if rules is None or not isinstance(_choice_with_number(row.grade, rules), NonAnswer)
            else None
        )
    if not is_named or not row.choice:
        return None
    if rules is None:
        raise ValueError(
            f"the answer {row.choice!r} is not a whole number; with --protocol, keys and labels of its choices are "
            "accepted"
        )
    choice = choice_of(row, rules)
    return choice.value if isinstance(choice, Grade) else None
