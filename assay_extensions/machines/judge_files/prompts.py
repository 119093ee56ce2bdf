"""Prompt templates: the messages that a model gets about a unit, and how its replies are read.

A template is a TOML file with `[[call]]`, each with its `[[call.message]]`. A message has placeholders such as
`${title}`: see `values_of`. The number that an earlier call gives, such as `exactness`, is `${exactness}` in later
ones. The digest is that of the file.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypedDict

from assay.digests import sha256_of
from assay.errors import AssayError, InputError
from assay.formats.text import read_text
from assay.protocols.units import documents_of
from assay.structure import read_toml
from assay.templates import PLACEHOLDER

SUFFIX = ".toml"
TEXTS = ("title", "description", "narrative", "scenario", "criteria", "docno", "document_title", "text")
OWN = (
    *("guidelines", "grades", "first", "second", "statement", "answer", "row"),
    *("examples", "thread", "thread_question"),
)
SCORE = re.compile(r"score\s*[:=][\s*]*(-?\d+)", re.IGNORECASE)
ANSWER = re.compile(r"answer\s*[:=][\s*\"'`]*([\w-]+)", re.IGNORECASE)
SHOWN = 80  # characters of a reply
LOGPROB = ("token", "logprob")


class UnreadableReply(AssayError):
    """A reply without the answer that the template requests. It is a reason to skip the unit, never a grade."""


class Reading(NamedTuple):
    """A word that answers, and the place of the word in the reply."""

    word: str
    start: int


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Call:
    """A request. `key` names its number in later calls; `is_swapped` exchanges the documents of a pair."""

    messages: tuple[Message, ...] = field(metadata={"key": "message"})
    key: str = ""
    is_swapped: bool = field(default=False, metadata={"key": "swapped"})


@dataclass(frozen=True, slots=True)
class Template:
    """A template file.

    Attributes:
        follows: the publication whose practice it follows.
        parser: name and version of an entry of `PARSERS`.
    """

    title: str
    version: str
    follows: str
    parser: str
    calls: tuple[Call, ...] = field(metadata={"key": "call"})
    sha256: str = field(default="", metadata={"key": ""})


def template_names() -> list[str]:
    """The names of the templates that Assay has."""
    folder = files("assay_extensions.machines.judge_files") / "prompts"
    return sorted(file.name.removesuffix(SUFFIX) for file in folder.iterdir() if file.name.endswith(SUFFIX))


def missing_template(name: str, folder: str = "") -> str:
    """The problem of a template that is not there; empty if it is."""
    if "/" in name or name.endswith(SUFFIX):
        path = Path(folder) / name
        return "" if path.is_file() else f"template: there is no file {path}"
    names = template_names()
    return "" if name in names else f"template: there is no {name}; use {', '.join(names)}, or a file"


def read_template(name: str, folder: str = "") -> Template:
    """A template by its name, or from a file whose path is relative to `folder`.

    Raises InputError: there is no such template, or its file has errors.
    """
    if missing := missing_template(name, folder):
        raise InputError(missing)
    if name in template_names():
        text = (files("assay_extensions.machines.judge_files") / "prompts" / f"{name}{SUFFIX}").read_text(
            "utf-8"
        )
    else:
        text = read_text(str(Path(folder) / name))
    return read_toml(text, Template, name=name, rules=_problems, sha256=sha256_of(text.encode()))


def _problems(template: Template) -> Iterator[str]:
    if template.parser not in PARSERS:
        yield f"parser: there is no {template.parser}; use {', '.join(PARSERS)}"
    if not template.calls:
        yield "call: expected at least one [[call]]"
    if template.parser == "sides/1" and [call.is_swapped for call in template.calls] != [False, True]:
        yield "call: sides/1 needs two calls, the second one with swapped = true"
    known = {*TEXTS, *OWN}
    for n, call in enumerate(template.calls, 1):
        if not call.messages:
            yield f"call[{n}].message: expected at least one [[call.message]]"
        for m, message in enumerate(call.messages, 1):
            for name in PLACEHOLDER.findall(message.content):
                if name not in known:
                    yield f"call[{n}].message[{m}].content: no ${{{name}}}; use {', '.join(sorted(known))}"
        known.add(call.key)


def values_of(question: Mapping[str, Any]) -> dict[str, str]:
    """The value of each placeholder, from what a program gets about a unit.

    `grades` lists them from the lowest, with their definitions; `first` and `second` are the documents of a pair;
    `statement` and `answer` are the nugget or sentence and the whole generated answer; `row` is a row of a table.
    `examples` are grades that people agreed on in other topics, `thread` the posts around a cited one, and
    `thread_question` the question of an answer; each begins with a line that says so, and is empty if there is none.
    """
    values = {name: str(question.get(name) or "") for name in TEXTS}
    values["guidelines"] = "\n".join(_guidelines(question))
    values["grades"] = "\n".join(
        f"{grade['grade']} ({grade['key']}): {grade['label']}. {grade['definition']}".rstrip()
        for grade in sorted(question["grades"], key=lambda grade: int(grade["grade"]))
    )
    pair = {side["docno"]: f"{side['title']}\n{side['text']}".strip() for side in question.get("pair") or ()}
    names = documents_of(question["docno"]) if pair else None
    values["first"], values["second"] = (pair.get(name, "") for name in names or ("", ""))
    generated = question.get("generated") or {}
    values["statement"], values["answer"] = generated.get("text", ""), str(generated.get("answer", ""))
    values["row"] = "\n".join(f"{key}: {value}" for key, value in (question.get("row") or {}).items())
    values["examples"] = _headed(
        "Examples of grades that people agreed on:",
        (
            f"Topic: {example['title']}\nDocument: {example['document_title']}\n{example['text']}\n"
            f"Grade: {example['grade']} ({example['key']}). {example['reason']}"
            for example in question.get("examples") or ()
            if example["topic"] != question["topic"]
        ),
    )
    citation = question.get("citation") or {}
    values["thread"] = _headed(
        f"Thread of the cited post: {citation.get('thread_title', '')}",
        (
            f"{post['author']}, {post['published_at']}:\n{post['text']}"
            for post in citation.get("posts") or ()
        ),
    )
    values["thread_question"] = _headed(
        "The document answers this question:", filter(None, [question.get("thread_question")])
    )
    return values


def _guidelines(question: Mapping[str, Any]) -> Iterator[str]:
    """The lines of the guidelines, with worked examples in words, but not those of the unit that is judged."""
    is_own = False
    for line in str(question.get("guidelines") or "").split("\n"):
        words = line.split()
        if words[:1] == [":::"] and words[1:2] == ["example"] and len(words) == 5:
            is_own = words[2:4] == [question["topic"], question["docno"]]
            if not is_own:
                yield f"Example: topic {words[2]}, document {words[3]}, grade {words[4]}."
        elif words == [":::"]:
            is_own = False
        elif not is_own:
            yield line


def _headed(heading: str, parts: Iterable[str]) -> str:
    texts = [part.strip() for part in parts]
    return "\n\n".join([heading, *texts]) if texts else ""


def messages_of(call: Call, values: Mapping[str, str]) -> list[dict[str, str]]:
    """The messages of a call. A placeholder inside a value is text."""
    if call.is_swapped:
        values = {**values, "first": values["second"], "second": values["first"]}
    return [
        {"role": message.role, "content": PLACEHOLDER.sub(lambda place: values[place[1]], message.content)}
        for message in call.messages
    ]


def number_in(reply: str) -> str:
    """The number of an earlier call of several.

    >>> number_in("It answers a part. Score: 2")
    '2'
    """
    return _last(SCORE, reply, "score: NUMBER").word


def _last(pattern: re.Pattern[str], reply: str, expected: str) -> Reading:
    matches = list(pattern.finditer(reply))
    if not matches:
        end = reply.strip()[-SHOWN:]
        raise UnreadableReply(f"the reply does not have “{expected}”; it ends with {end!r}")
    return Reading(matches[-1][1], matches[-1].start(1))


def _score(reply: str, names: Mapping[str, str]) -> Reading:
    return _known(_last(SCORE, reply, "final score: NUMBER"), names)


def _answer(reply: str, names: Mapping[str, str]) -> Reading:
    reading = _last(ANSWER, reply, "answer: WORD")
    return _known(Reading(reading.word.lower(), reading.start), names)


def _known(reading: Reading, names: Mapping[str, str]) -> Reading:
    if reading.word not in names:
        raise UnreadableReply(f"the reply says {reading.word}; expected {', '.join(names)}")
    return reading


class OfferedGrade(TypedDict):
    """A grade that a program may choose, as the API gives it."""

    key: str
    grade: int
    label: str
    definition: str


class Parser(NamedTuple):
    """A way to read a reply: `names` gives the words that answer, each with its meaning; `read` finds one."""

    names: Callable[[Sequence[OfferedGrade]], dict[str, str]]
    read: Callable[[str, Mapping[str, str]], Reading]


SIDES = {"a": "first", "b": "second", "tie": "tie"}
PARSERS: Mapping[str, Parser] = MappingProxyType(
    {
        "final-score/1": Parser(
            lambda grades: {str(grade["grade"]): grade["key"] for grade in grades}, _score
        ),
        "answer/1": Parser(lambda grades: {grade["key"].lower(): grade["key"] for grade in grades}, _answer),
        "sides/1": Parser(lambda _: SIDES, _answer),
    }
)
SWAPPED = {"first": "second", "second": "first"}


def choice_in(replies: Sequence[str], parser: str, grades: Sequence[OfferedGrade]) -> str:
    """The key of the grade in the replies to the calls of a template. The last reply has it.

    `sides/1` has two replies, with the documents in both orders: a document that both prefer is better, else it is a
    tie. Without a model, this is also the replay of stored replies.

    Raises UnreadableReply: there is no grade in it.
    """
    read, names = PARSERS[parser].read, PARSERS[parser].names(grades)
    choice = names[read(replies[-1], names).word]
    if parser != "sides/1":
        return choice
    if len(replies) != 2:
        raise UnreadableReply(f"{len(replies)} replies; a pair needs one for each order")
    first = names[read(replies[0], names).word]
    choice = first if first == SWAPPED.get(choice, choice) else "tie"
    if choice not in {grade["key"] for grade in grades}:
        raise UnreadableReply("the model prefers no document in both orders, and the protocol has no tie")
    return choice


def answer_token(
    reply: str, tokens: Sequence[Mapping[str, Any]], parser: str, grades: Sequence[OfferedGrade]
) -> list[dict[str, Any]]:
    """The token at which the answer begins, with its alternatives, preceded by one token with the text before it.

    `tokens` is `logprobs.content` of the API. Empty if the tokens are not those of the reply.
    """
    start, end = PARSERS[parser].read(reply, PARSERS[parser].names(grades)).start, 0
    for token in tokens:
        end += len(token["token"])
        if end > start:
            others = [
                {name: other[name] for name in LOGPROB} for other in token.get("top_logprobs") or [token]
            ]
            before = {"token": reply[: end - len(token["token"])]}
            return [before, {"token": token["token"], "top_logprobs": others}]
    return []


def probabilities_in(
    reply: str, tokens: Sequence[Mapping[str, object]], parser: str, grades: Sequence[OfferedGrade]
) -> dict[str, float] | None:
    """The probability of each answer, from the alternatives of the token where the answer begins.

    An alternative counts for the answer that it begins, if there is only one. The probabilities of all answers are
    scaled to 1. None if the tokens are not those of the reply.
    """
    names = PARSERS[parser].names(grades)
    mass = dict.fromkeys(names.values(), 0.0)
    for token in answer_token(reply, tokens, parser, grades)[1:]:
        for other in token["top_logprobs"]:
            word = other["token"].strip().strip("*\"'`").lower()
            begun = [word] if word in names else [name for name in names if word and name.startswith(word)]
            if len(begun) == 1:
                mass[names[begun[0]]] += math.exp(other["logprob"])
    total = sum(mass.values())
    return {key: value / total for key, value in mass.items()} if total else None
