"""Writes rows with their judgments, or votes, as a labeling configuration and tasks of Label Studio."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from assay.errors import InputError, plural
from assay.formats.judgments.rows import JudgmentRow
from assay.formats.rows import TableRow
from assay.preferences.votes import BAD, TIE, Vote
from assay.protocols.form_rules import ROW_COLUMNS
from assay.protocols.questions import Condition
from assay.protocols.schema import JudgingRules, Protocol, Question, QuestionChoice
from assay.templates import PLACEHOLDER, QUESTION
from assay_extensions.label_studio.config import TYPES, VARIABLE
from assay_extensions.label_studio.moves import DOCNO

GRADE = "grade"  # the control of the scale of a protocol
PREFERENCE, NEITHER = "preference", "neither"  # the controls of a comparison
STARS = 10


@dataclass
class Written:
    """A labeling configuration and tasks, with what a person should know about them."""

    config: str
    tasks: list[dict[str, Any]]
    notes: list[str] = field(default_factory=list)

    @property
    def tasks_json(self) -> str:
        """The tasks as a list of JSON, one a line."""
        lines = ",\n".join(json.dumps(task, ensure_ascii=False) for task in self.tasks)
        return f"[\n{lines}\n]\n"


def tag_of(question: Question) -> str:
    """The control that asks a question; nothing if Label Studio has none.

    >>> tag_of(Question("a", "A", kind="number"))
    'Number'
    """
    keys = [choice.key for choice in question.choices]
    is_stars = keys == [str(n) for n in range(1, len(keys) + 1)] and 2 <= len(keys) <= STARS
    if question.kind == "one-of" and is_stars and [choice.label for choice in question.choices] == keys:
        return "Rating"
    tags = {
        "one-of": "Choices",
        "any-of": "Choices",
        "yes-no": "Choices",
        "number": "Number",
        "text": "TextArea",
        "span": "Labels",
    }
    return "" if question.choices_from else tags.get(question.kind, "")


def write_rows(protocol: Protocol, rows: Sequence[TableRow], judgments: Iterable[JudgmentRow]) -> Written:
    """The rows of a form as tasks, with their judgments as annotations.

    Raises:
        InputError: The protocol has no form, a field cannot be a variable, or a judgment is of no row.
    """
    judging = protocol.judging
    if judging.form is None:
        raise InputError(f"{protocol.slug} judges no rows of a table; its layout is {judging.layout}")
    notes: list[str] = []
    questions = {question.key: question for question in _questions(judging, notes)}
    fields = [name for name in judging.form.fields if name not in ROW_COLUMNS]
    for name in fields:
        if not VARIABLE.fullmatch(f"${name}"):
            raise InputError(
                f"the field {name!r} cannot be a variable of Label Studio; use letters, digits and _"
            )
    view = etree.Element("View")
    # A text for each field, in the order of the page.
    places = [match[1].strip() for match in PLACEHOLDER.finditer(judging.form.html)]
    placed = [name for name in dict.fromkeys(places) if not name.startswith(QUESTION)]
    names = [name for name in placed if name in (*fields, *ROW_COLUMNS)] or ["docno"]
    for name in names:
        etree.SubElement(view, "Text", name=_object_name(name, questions), value=f"${name}")
    shown = _object_name(names[0], questions)
    for question in questions.values():
        field_of_text = question.field and _object_name(question.field, questions)
        _add_control(view, question, field_of_text or shown, notes)
    tasks = _tasks(rows, judgments, questions, judging, shown)
    return Written(_xml(view), tasks, notes)


def _questions(judging: JudgingRules, notes: list[str]) -> Iterator[Question]:
    """The questions that Label Studio can ask; the scale is the first one."""
    if judging.given_grades:
        choices = tuple(
            QuestionChoice(grade.key, grade.label, definition=grade.definition) for grade in judging.grades
        )
        yield Question(GRADE, "Grade", given_choices=choices)
        notes.append(f"the grades are the choices of {GRADE}")
    for question in judging.questions:
        if tag_of(question):
            yield question
        else:
            notes.append(f"{question.key} ({question.kind}) has no counterpart and is left out")


def _object_name(name: str, questions: Mapping[str, Question]) -> str:
    """A name that no control has: both are of one kind."""
    while name in questions:
        name += "-text"
    return name


def _add_control(view: etree._Element, question: Question, shown: str, notes: list[str]) -> None:
    tag = tag_of(question)
    has_view = tag == "Labels" and bool(question.after or question.after_all)  # labels have no condition
    around = etree.SubElement(view, "View") if has_view else view
    etree.SubElement(around, "Header", value=question.label)
    control = etree.SubElement(around, tag, name=question.key, toName=shown)
    if question.required and tag != "Labels":
        control.set("required", "true")
    if tag == "Choices":
        control.set("choice", "multiple" if question.kind == "any-of" else "single")
    elif tag == "Rating":
        control.set("maxRating", str(len(question.choices)))
    elif tag == "TextArea":
        control.set("maxSubmissions", "1")
        control.set("rows", "3")
    of_choices = {"Choices": "Choice", "Labels": "Label"}
    for choice in question.choices if tag in of_choices else ():
        made = etree.SubElement(control, of_choices[tag], value=choice.label)
        if choice.key != choice.label:
            made.set("alias", choice.key)
        if choice.definition:
            made.set("hint", choice.definition)
    for key in ("min", "max"):
        if (limit := getattr(question, key)) is not None:
            control.set(key, f"{limit:g}")
    _add_conditions(around if has_view else control, question, notes)


def _add_conditions(control: etree._Element, question: Question, notes: list[str]) -> None:
    """Show a control after a choice: Label Studio knows one earlier control, and some of its choices."""
    conditions = [Condition.parse(text) for text in (*question.after, *question.after_all)]
    if not conditions:
        return
    controls = {condition.of or GRADE for condition in conditions}
    if len(controls) > 1 or any(condition.label for condition in conditions) or len(question.after_all) > 1:
        notes.append(f"{question.key} is asked always; its conditions have no counterpart")
        return
    control.set("visibleWhen", "choice-selected")
    control.set("whenTagName", controls.pop())
    control.set("whenChoiceValue", ",".join(condition.value for condition in conditions))


def _tasks(
    rows: Sequence[TableRow],
    judgments: Iterable[JudgmentRow],
    questions: Mapping[str, Question],
    judging: JudgingRules,
    shown: str,
) -> list[dict[str, Any]]:
    tasks = {
        (row.topic, row.docno): _task(n, {"topic": row.topic, "docno": row.docno, **row.fields})
        for n, row in enumerate(rows, 1)
    }
    for row in judgments:
        if not row.is_current or row.is_withdrawn or row.is_check:
            continue
        task = tasks.get((row.topic, row.docno))
        if task is None:
            raise InputError(f"line {row.line} of the judgments: {row.topic} {row.docno} is not in the table")
        is_skipped = row.choice in {choice.key for choice in judging.non_answers}
        answers = ({GRADE: row.choice} if GRADE in questions and judging.given_grades else {}) | dict(
            row.answers
        )
        results = [
            result
            for key, answer in ({} if is_skipped else answers).items()
            if key in questions
            for result in _results(task, questions, key, shown, answer)
        ]
        time = row.judged_at.isoformat() if row.judged_at else None
        task["annotations"].append(_annotation(row.assessor, results, is_skipped, time, row.seconds))
    return list(tasks.values())


def _task(number: int, data: Mapping[str, str]) -> dict[str, Any]:
    return {"id": number, "data": dict(data), "annotations": []}


def _annotation(
    assessor: str,
    results: Sequence[Mapping[str, object]],
    is_skipped: bool,
    time: str | None,
    seconds: int | None,
) -> dict[str, Any]:
    """An annotation. A number is the id of a person, and any other name is given as an email."""
    optional = {"created_at": time, "lead_time": seconds}
    return {
        "completed_by": int(assessor) if assessor.isdecimal() else {"email": assessor},
        "was_cancelled": is_skipped,
        "result": list(results),
        **{key: value for key, value in optional.items() if value is not None},
    }


def _results(
    task: Mapping[str, Any], questions: Mapping[str, Question], key: str, shown: str, answer: Any
) -> Iterator[dict[str, Any]]:
    """The results of an answer: one, or one for each marked part."""
    question, name = questions[key], f"{task['id']}-{key}"
    if question.kind != "span":
        tag = tag_of(question)
        kind, value_key = TYPES[tag]
        value: Any = answer if isinstance(answer, list) else [answer]
        if tag == "Rating":
            value = int(answer)
        elif tag == "Number":
            value = float(answer) if "." in answer else int(answer)
        yield _result(name, key, shown, kind, {value_key: value})
        return
    text, of_text = task["data"][question.field], _object_name(question.field, questions)
    for n, part in enumerate(answer, 1):
        start, end = part["start"], part["start"] + part["length"]
        marked = {"start": start, "end": end, "text": text[start:end], "labels": [part["choice"]]}
        yield _result(f"{name}-{n}", key, of_text, "labels", marked)


def _result(name: str, control: str, shown: str, kind: str, value: Mapping[str, object]) -> dict[str, Any]:
    return {"id": name, "from_name": control, "to_name": shown, "type": kind, "value": dict(value)}


def _xml(view: etree._Element) -> str:
    etree.indent(view)
    return etree.tostring(view, encoding="unicode") + "\n"


def write_votes(
    votes: Iterable[Vote], documents: Mapping[str, str], *, question: str, is_html: bool = False
) -> Written:
    """Votes as tasks of a pairwise control. Label Studio has no tie, so a second control says it.

    Args:
        documents: the text of each document; one that is not there has its docno.
    """
    view = etree.Element("View")
    etree.SubElement(view, "Header", value=question)
    for side in DOCNO:
        etree.SubElement(view, "HyperText" if is_html else "Text", name=side, value=f"${side}")
    etree.SubElement(view, "Pairwise", name=PREFERENCE, toName=",".join(DOCNO))
    etree.SubElement(view, "Header", value="Or choose neither:")
    neither = etree.SubElement(view, "Choices", name=NEITHER, toName="left", choice="single")
    for key, label in ((TIE, "Equally good"), (BAD, "Both useless")):
        etree.SubElement(neither, "Choice", value=label, alias=key)
    tasks: dict[tuple[str, str, str], dict[str, Any]] = {}
    for vote in votes:
        texts = {side: documents.get(docno, docno) for side, docno in zip(DOCNO, vote[1:3], strict=True)}
        data = {"topic": vote.topic, **dict(zip(DOCNO.values(), vote[1:3], strict=True)), **texts}
        task = tasks.setdefault(vote[:3], _task(len(tasks) + 1, data))
        if vote.loser:
            # Label Studio's editor names the control itself as the object of a comparison.
            chosen = {"selected": "left" if vote.winner == vote.left else "right"}
            result = _result(f"{task['id']}-{PREFERENCE}", PREFERENCE, PREFERENCE, "pairwise", chosen)
        else:
            chosen_neither = {"choices": [vote.winner]}
            result = _result(f"{task['id']}-{NEITHER}", NEITHER, "left", "choices", chosen_neither)
        task["annotations"].append(_annotation(vote.assessor, [result], False, None, None))
    lacking = sorted({docno for vote in tasks for docno in vote[1:]} - documents.keys())
    notes = (
        [f"{plural(len(lacking), 'document has,documents have')} no text, such as {lacking[0]}"]
        if lacking
        else []
    )
    return Written(_xml(view), list(tasks.values()), notes)
