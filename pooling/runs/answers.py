"""Answers about runs as columns and filters of a table of runs, chosen by the address of the page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlencode

from django.http import QueryDict

from assay.protocols.questions import in_words
from assay.protocols.run_answers import as_question
from assay.protocols.schema import RunQuestion

COLUMN, ANSWER = "column", "answer"


class Choice(NamedTuple):
    """An answer by which runs are filtered: `value` is `question:choice`."""

    value: str
    label: str
    is_chosen: bool


class Offer(NamedTuple):
    """A question on the form of a table. Without choices, it can only be a column."""

    question: RunQuestion
    is_column: bool
    choices: list[Choice]


@dataclass(frozen=True)
class ChosenAnswers:
    """The questions of a table, those that are columns, and the choice of each that filters, by key."""

    questions: Sequence[RunQuestion]
    columns: Sequence[RunQuestion] = ()
    choices: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_used(self) -> bool:
        return bool(self.columns or self.choices)

    @property
    def query(self) -> str:
        """The part of an address that keeps columns and filters, with `&` before it."""
        pairs = [(COLUMN, asked.key) for asked in self.columns]
        pairs += [(ANSWER, f"{key}:{choice}") for key, choice in self.choices.items()]
        return f"&{urlencode(pairs)}" if pairs else ""

    @property
    def offers(self) -> list[Offer]:
        chosen = self.choices
        return [
            Offer(
                asked,
                asked in self.columns,
                [
                    Choice(f"{asked.key}:{choice.key}", choice.label, chosen.get(asked.key) == choice.key)
                    for choice in asked.choices
                ],
            )
            for asked in self.questions
        ]

    def accept(self, answers: Mapping[str, object]) -> bool:
        """Return whether a run has each chosen answer; of several choices, one is enough."""
        return all(
            choice in given if isinstance(given := answers.get(key), list) else choice == given
            for key, choice in self.choices.items()
        )

    def words(self, answers: Mapping[str, object]) -> list[tuple[str, str]]:
        """The label and the answer in words of each column; empty where there is none."""
        return [
            (asked.label, in_words(as_question(asked), answers[asked.key]) if asked.key in answers else "")
            for asked in self.columns
        ]


def chosen_answers(questions: Sequence[RunQuestion], asked: QueryDict) -> ChosenAnswers:
    """The columns and filters that an address names. Unknown ones are skipped: see `unknown_answers`."""
    named = set(asked.getlist(COLUMN))
    pairs = (text.partition(":") for text in asked.getlist(ANSWER))
    known = {question.key: {choice.key for choice in question.choices} for question in questions}
    choices = {key: choice for key, _, choice in pairs if choice in known.get(key, ())}
    return ChosenAnswers(questions, [question for question in questions if question.key in named], choices)


def unknown_answers(questions: Sequence[RunQuestion], asked: QueryDict) -> str:
    """A sentence about the first unknown filter, with the known ones; empty if all are known."""
    accepted = [f"{question.key}:{choice.key}" for question in questions for choice in question.choices]
    wrong = next((text for text in asked.getlist(ANSWER) if text and text not in accepted), "")
    return f"“{wrong[:40]}” is not accepted. Accepted: {', '.join(accepted) or 'nothing'}." if wrong else ""
