"""The questions of a protocol about each run, and the check of their answers.

Answers are a JSON object in forms, manifests, commands and the API: `{"models": "BM25", "data": ["train"]}`. They have
the form of answers about documents: a choice by its key, several choices as a list, a number and a text as text.
"""

import json
from collections.abc import Iterator
from typing import Any

from assay.protocols import schema
from assay.protocols.questions import WrongAnswer, in_words, problem_with

EXAMPLE = '{"models": "BM25"}'


def as_question(asked: schema.RunQuestion) -> schema.Question:
    """A question about runs as one about documents, which has the same check and the same words."""
    choices = tuple(schema.QuestionChoice(choice.key, choice.label) for choice in asked.choices)
    return schema.Question(
        asked.key, asked.label, asked.kind, choices, required=asked.required, help=asked.help
    )


def answers_of_run(rules: schema.RunRules, text: str) -> dict[str, Any]:
    """The answers about a run, from JSON, in the order of the protocol and without empty ones.

    Raises:
        WrongAnswer: The text is no JSON object, or an answer is missing, not accepted, or not asked for.
    """
    try:
        given = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise WrongAnswer("", f"The answers are no JSON object, such as {EXAMPLE}.", code="unknown-answer")
    questions = {asked.key: as_question(asked) for asked in rules.questions}
    if unknown := sorted(set(given) - set(questions)):
        accepted = f"use {', '.join(questions)}" if questions else "the protocol asks nothing about runs"
        raise WrongAnswer(unknown[0], f"“{unknown[0][:60]}” is not a question; {accepted}.", code="not-asked")
    answers = {}
    for key, question in questions.items():
        answer = _tidy(given.get(key))
        if answer in ("", []):
            if question.required:
                raise WrongAnswer(key, f"Answer “{question.label}”", code="answer-needed")
        elif problem := problem_with(question, answer):
            raise WrongAnswer(key, problem, code="unknown-answer")
        else:
            answers[key] = answer
    return answers


def _tidy(answer: Any) -> Any:
    if answer is None:
        return ""
    is_number = isinstance(answer, (int, float)) and not isinstance(answer, bool)
    return str(answer) if is_number else answer.strip() if isinstance(answer, str) else answer


def answers_in_words(rules: schema.RunRules, answers: dict[str, Any]) -> list[tuple[str, str]]:
    """Each answered question with its answer in words, in the order of the protocol."""
    return [
        (asked.label, in_words(as_question(asked), answers[asked.key]))
        for asked in rules.questions
        if asked.key in answers
    ]


def public_questions(*of_tracks: schema.RunRules) -> dict[str, schema.RunQuestion]:
    """The questions whose answers leaderboards and papers show, by key; those of the last track come first."""
    asked = [question for rules in of_tracks for question in rules.questions if question.public]
    by_key = {question.key: question for question in asked}
    last = [question.key for question in of_tracks[-1].questions if question.public]
    return {key: by_key[key] for key in dict.fromkeys([*last, *by_key])}


def public_answers(rules: schema.RunRules, answers: dict[str, Any]) -> dict[str, str]:
    """The answer to each public question in words, by key; empty where there is none."""
    return {
        key: in_words(as_question(asked), answers[key]) if key in answers else ""
        for key, asked in public_questions(rules).items()
    }


def run_question_complaints(runs: schema.RunRules) -> Iterator[str]:
    """Yield what is wrong with the questions about runs, each with its key."""
    keys = [asked.key for asked in runs.questions]
    for n, asked in enumerate(runs.questions):
        place = f"runs.question[{n + 1}]"
        if asked.key in keys[:n]:
            yield f"{place}.key: {asked.key!r} is the key of two questions"
        if not asked.label.strip() or not asked.label.isprintable():
            yield f"{place}.label: {asked.label!r} is not one line of text"
        choices = [choice.key for choice in asked.given_choices]
        if (asked.kind in {"one-of", "any-of"}) != bool(choices):
            yield f"{place}.choice: give choices to the kinds one-of and any-of, and to no other"
        if len(set(choices)) != len(choices):
            yield f"{place}.choice: two choices have the same key"
