"""The questions of a protocol that are asked about a unit, and the check of the answers to them.

An answer is stored as its kind says: one-of and yes-no as the key of a choice; any-of as a list of keys in the order of
the protocol; a number and a text as they were typed; a ranking as a list of keys, best first, in which equal ones are a
list; a span as a list of marked parts of a text, `{"start": 12, "length": 5, "choice": "added"}`, in order.

Start and length of a part count the characters (Unicode code points) of the text of the document as `plain` makes it
of its HTML, as programs that judge get it: the first one is 0, and a formula counts with its LaTeX and its dollars. In
the layout form, they count those of a field of the row.
Parts with the same choice do not overlap.

A form sends each answer as text: the keys of any-of with commas, a ranking as `b > a = c`, and a span as
`12+5 = added, 40+3 = omitted`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from types import MappingProxyType
from typing import Any, NamedTuple

from assay.errors import AssayError, say
from assay.languages import any_in_words, any_of
from assay.protocols.schema import Grade, JudgingRules, Question, QuestionChoice
from assay.structure import is_number

Answers = Mapping[str, Any]  # by the key of the question

CLOSED = frozenset({"one-of", "any-of", "yes-no"})  # kinds whose choices a condition can name
# Keys that only some kinds have
LIMITS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("min", "max", "unit"), ("number",)),
        "max_characters": ("text",),
        **dict.fromkeys(("at_least", "at_most"), ("any-of", "ranking", "span")),
    }
)
LISTS = frozenset({"any-of", "ranking"})
MARKS = 100  # parts of an answer to a span
MARK = re.compile(r"(\d{1,9})\s{0,3}\+\s{0,3}(\d{1,9})\s{0,3}=\s{0,3}(\S+)")
NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d{1,15})?")
NO_LABELS: Mapping[str, str] = MappingProxyType({})
UNSTORABLE = re.compile("[\0\ud800-\udfff]")  # by a database
MAX_CHARACTERS = 10_000  # of a text
# Answers of a frame; characters of a name, of its texts
MAX_GIVEN, MAX_GIVEN_NAME, MAX_GIVEN_TEXT = 500, 200, 100_000


class WrongAnswer(AssayError):
    """An answer that a question does not accept, or that is missing; `question` is its key."""

    def __init__(self, question: str, message: str, *, code: str) -> None:
        super().__init__(message)
        self.question, self.code = question, code


class Condition(NamedTuple):
    """A condition of `after`: `of` is "" for the grade, `topic.LABEL` or the key of a question; `value` what it is."""

    of: str
    value: str

    @classmethod
    def parse(cls, text: str) -> "Condition":
        of, separator, value = text.partition(":")
        return cls(of, value) if separator else cls("", text)

    @property
    def label(self) -> str:
        """The label of topics that it is about, or nothing."""
        return self.of.removeprefix("topic.") if self.of.startswith("topic.") else ""

    def holds(self, choice: str, answers: Answers, labels: Mapping[str, str] = NO_LABELS) -> bool:
        """Return True if a unit of a topic with labels meets it, by its choice and answers."""
        given = answers.get(self.of, "") if self.of else choice
        if self.label:
            return labels.get(self.label) == self.value
        return self.value in given if isinstance(given, (list, tuple)) else self.value == given


def questions_for(
    rules: JudgingRules,
    *,
    language: str = "",
    labels: Mapping[str, str] | None = None,
    subtopics: Mapping[str, str] | None = None,
    lengths: Mapping[str, int] | None = None,
) -> list[Question]:
    """The questions that can be asked of a document, in the order of the protocol, without conditions on the topic.

    Args:
        language: of the document; if it is not known, answers to questions for some languages are optional.
        labels: of the topic; if they are not known, None.
        subtopics: the words of each subtopic of the topic, by its number; if they are not known, None. A question
            about them is not asked of a topic that has none.
        lengths: of the texts that can be marked, in characters: by field of a row, and of a document by "". If they
            are not known, None. Nothing is marked in a text without characters.
    """
    questions = []
    for question in rules.questions:
        if question.kind == "span" and lengths is not None:
            if not (length := lengths.get(question.field, 0)):
                continue
            question = replace(question, max_characters=length)
        if question.choices_from and subtopics is not None:
            if not (choices := tuple(QuestionChoice(number, words) for number, words in subtopics.items())):
                continue
            limits = (question.at_least, question.at_most)
            least, most = (None if n is None else min(n, len(choices)) for n in limits)
            question = replace(question, given_choices=choices, at_least=least, at_most=most)
        if (resolved := _resolved(question, language, labels)) is not None:
            questions.append(resolved)
    return questions


def _resolved(question: Question, language: str, labels: Mapping[str, str] | None) -> Question | None:
    """The question for a document; None if it is never asked of it."""
    if question.languages:
        if language and language not in question.languages:
            return None
        question = replace(
            question,
            required=question.required and bool(language),
            languages=() if language else question.languages,
        )
    conditions = {text: Condition.parse(text) for text in (*question.after, *question.after_all)}
    on_topic = {
        text: labels is None or labels.get(condition.label) == condition.value
        for text, condition in conditions.items()
        if condition.label
    }
    if not on_topic:
        return question
    after = tuple(text for text in question.after if text not in on_topic)
    is_met = any(on_topic.get(text) for text in question.after)
    if not all(on_topic.get(text, True) for text in question.after_all) or (
        question.after and not after and not is_met
    ):
        return None
    after_all = tuple(text for text in question.after_all if text not in on_topic)
    return replace(question, after=() if is_met else after, after_all=after_all)


def asked(
    rules: JudgingRules, questions: Iterable[Question], *, choice: str, answers: Answers
) -> list[Question]:
    """Those of the questions for a document that are asked after a choice and answers to earlier questions.

    After a non-answer, none is asked. An answer to a question that is not asked meets no condition.
    """
    if not isinstance(rules.choice(choice), Grade):
        return []
    counted: dict[str, Any] = {}
    result = []
    for question in questions:
        after, after_all = (
            [Condition.parse(text).holds(choice, counted) for text in texts]
            for texts in (question.after, question.after_all)
        )
        if (any(after) or not after) and all(after_all):
            result.append(question)
            if question.key in answers:
                counted[question.key] = answers[question.key]
    return result


def check_answers(
    rules: JudgingRules,
    questions: Sequence[Question],
    *,
    choice: str,
    answers: Answers,
    needs_all: bool = True,
) -> dict[str, Any]:
    """The answers to questions about a document, as they are stored, without empty ones.

    An optional question with several choices that was asked and left empty is answered: none of them holds.

    Args:
        questions: those of `questions_for`.
        needs_all: whether a required answer may not be missing.

    Raises:
        WrongAnswer: An answer is missing or not accepted; a question was not asked.
    """
    given = tidy(rules, answers)
    expected = {question.key: question for question in asked(rules, questions, choice=choice, answers=given)}
    for key, question in expected.items():
        if key in given:
            if problem := problem_with(question, given[key]):
                raise WrongAnswer(question.key, problem, code="unknown-answer")
        elif question.required and needs_all:
            raise WrongAnswer(key, say("Answer “{question}”", question=question.label), code="answer-needed")
        elif question.may_be_none and needs_all:
            given[key] = []
    others = [key for key in given if key not in expected]
    if rules.form is not None and rules.form.frame:
        _check_given(given, others, needs_all=needs_all)
        return given
    for key in others:
        raise WrongAnswer(key, _why_not_asked(rules, key), code="not-asked")
    return given


def _check_given(given: Answers, others: Sequence[str], *, needs_all: bool) -> None:
    """Check the answers of a frame by other names than questions of the protocol have: texts, or lists of texts."""
    if not any(given.values()) and needs_all:
        raise WrongAnswer(
            "", say("Nothing was answered. Answer the form, then submit."), code="answer-needed"
        )
    if len(given) > MAX_GIVEN:
        raise WrongAnswer(
            "", f"The form gave {len(given):,} answers; at most {MAX_GIVEN} are stored.", code="too-many"
        )
    for key in others:
        values = given[key] if isinstance(given[key], list) else [given[key]]
        if (
            not key
            or len(key) > MAX_GIVEN_NAME
            or not all(isinstance(value, str) for value in (key, *values))
        ):
            accepted = f"give a text or a list of texts, under a name of 1 to {MAX_GIVEN_NAME} characters"
            raise WrongAnswer(key, f"{_shown(given[key])} is no answer; {accepted}.", code="unknown-answer")
        if any(UNSTORABLE.search(text) for text in (key, *values)):
            raise WrongAnswer(
                key, f"{_shown(key)} has a character that is not text, such as NUL.", code="unknown-answer"
            )
        if sum(map(len, values)) > MAX_GIVEN_TEXT:
            problem = f"{_shown(key)} takes at most {MAX_GIVEN_TEXT:,} characters."
            raise WrongAnswer(key, problem, code="unknown-answer")


def from_given(rules: JudgingRules, given: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Answers of a frame, which are the values of the controls of each name: one text, or a list of several.

    >>> rules = JudgingRules("form", questions=(Question("q", "Q", kind="any-of"),))
    >>> from_given(rules, {"q": ["a"], "x": ["1"], "y": ["1", "2"]})
    {'q': ['a'], 'x': '1', 'y': ['1', '2']}
    """
    kinds = {question.key: question for question in rules.questions}
    answers: dict[str, Any] = {}
    for name, values in given.items():
        question, texts = kinds.get(name), [text for text in values if text != ""]
        if question is not None and question.kind == "any-of":
            answers[name] = texts
        elif len(texts) == 1:
            answers[name] = from_text(question, texts[0]) if question is not None else texts[0]
        elif texts:
            answers[name] = texts
    return answers


def as_given(rules: JudgingRules, answers: Answers) -> dict[str, list[str]]:
    """Stored answers as the values of the controls of a frame."""
    kinds = {question.key: question for question in rules.questions}
    given: dict[str, list[str]] = {}
    for name, answer in answers.items():
        if name in kinds and kinds[name].kind in {"ranking", "span"}:
            given[name] = [as_text(kinds[name], answer)]
        else:
            given[name] = [str(value) for value in answer] if isinstance(answer, list) else [str(answer)]
    return given


def stored(rules: JudgingRules, answers: Answers) -> dict[str, Any]:
    """Answers of a file as they were stored: `tidy`, with those that say that none of several choices holds."""
    return {key: [] for key, answer in answers.items() if answer == []} | tidy(rules, answers)


def tidy(rules: JudgingRules, answers: Answers) -> dict[str, Any]:
    """Answers of a form: without empty ones, in the order of the protocol. Nothing is checked."""
    kinds = {question.key: question for question in rules.questions}
    tidied = {key: _tidied(kinds[key], answer) if key in kinds else answer for key, answer in answers.items()}
    order = [*kinds, *tidied]
    return {
        key: tidied[key] for key in sorted(tidied, key=order.index) if tidied[key] not in ("", None, [], ())
    }


def _tidied(question: Question, answer: object) -> Any:
    if question.kind == "any-of" and isinstance(answer, (list, tuple)):
        order = [choice.key for choice in question.choices]
        known = {key: n for n, key in enumerate(order)}
        # subtopics are not in the protocol: 2 comes before 10
        return sorted(answer, key=lambda key: (known.get(key, len(known)), len(str(key)), str(key)))
    if question.kind == "ranking" and isinstance(answer, (list, tuple)):
        return list(answer)
    if question.kind == "span" and isinstance(answer, list) and all(map(_is_mark, answer)):
        order = [choice.key for choice in question.choices]
        known = {key: n for n, key in enumerate(order)}
        return sorted(
            answer, key=lambda mark: (mark["start"], mark["length"], known.get(mark["choice"], len(known)))
        )
    if question.kind == "number" and is_number(answer):
        return format(answer, "f").rstrip("0").rstrip(".") if isinstance(answer, float) else str(answer)
    return answer.strip() if isinstance(answer, str) else answer


def problem_with(question: Question, answer: object) -> str:
    """The problem with an answer; nothing if it is accepted."""
    if question.kind in LISTS:
        return _problem_of_list(question, answer)
    if question.kind == "span":
        parts = answer if isinstance(answer, list) else [answer]
        wrong = next((part for part in parts if not _is_mark(part)), None)
        if wrong is not None:
            example = f"12+5 = {question.choices[0].key}"
            return f"{_shown(wrong)} in “{question.label}” is not a start, a length and a choice, such as {example}."
        ends: dict[str, int] = {}
        for part in sorted(parts, key=lambda mark: mark["start"]):
            if problem := _problem_of_mark(question, part, ends.get(part["choice"], 0)):
                return problem
            ends[part["choice"]] = part["start"] + part["length"]
        return _wrong_size(question, len(parts))
    if not isinstance(answer, str):
        is_choice = question.kind not in {"number", "text"}
        text = f"The answer to “{question.label}” is a text, not {_shown(answer)}."
        return _unknown(question, answer) if is_choice else text
    if question.kind == "number":
        low, high = question.min, question.max
        if NUMBER.fullmatch(answer) and (
            (low is None or float(answer) >= low) and (high is None or float(answer) <= high)
        ):
            return ""
        return say(
            "{answer} is not an answer to “{question}” Enter {wanted}.",
            answer=_shown(answer),
            question=question.label,
            wanted=accepts(question),
        )
    if question.kind == "text":
        if UNSTORABLE.search(answer):
            return f"The answer to “{question.label}” has a character that is not text, such as NUL."
        return _wrong_size(question, len(answer))
    return "" if answer in question.labels else _unknown(question, answer)


def _wrong_size(question: Question, n: int) -> str:
    """The problem with a number of choices, marked parts or characters; nothing if it is accepted."""
    least, most = _sizes(question)
    if least <= n <= most:
        return ""
    return say(
        "“{question}” takes {wanted}; there are {n}.",
        question=question.label,
        wanted=accepts(question),
        n=f"{n:,}",
    )


def accepts(question: Question) -> str:
    """The answers that a question takes, in words; nothing if its choices say it."""
    if question.kind == "number":
        unit = f" {question.unit}" if question.unit else ""
        low, high = (None if end is None else f"{end:g}" for end in (question.min, question.max))
        if low is None and high is None:
            return say("a number{unit}, such as 12 or 2.5", unit=unit)
        if high is None:
            return say("a number of at least {low}{unit}, such as 12 or 2.5", low=low, unit=unit)
        if low is None:
            return say("a number of at most {high}{unit}, such as 12 or 2.5", high=high, unit=unit)
        return say(
            "a number of at least {low} and at most {high}{unit}, such as 12 or 2.5",
            low=low,
            high=high,
            unit=unit,
        )
    least, most = _sizes(question)
    if question.kind == "text":
        return say("at most {n} characters", n=f"{most:,}")
    if question.kind not in LISTS and question.kind != "span":
        return ""
    number = str(least) if least == most else say("{least} to {most}", least=least, most=most)
    if question.kind == "ranking":
        return say("{number} of the choices, best first", number=number)
    if question.kind in LISTS:
        return say("{number} of the choices", number=number)
    if most == 1:
        return say("1 marked part of the text")
    return say("{number} marked parts of the text", number=number)


def _sizes(question: Question) -> tuple[int, int]:
    """The fewest and the most choices, marked parts or characters; a ranking without limits has all choices."""
    if question.kind == "text":
        return 0, question.max_characters or MAX_CHARACTERS
    if question.kind == "span":
        return question.at_least or 1, question.at_most or MARKS
    is_whole = question.kind == "ranking" and question.at_most is None
    most = question.at_most or len(question.choices) or MAX_CHARACTERS  # of an unknown topic
    return question.at_least or (most if is_whole else 1), most


def _problem_of_list(question: Question, answer: object) -> str:
    if not isinstance(answer, list):
        return _unknown(question, answer)
    keys = answer
    if question.kind == "ranking":
        keys = [key for item in answer for key in (item if isinstance(item, list) else [item])]
    are_known = bool(question.choices)  # those of an unknown topic are not
    unknown = [key for key in keys if not isinstance(key, str) or (are_known and key not in question.labels)]
    if unknown:
        return _unknown(question, unknown[0])
    if repeated := [key for n, key in enumerate(keys) if key in keys[:n]]:
        return say(
            "The answer to “{question}” has {choice} twice; name each choice once.",
            question=question.label,
            choice=_shown(repeated[0]),
        )
    return _wrong_size(question, len(keys))


def _is_mark(value: object) -> bool:
    """True for a marked part: a start, a length of at least 1 and a choice."""
    if not isinstance(value, dict) or set(value) != {"start", "length", "choice"}:
        return False
    start, length = value["start"], value["length"]
    return type(start) is int and type(length) is int and isinstance(value["choice"], str)


def _problem_of_mark(question: Question, part: Mapping[str, Any], end: int) -> str:
    """The problem with a part; `end` is that of the part with the same choice before it."""
    start, length, choice = part["start"], part["length"], part["choice"]
    place = f"The part {start}+{length} in “{question.label}”"
    if choice not in question.labels:
        return _unknown(question, choice)
    if start < 0 or length < 1:
        return f"{place} has no character: a part starts at 0 or later and has a length of at least 1."
    if question.max_characters is not None and start + length > question.max_characters:
        return f"{place} is not inside the text, which has {question.max_characters:,} characters."
    return f"{place} overlaps another part with the choice {choice}; mark both as one." if start < end else ""


def _unknown(question: Question, answer: object) -> str:
    return say(
        "{answer} is not an answer to “{question}” Use {choices}.",
        answer=_shown(answer),
        question=question.label,
        choices=", ".join(question.labels),
    )


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return f"“{text[:60]}{'…' * (len(text) > 60)}”"


def _why_not_asked(rules: JudgingRules, key: str) -> str:
    of_protocol = {question.key: question for question in rules.questions}
    if key not in of_protocol:
        keys = ", ".join(of_protocol) or "none"
        return f"“{key}” is not a question of this protocol; it has {keys}."
    question = of_protocol[key]
    values = {"question": question.label, "when": when(rules, question)}
    if question.languages:
        return say(
            "“{question}” is asked only {when} for documents in {languages}: take its answer back.",
            **values,
            languages=any_of(question.languages),
        )
    return say("“{question}” is asked only {when}: take its answer back.", **values)


def when(rules: JudgingRules, question: Question) -> str:
    """After what a question is asked, in words: `after Yes or Maybe`."""
    first = [condition_in_words(rules, text) for text in question.after]
    every = [condition_in_words(rules, text) for text in question.after_all]
    if first and every:
        return say("after {either}, and if {every}", either=any_in_words(first), every=_all_in_words(every))
    if first or every:
        return say("after {choices}", choices=any_in_words(first) if first else _all_in_words(every))
    return say("after a grade") if rules.given_grades else say("at once")


def _all_in_words(texts: Sequence[str]) -> str:
    return reduce(lambda first, second: say("{first} and {second}", first=first, second=second), texts)


def condition_in_words(rules: JudgingRules, text: str) -> str:
    """A condition of `after`, of `only` or of a rule, as a part of a sentence."""
    condition = Condition.parse(text)
    if not condition.of:
        return rules.label_of(condition.value)
    if condition.label:
        return say("{label} of the topic is {value}", label=condition.label, value=condition.value)
    question = next(question for question in rules.questions if question.key == condition.of)
    return f"“{question.label}” {question.labels[condition.value]}"


def from_text(question: Question, text: str) -> Any:
    """The answer in the field of a form.

    >>> from_text(Question("q", "Q", kind="ranking"), "b > a = c")
    ['b', ['a', 'c']]
    """
    if question.kind == "any-of":
        return [key for part in text.split(",") if (key := part.strip())]
    if question.kind == "ranking":
        places = [[key.strip() for key in part.split("=")] for part in text.split(">") if part.strip()]
        return [keys[0] if len(keys) == 1 else keys for keys in places]
    if question.kind != "span":
        return text
    marks: list[Any] = []
    for part in filter(str.strip, text.split(",")):
        match = MARK.fullmatch(part.strip())  # another text stays, and is refused
        mark = (
            {"start": int(match[1]), "length": int(match[2]), "choice": match[3]} if match else part.strip()
        )
        marks.append(mark)
    return marks


def as_text(question: Question, answer: object) -> str:
    """An answer as the field of a form has it."""
    if not isinstance(answer, list):
        return str(answer)
    if question.kind == "span":
        return ", ".join(f"{mark['start']}+{mark['length']} = {mark['choice']}" for mark in answer)
    places = [" = ".join(item) if isinstance(item, list) else item for item in answer]
    return (" > " if question.kind == "ranking" else ",").join(places)


NONE_OF_THEM = "none of them"


def in_words(question: Question, answer: object, subtopics: Mapping[str, str] = NO_LABELS) -> str:
    """An answer with the labels of the protocol, and those of the topic's subtopics by their numbers."""
    labels = {number: f"{number} {words}" for number, words in subtopics.items()}
    labels = labels if question.choices_from else question.labels

    def name(key: str) -> str:
        return labels.get(key, key)

    if question.kind == "ranking" and isinstance(answer, list):
        places = [item if isinstance(item, list) else [item] for item in answer]
        return " > ".join(" = ".join(map(name, keys)) for keys in places)
    if question.kind == "any-of" and isinstance(answer, list):
        return ", ".join(map(name, answer)) or NONE_OF_THEM
    if question.kind == "span" and isinstance(answer, list):
        return ", ".join(f"{name(mark['choice'])} {mark['start']}+{mark['length']}" for mark in answer)
    return name(str(answer)) + (f" {question.unit}" if question.unit else "")


def choices_of(rules: JudgingRules, questions: Iterable[Question], docno: str) -> dict[str, Any]:
    """The grades, non-answers and questions that a program can choose from for a unit, with their definitions."""
    described = ("key", "label", "definition")
    asked = ("key", "label", "kind", "after", "after_all", "required", "help", "field", *LIMITS)
    return {
        "grades": [
            {
                "grade": grade.value,
                "key": grade.key,
                "label": grade.label_for(docno),
                "definition": grade.definition_for(docno),
            }
            for grade in rules.grades
        ],
        "non_answers": [
            {name: getattr(non_answer, name) for name in (*described, "needs_comment")}
            for non_answer in rules.non_answers
        ],
        "questions": [
            {name: getattr(form_question, name) for name in asked}
            | {
                "choices": [
                    {name: getattr(choice, name) for name in described} for choice in form_question.choices
                ]
            }
            for form_question in questions
        ],
        "has_other_answers": rules.form is not None and rules.form.frame,
    }
