"""The check of a choice and of the answers to the follow-up questions of a protocol, and how a page shows them.

A form names the field of an answer by its question, with the suffix of the document's other fields:
`follow-up-dialect-17`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from assay.languages import any_of
from assay.protocols.schema import FollowUp, Grade, JudgingRules, NonAnswer
from assessment.errors import AnswerRefused
from assessment.models import Task
from pooling.models import PoolMember


def check_choice(rules: JudgingRules, *, choice: str, comment: str) -> Grade | NonAnswer:
    """The grade or non-answer with a key.

    Raises:
        AnswerRefused: The protocol has no such choice, or the choice needs a comment, and there is none.
    """
    known = rules.choice(choice)
    if known is None:
        keys = ", ".join(each.key for each in rules.choices)
        message = f"“{choice}” is not a choice of this protocol; use {keys}."
        raise AnswerRefused("choice", message, code="unknown-choice")
    if needs_comment(known) and not comment.strip():
        message = f"“{known.label}” needs a comment that says why."
        raise AnswerRefused("comment", message, code="comment-needed")
    return known


def needs_comment(choice: Grade | NonAnswer) -> bool:
    return isinstance(choice, NonAnswer) and choice.needs_comment


PREFIX = "follow-up-"
MAX_KEY = 50  # characters of the key of an answer


@dataclass(frozen=True)
class ShownQuestion:
    """A follow-up question on the judging page; `after` are the keys of the grades after which it is asked."""

    key: str
    label: str
    after: str
    after_labels: str
    languages: str
    is_asked: bool
    is_optional: bool
    answers: list[tuple[str, str]]
    chosen: str


class Answered(NamedTuple):
    """A question and its answer in words."""

    question: str
    answer: str


def field_of(question: FollowUp, suffix: str = "") -> str:
    return f"{PREFIX}{question.key}{suffix}"


def fields_of(follow_ups: Mapping[str, str], suffix: str = "") -> dict[str, str]:
    """Stored answers as values of the form's fields."""
    return {f"{PREFIX}{key}{suffix}": answer for key, answer in follow_ups.items()}


def questions_for(rules: JudgingRules, language: str) -> list[FollowUp]:
    """The questions that may be asked of a document, in the protocol's order."""
    return [
        question
        for question in rules.follow_ups
        if any(question.is_asked(key, language) for key in question.after)
    ]


def shown_questions(
    rules: JudgingRules, language: str, values: Mapping[str, object], suffix: str = ""
) -> list[ShownQuestion]:
    """The questions of a document; `values` are those of the form's fields."""
    labels = {grade.key: grade.label for grade in rules.grades}
    choice = str(values.get(f"choice{suffix}", ""))
    return [
        ShownQuestion(
            key=question.key,
            label=question.label,
            after=" ".join(question.after),
            after_labels=" or ".join(labels[key] for key in question.after),
            languages=any_of(question.languages) if question.languages else "",
            is_asked=question.is_asked(choice, language),
            is_optional=question.is_optional(language),
            answers=list(question.choices.items()),
            chosen=str(values.get(field_of(question, suffix), "")),
        )
        for question in questions_for(rules, language)
    ]


def check_answers(
    rules: JudgingRules, *, choice: str, language: str, answers: Mapping[str, str]
) -> dict[str, str]:
    """The answers to the questions that are asked after a choice, without empty ones.

    Raises:
        AnswerRefused: A required answer is missing; an answer is not the protocol's; a question was not asked.
    """
    given = {key: answer for key, answer in answers.items() if answer}
    asked = {question.key: question for question in rules.follow_ups if question.is_asked(choice, language)}
    for question in asked.values():
        if question.key not in given and not question.is_optional(language):
            raise AnswerRefused(field_of(question), f"Answer “{question.label}”", code="answer-needed")
        if question.key in given and given[question.key] not in question.choices:
            accepted = ", ".join(question.choices)
            message = f"“{given[question.key]}” is not an answer to “{question.label}” Use {accepted}."
            raise AnswerRefused(field_of(question), message, code="unknown-answer")
    for key in given:
        if key not in asked:
            raise AnswerRefused(f"{PREFIX}{key}", _why_not_asked(rules, key), code="not-asked")
    return {key: given[key] for key in asked if key in given}


def _why_not_asked(rules: JudgingRules, key: str) -> str:
    question = next((each for each in rules.follow_ups if each.key == key), None)
    if question is None:
        keys = ", ".join(each.key for each in rules.follow_ups) or "none"
        return f"“{key}” is not a follow-up question of this protocol; it has {keys}."
    after = " or ".join(grade.label for grade in rules.grades if grade.key in question.after)
    documents = f" for documents in {any_of(question.languages)}" if question.languages else ""
    return f"“{question.label}” is asked only after {after}{documents}: take its answer back."


def languages_of(task: Task, rules: JudgingRules, docnos: Collection[str]) -> dict[str, str]:
    """The languages of some documents of a task, as far as questions depend on them and they are known."""
    if not any(question.languages for question in rules.follow_ups):
        return {}
    entry = task.entry
    languages = {} if entry.document is None else {entry.docno: entry.document.language}
    if set(docnos) - set(languages):
        members = PoolMember.objects.filter(entry=entry.pk, docno__in=docnos, document__isnull=False)
        languages |= dict(members.values_list("docno", "document__language"))
    return languages


def in_words(rules: JudgingRules, follow_ups: Mapping[str, str]) -> list[Answered]:
    """Stored answers with the labels of the protocol, in its order."""
    return [
        Answered(question.label, question.choices.get(follow_ups[question.key], follow_ups[question.key]))
        for question in rules.follow_ups
        if question.key in follow_ups
    ]
