"""The compared part of judgments: the grade, the answers to a question, or whether one of several choices was chosen.

A question about the subtopics of a topic is compared subtopic by subtopic: each is then like a topic of its own, whose
name is that of the topic, a space and the number of the subtopic.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from assay.errors import InputError
from assay.protocols.questions import CLOSED, Answers
from assay.protocols.schema import Grade, JudgingRules, Protocol, Question


class Read(NamedTuple):
    """A judgment on a scale; `number` is None for a non-answer, and for several subtopics."""

    label: str
    number: int | None


class Scale(NamedTuple):
    """The grade, the answers to a question, or whether any-of has a choice.

    Answers without values are numbered in the order of the choices, and their distances mean nothing.
    """

    key: str
    label: str
    level: int  # from which a unit is relevant, in two-way values
    question: Question | None = None
    choice: str = ""
    preferences: tuple[Grade, ...] = ()  # the choices about a pair

    @property
    def is_of_subtopics(self) -> bool:
        return self.question is not None and self.question.choices_from is not None

    @property
    def is_nominal(self) -> bool:
        if self.question is None or self.choice:
            return bool(self.preferences)
        return self.is_of_subtopics or self.question.choices[0].value is None

    @property
    def has_order(self) -> bool:
        """True if answers can be far apart, and on two sides of a level."""
        return not (self.is_nominal or self.choice)

    @property
    def numbers(self) -> str:
        """The number of each answer, in words; nothing for the grade of a document."""
        if self.preferences:
            return ", ".join(f"{preference.value} {preference.label}" for preference in self.preferences)
        if self.choice or self.is_of_subtopics:
            return "1 chosen, 0 not chosen"
        choices = self.question.choices if self.question else ()
        return ", ".join(
            f"{n if choice.value is None else choice.value} {choice.label}"
            for n, choice in enumerate(choices)
        )

    def values(self, rules: JudgingRules) -> tuple[int, ...]:
        """The numbers that a judgment can have."""
        if self.choice or self.is_of_subtopics:
            return 0, 1
        if self.question is None:
            return tuple(grade.value for grade in rules.grades)
        return tuple(
            n if choice.value is None else choice.value for n, choice in enumerate(self.question.choices)
        )

    def read(
        self, rules: JudgingRules, docno: str, choice: str, grade: int | None, answers: Answers
    ) -> Read | None:
        """The words, for a unit, and the number of a judgment; None if not answered."""
        if self.question is None or grade is None:
            return Read(rules.label_of(choice, docno), grade)
        if self.question.key not in answers:
            return None
        answer = answers[self.question.key]
        if self.is_of_subtopics:
            return Read(f"Subtopics {', '.join(answer)}", None)
        if self.choice:
            is_chosen = self.choice in answer
            return Read("Chosen" if is_chosen else "Not chosen", int(is_chosen))
        place = next((n for n, choice in enumerate(self.question.choices) if choice.key == answer), None)
        if place is None:
            return None
        known = self.question.choices[place]
        return Read(known.label, place if known.value is None else known.value)

    def numbered(
        self,
        rules: JudgingRules,
        topic: str,
        subtopics: Iterable[str],
        choice: str,
        grade: int | None,
        answers: Answers,
    ) -> Iterator[tuple[str, int]]:
        """The topic and number of a judgment with a grade; of subtopics, one for each of them."""
        if grade is None:
            return
        if self.question is None:
            yield topic, grade
            return
        if self.is_of_subtopics:
            chosen = answers.get(self.question.key)
            if chosen is not None:
                yield from ((f"{topic} {number}", int(number in chosen)) for number in subtopics)
            return
        read = self.read(rules, "", choice, grade, answers)
        if read is not None and read.number is not None:
            yield topic, read.number


def scales_of(protocol: Protocol) -> list[Scale]:
    """The grade, and each question with choices except rankings; of any-of, each choice that the protocol names.

    A form without grades, of which every judgment has the same one, has its questions only.
    """
    scales, preference = [Scale("", "Grade", protocol.agreement.binary_from)], protocol.judging.about_pairs
    if preference is not None:
        scales = [scales[0]._replace(label=preference.question, preferences=protocol.judging.grades)]
    levels = {qrels_set.question: qrels_set.relevant_from for qrels_set in reversed(protocol.qrels.sets)}
    for question in protocol.judging.questions:
        if question.kind == "any-of" and not question.choices_from:
            scales += [
                Scale(
                    f"{question.key}:{choice.key}",
                    f"{question.label} {choice.label}",
                    1,
                    question,
                    choice.key,
                )
                for choice in question.choices
            ]
        elif question.kind in CLOSED:
            scales.append(Scale(question.key, question.label, levels.get(question.key, 1), question))
    has_grades = len(protocol.judging.grades) > 1
    return scales if has_grades else scales[1:] or scales


def scale_named(protocol: Protocol, key: str) -> Scale:
    """The scale with a key; without one, the first: the grade, or the first question of a form without grades.

    Raises InputError: the protocol has no such scale.
    """
    in_order = scales_of(protocol)
    scales: Mapping[str, Scale] = {"": in_order[0]} | {scale.key: scale for scale in in_order}
    if key not in scales:
        accepted = ", ".join(scale for scale in scales if scale) or "none: it has no questions with choices"
        raise InputError(f"{protocol.slug} has no question {key!r} to compare; use {accepted}")
    return scales[key]
