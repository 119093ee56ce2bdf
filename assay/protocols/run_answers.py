"""The questions of a protocol about each run, and the check of their answers.

Answers are a JSON object in forms, manifests, commands and the API: `{"models": "BM25", "data": ["train"]}`. They have
the form of answers about documents: a choice by its key, several choices as a list, a number and a text as text.
"""

import json
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from assay.protocols import schema
from assay.protocols.questions import WrongAnswer, in_words, problem_with
from assay.structure import is_number, line_complaints

EXAMPLE = '{"models": "BM25"}'
PATH = re.compile(r"[\w-]+(\.[\w-]+)*")


def as_question(asked: schema.RunQuestion) -> schema.Question:
    """A question about runs as one about documents, which has the same check and the same words."""
    choices = tuple(schema.QuestionChoice(choice.key, choice.label) for choice in asked.choices)
    return schema.Question(
        asked.key, asked.label, asked.kind, choices, required=asked.required, help=asked.help
    )


class Stated(NamedTuple):
    """A field of the header of a run: its value, and the number of its line; 0 if that is not known."""

    value: str
    line: int = 0


def answers_of_run(
    rules: schema.RunRules, text: str, header: Mapping[str, Stated] | None = MappingProxyType({})
) -> dict[str, Any]:
    """The answers about a run, from JSON, in the order of the protocol and without empty ones.

    Args:
        text: the JSON; an empty text answers nothing.
        header: the header of ir_metadata of the run, by path. It answers what the text does not. None if the run is not
            read yet: then nothing is missing.

    Raises:
        WrongAnswer: The text is no JSON object, or an answer is missing, not accepted, or not asked for, or the header
            has another one.
    """
    try:
        given = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise WrongAnswer("", f"The answers are no JSON object, such as {EXAMPLE}.", code="unknown-answer")
    keys = [asked.key for asked in rules.questions]
    if unknown := sorted(set(given) - set(keys)):
        accepted = f"use {', '.join(keys)}" if keys else "the protocol asks nothing about runs"
        raise WrongAnswer(unknown[0], f"“{unknown[0][:60]}” is not a question; {accepted}.", code="not-asked")
    answers = {asked.key: _answer(asked, given.get(asked.key), header) for asked in rules.questions}
    return {key: answer for key, answer in answers.items() if answer not in ("", [])}


def _answer(asked: schema.RunQuestion, given: object, header: Mapping[str, Stated] | None) -> Any:
    """The answer to a question, checked; empty if there is none."""
    question, answer = as_question(asked), _tidy(given)
    is_given = answer not in ("", [])
    if is_given and (problem := problem_with(question, answer)):
        raise WrongAnswer(asked.key, problem, code="unknown-answer")
    stated = (header or {}).get(asked.path)
    if stated is not None:
        in_file = _answer_from_field(asked, stated.value)
        place = f"{f'line {stated.line}: ' if stated.line else ''}{asked.path} of the header"
        if problem := problem_with(question, in_file):
            raise WrongAnswer(asked.key, f"{place}: {problem}", code="unknown-answer")
        if is_given and _comparable(answer) != _comparable(in_file):
            other = f"“{asked.label}” is answered with “{in_words(question, answer)}”"
            message = f"{place} is “{stated.value}”, and {other}. Change one of them."
            raise WrongAnswer(asked.key, message, code="answers-differ")
        return answer if is_given else in_file
    if not is_given and asked.required and header is not None:
        raise WrongAnswer(asked.key, f"Answer “{asked.label}”", code="answer-needed")
    return answer


def _answer_from_field(asked: schema.RunQuestion, value: str) -> Any:
    """The answer that the value of a field is: a choice is named by its key or label, yes and no also as in YAML."""
    if not asked.choices:
        return value.strip()
    keys = {"true": "yes", "false": "no"} if asked.kind == "yes-no" else {}
    keys |= {word.casefold(): choice.key for choice in asked.choices for word in (choice.label, choice.key)}
    if asked.kind != "any-of":
        return keys.get(value.strip().casefold(), value.strip())
    return [keys.get(word.strip().casefold(), word.strip()) for word in value.split(",")]


def _comparable(answer: object) -> Any:
    return sorted(answer) if isinstance(answer, list) else " ".join(str(answer).split()).casefold()


def header_of_run(
    rules: schema.RunRules,
    own: Mapping[str, str],
    *,
    tag: str,
    team: str,
    is_manual: bool,
    models: str,
    answers: Mapping[str, object],
) -> dict[str, str]:
    """The fields of a header of ir_metadata: those of the file itself, and what its team stated about the run."""
    stated = {"tag": tag, "actor.team": team, "method.automatic": "false" if is_manual else "true"}
    if models:
        stated["method.models"] = ", ".join(models.splitlines())
    for asked in rules.questions:
        if asked.key in answers:
            answer = answers[asked.key]
            stated[asked.path] = ", ".join(answer) if isinstance(answer, list) else str(answer)
    return {**own, **stated}


def _tidy(answer: object) -> Any:
    if answer is None:
        return ""
    return str(answer) if is_number(answer) else answer.strip() if isinstance(answer, str) else answer


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
        yield from line_complaints(f"{place}.label", asked.label, "label")
        choices = [choice.key for choice in asked.given_choices]
        if (asked.kind in {"one-of", "any-of"}) != bool(choices):
            yield f"{place}.choice: give choices to the kinds one-of and any-of, and to no other"
        if len(set(choices)) != len(choices):
            yield f"{place}.choice: two choices have the same key"
        if asked.header and not PATH.fullmatch(asked.header):
            yield f"{place}.header: {asked.header!r} is no path, such as method.retrieval.name"
        if asked.path in [earlier.path for earlier in runs.questions[:n]]:
            yield f"{place}.header: {asked.path!r} answers two questions"
