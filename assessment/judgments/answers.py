"""The check of a choice and of the answers to the questions of a protocol, and how a page shows them.

A form names the field of an answer by its question, with the suffix of the document's other fields:
`answer-dialect-17`.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.utils.translation import gettext

from assay.errors import Sentence
from assay.formats.topics.subtopics import labels_of
from assay.html.sanitize import plain
from assay.languages import any_of
from assay.protocols import questions as of_protocol
from assay.protocols.questions import Condition, WrongAnswer, accepts, asked, from_text, questions_for, when
from assay.protocols.schema import Grade, JudgingRules, NonAnswer, Question
from assessment.errors import AnswerRefused
from assessment.models import Task
from pooling.models import PoolMember
from tracks.models import Topic
from tracks.rows.selectors import values_of


def check_choice(rules: JudgingRules, *, choice: str, comment: str) -> Grade | NonAnswer:
    """The grade or non-answer with a key.

    Raises:
        AnswerRefused: The protocol has no such choice, or the choice needs a comment, and there is none.
    """
    known = rules.choice(choice)
    if known is None:
        keys = ", ".join(known_choice.key for known_choice in rules.choices)
        message = gettext("“{choice}” is not a choice of this protocol; use {keys}.")
        message = message.format(choice=choice, keys=keys)
        raise AnswerRefused("choice", message, code="unknown-choice")
    if needs_comment(known) and not comment.strip():
        message = gettext("“{choice}” needs a comment that says why.").format(choice=known.label)
        raise AnswerRefused("comment", message, code="comment-needed")
    return known


def in_language(text: str) -> str:
    """A text of the library in the language of the page."""
    if not isinstance(text, Sentence):
        return text
    values = {
        name: in_language(value) if isinstance(value, str) else value for name, value in text.values.items()
    }
    return gettext(text.template).format(**values)


def needs_comment(choice: Grade | NonAnswer) -> bool:
    return isinstance(choice, NonAnswer) and choice.needs_comment


PREFIX = "answer-"
GIVEN = "answers"  # the field with all answers of a frame, as JSON


class ShownChoice(NamedTuple):
    """A choice of a unit or of a question on the judging page; `value` is that of a grade."""

    key: str
    label: str
    definition: str
    shortcut: str
    value: int | None = None
    needs_comment: bool = False
    is_chosen: bool = False  # of a question


@dataclass(frozen=True)
class ShownQuestion:
    """A question on the judging page; `text` is the answer as its field has it."""

    question: Question
    field: str
    asked_after: str
    languages: str
    is_asked: bool
    choices: list[ShownChoice]
    text: str
    hint: str


class Answered(NamedTuple):
    question: str
    answer: str


def field_of(question: str, suffix: str = "") -> str:
    return f"{PREFIX}{question}{suffix}"


def fields_of(rules: JudgingRules, answers: Mapping[str, object], suffix: str = "") -> dict[str, str]:
    """Stored answers as values of the form's fields."""
    if rules.form is not None and rules.form.frame:
        return {GIVEN: json.dumps(of_protocol.as_given(rules, answers))}
    return {
        field_of(question.key, suffix): of_protocol.as_text(question, answers[question.key])
        for question in rules.questions
        if question.key in answers
    }


def shown_questions(
    rules: JudgingRules,
    questions: Iterable[Question],
    values: Mapping[str, object],
    shortcuts: Mapping[tuple[str, str], str],
    suffix: str = "",
) -> list[ShownQuestion]:
    """The questions about a document.

    `values` are those of the form's fields, `shortcuts` the keys of choices by question and choice.
    """
    texts = {question.key: str(values.get(field_of(question.key, suffix), "")) for question in questions}
    if not texts:
        return []
    answers = {question.key: from_text(question, texts[question.key]) for question in questions}
    choice = str(values.get(f"choice{suffix}", ""))
    is_asked = {question.key for question in asked(rules, questions, choice=choice, answers=answers)}
    return [
        ShownQuestion(
            question=question,
            field=field_of(question.key, suffix),
            asked_after=in_language(when(rules, question)),
            languages=in_language(any_of(question.languages)) if question.languages else "",
            is_asked=question.key in is_asked,
            choices=[
                ShownChoice(
                    choice.key,
                    choice.label,
                    choice.definition,
                    shortcuts.get((question.key, choice.key), ""),
                    is_chosen=choice.key in answers[question.key]
                    if isinstance(answers[question.key], list)
                    else choice.key == answers[question.key],
                )
                for choice in question.choices
            ],
            text=texts[question.key],
            hint=in_language(accepts(question))
            if question.kind != "any-of" or question.at_least or question.at_most
            else "",
        )
        for question in questions
    ]


def check_answers(
    rules: JudgingRules, questions: Collection[Question], *, choice: str, answers: Mapping[str, object]
) -> dict[str, Any]:
    """The answers to the questions that are asked about a document after a choice, without empty ones.

    Raises:
        AnswerRefused: A required answer is missing; an answer is not the protocol's; a question was not asked.
    """
    if not rules.questions and not answers and rules.form is None:
        return {}
    try:
        return of_protocol.check_answers(rules, list(questions), choice=choice, answers=answers)
    except WrongAnswer as wrong:
        raise AnswerRefused(field_of(wrong.question), in_language(wrong.args[0]), code=wrong.code) from None


def questions_of(task: Task, rules: JudgingRules, docnos: Collection[str]) -> dict[str, list[Question]]:
    """The questions that can be asked about some documents of a task, by docno.

    No query unless questions depend on the language or the text of the documents, or on the topic.
    """
    if not rules.questions:
        return {docno: [] for docno in docnos}
    topic, languages = task.entry.topic, _languages_of(task, rules, docnos)
    conditions = (text for question in rules.questions for text in (*question.after, *question.after_all))
    labels = topic.labels if any(Condition.parse(text).label for text in conditions) else {}
    subtopics = labels_of(topic.subtopics) if rules.asks_about_subtopics else {}
    lengths = None
    if rules.marks_text:  # the fields of the row, or the document as programs get it
        document = task.entry.document
        whole = {"": plain(document.body) if document else ""}
        texts = whole if rules.form is None else values_of(topic, task.entry.docno)
        lengths = {name: len(text) for name, text in texts.items()}
    return {
        docno: questions_for(
            rules, language=languages.get(docno, ""), labels=labels, subtopics=subtopics, lengths=lengths
        )
        for docno in docnos
    }


def _languages_of(task: Task, rules: JudgingRules, docnos: Collection[str]) -> dict[str, str]:
    """The languages of some documents of a task, as far as questions depend on them and they are known."""
    if not any(question.languages for question in rules.questions):
        return {}
    entry = task.entry
    languages = {} if entry.document is None else {entry.docno: entry.document.language}
    if set(docnos) - set(languages):
        members = PoolMember.objects.filter(entry=entry.pk, docno__in=docnos, document__isnull=False)
        languages |= dict(members.values_list("docno", "document__language"))
    return languages


def answers_in_words(rules: JudgingRules, answers: Mapping[str, Any], topic: Topic) -> list[Answered]:
    """Stored answers with the labels of the protocol and of the topic's subtopics, in the order of the protocol.

    Those that a frame gave by other names come last.
    """
    subtopics = labels_of(topic.subtopics) if rules.asks_about_subtopics else {}
    known = {question.key for question in rules.questions}
    others = {key: value for key, value in answers.items() if key not in known}
    return [
        Answered(question.label, of_protocol.in_words(question, answers[question.key], subtopics))
        for question in rules.questions
        if question.key in answers
    ] + [
        Answered(key, ", ".join([value] if isinstance(value, str) else value))
        for key, value in others.items()
    ]
