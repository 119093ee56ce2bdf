"""Reads a labeling configuration: which questions its controls are, and the page that shows a task.

Objects such as Text show a variable of the task, `$name`. A header before a control is the label of its question. A
control without a counterpart is named in the notes with its line, and its results are left out.
"""

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple, cast

from lxml import etree

from assay.errors import InputError
from assay.formats.markup import xml_root
from assay.formats.moving import choices_of
from assay.formats.text import decoded
from assay.preferences.votes import BAD, TIE
from assay.protocols.form_rules import KEY, ROW_COLUMNS
from assay.protocols.questions import NUMBER
from assay.templates import MAX_TEMPLATE

VARIABLE = re.compile(r"\$([^\W\d]\w{0,98})")
PART = re.compile(r"\$[^\W\d]\w*[.\[]\w")  # of a value that is a list or an object
TEXTS = frozenset({"Text", "HyperText"})
PARTS = frozenset({"View", "Style", "Header", "Choice", "Label", "Shortcut"})  # of the page, or of a control
MOST_STARS = 20
YES_NO = {"yes": "Yes", "no": "No"}
TYPES = {  # of the results of a control, with the key of their value
    "Choices": ("choices", "choices"),
    "Rating": ("rating", "rating"),
    "Number": ("number", "number"),
    "TextArea": ("textarea", "text"),
    "Labels": ("labels", "labels"),
}


class Control(NamedTuple):
    """A control that is a question. `choices` has the key of each choice by its word in results."""

    tag: str
    question: Mapping[str, Any]
    choices: Mapping[str, str]


class Pairwise(NamedTuple):
    """A control that compares two objects, with their variables. `sides` has left and right by the word in results."""

    name: str
    left: str
    right: str
    sides: Mapping[str, str]


@dataclass
class Config:
    """The questions of a labeling configuration.

    Attributes:
        html: the page of a form.
        variables: what it shows of a task.
        controls: the questions, by the name of their control.
        ties: in a comparison, the control that says that both sides are equally good or useless; or nothing.
        tie_words: its words in results, with what they say.
        left_out: the names of the controls without a counterpart.
    """

    html: str = ""
    variables: list[str] = field(default_factory=list)
    controls: dict[str, Control] = field(default_factory=dict)
    pairwise: Pairwise | None = None
    ties: str = ""
    tie_words: Mapping[str, str] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    @property
    def fields(self) -> list[str]:
        """The variables that are fields of a row."""
        return [name for name in self.variables if name not in ROW_COLUMNS]


def read_config(data: bytes, name: str) -> Config:
    """The questions of a labeling configuration.

    Raises:
        InputError: It is not XML, declares entities, or asks nothing that Assay can ask.
    """
    if len(data) > MAX_TEMPLATE:
        raise InputError(f"{name}: {len(data):,} bytes; a configuration has at most {MAX_TEMPLATE:,}")
    try:
        root = xml_root(decoded(data, name).data)
    except etree.XMLSyntaxError as error:
        raise InputError(f"{name}: line {error.lineno or 1}: not XML: {error.msg}") from None
    info: Any = root.getroottree().docinfo
    if info.doctype:
        raise InputError(f"{name}: line 1: a document type is not accepted; remove <!DOCTYPE …>")
    reader = _Reader(name)
    reader.texts = {
        text.get("name", ""): variable[1]
        for text in root.iter("Text")
        if (variable := VARIABLE.fullmatch(text.get("value", ""))) and variable[1] not in ROW_COLUMNS
    }
    for element in root.iter(etree.Element):
        reader.read(element)
    return reader.finished()


def _line(element: etree._Element) -> int:
    return cast(int, element.sourceline or 1)


def _is_true(element: etree._Element, name: str) -> bool:
    return element.get(name, "").lower() == "true"


class _Reader:
    """Reads the elements of a configuration in their order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.config = Config()
        self.page: list[str] = []
        self.variables: dict[str, None] = {}
        # the last header as label and as HTML, if nothing follows it yet
        self.header: tuple[str, str] | None = None
        self.objects: dict[str, str] = {}  # the variable of each object
        self.texts: dict[str, str] = {}  # the variable of each text that shows nothing else
        self.pairwise: etree._Element | None = None
        self.names: dict[str, int] = {}  # the line of each
        self.keys: set[str] = set()  # of questions
        self.labels: set[str] = set()

    def read(self, element: etree._Element) -> None:
        tag = str(element.tag)
        if tag == "Header":
            self._put_header()
            words = element.get("value") or "".join(map(str, element.itertext()))
            self.header = (" ".join(words.split()), f"<h3>{self._words(words)}</h3>")
        elif element.get("toName") is not None:
            self._control(element, tag)
        elif element.get("value") is not None and tag not in PARTS:
            value = element.get("value", "")
            self._put_header()
            self._named(element)
            if PART.match(value):
                self._note(element, f"shows a part of a value, {value[:40]}; the whole value is shown")
            self.page.append(f"<p>{self._words(value)}</p>")
            match = VARIABLE.match(value)
            self.objects[element.get("name", "")] = match[1] if match else ""
            if tag == "HyperText":
                self._note(element, "is shown as text, not as HTML")
            elif tag not in TEXTS:
                self._note(element, "is not shown; the page has its value as text")

    def finished(self) -> Config:
        """The configuration, after all elements were read."""
        config = self.config
        self._put_header()
        if self.pairwise is not None:
            self._compare(self.pairwise)
        elif config.ties:  # a question like others
            self.page.append(f"${{question.{config.controls[config.ties].question['key']}}}")
            config.ties = ""
        if not config.controls and config.pairwise is None:
            accepted = "Choices, Rating, Number, TextArea and Pairwise"
            problems = "\n".join(config.notes)
            raise InputError(
                f"{self.name}: no control has a counterpart; accepted: {accepted}\n{problems}".strip()
            )
        config.variables = list(self.variables)
        config.html = "".join(f"{part}\n" for part in self.page)
        return config

    def _put_header(self) -> None:
        if self.header is not None:
            self.page.append(self.header[1])
        self.header = None

    def _words(self, text: str) -> str:
        """Words of the page as HTML, with the places of variables."""
        pieces = VARIABLE.split(text)
        parts = [escape(piece).replace("$", "&#36;") for piece in pieces]
        for n in range(1, len(pieces), 2):
            parts[n] = f"${{{pieces[n]}}}"
            self.variables.setdefault(pieces[n])
        return "".join(parts)

    def _note(self, element: etree._Element, text: str) -> None:
        words = " ".join((element.get("name") or "", f"({element.tag})")).strip()
        self.config.notes.append(f"line {_line(element)}: {words} {text}")

    def _named(self, element: etree._Element) -> str:
        name, line = element.get("name", ""), _line(element)
        if not name:
            raise InputError(f"{self.name}: line {line}: {element.tag} has no name")
        if name in self.names:
            raise InputError(
                f"{self.name}: line {line}: the name {name!r} is used in line {self.names[name]} already"
            )
        self.names[name] = line
        return name

    def _control(self, element: etree._Element, tag: str) -> None:
        name = self._named(element)
        if tag == "Pairwise" and self.pairwise is None:
            self.pairwise, self.header = element, None
            return
        control = None if _is_true(element, "perRegion") else self._asked(element, tag)
        if control is None:
            self._put_header()
            self.config.left_out.add(name)
            self._note(element, "has no counterpart; its results are left out")
        elif tag == "Choices" and not self.config.ties and set(control.choices.values()) <= {TIE, BAD}:
            self.config.ties, self.header = name, None
            self.config.controls[name] = control
        else:
            self.config.controls[name] = control
            self.page.append(f"${{question.{control.question['key']}}}")
            self._note(element, f"is the question {control.question['key']}, {control.question['kind']}")

    def _asked(self, element: etree._Element, tag: str) -> Control | None:
        """The question of a control; nothing if it has no counterpart."""
        name = element.get("name", "")
        kinds: dict[str, Callable[[etree._Element], Made | None]] = {
            "Choices": _choice_question,
            "Rating": _rating_question,
            "Number": _number_question,
            "TextArea": lambda _: ({"kind": "text"}, {}),
            "Labels": self._span_question,
        }
        made = kinds[tag](element) if tag in kinds else None
        if made is None:
            return None
        label = self.header[0] if self.header and self.header[0] else name
        own, choices = made
        question: dict[str, Any] = {
            "key": _key(name, self.keys, len(self.keys) + 1),
            "label": f"{label} ({name})" if label in self.labels else label,
        }
        self.keys.add(question["key"])
        self.labels.add(question["label"])
        self.header = None
        question |= own
        if not _is_true(element, "required"):
            question["required"] = False
        if conditions := self._conditions(element):
            question["after"] = conditions
        return Control(tag, question, choices)

    def _span_question(self, element: etree._Element) -> "Made | None":
        """A question about parts of a text: the variable of the object is the field."""
        field_of_object = self.texts.get(element.get("toName", ""))
        keys, labels, hints = _choices_in(element, "Label")
        if field_of_object is None or not labels or element.get("value") is not None:
            return None
        choices = _choices(labels, hints, has_values=False)
        return {"kind": "span", "field": field_of_object, "choice": choices}, keys

    def _conditions(self, element: etree._Element) -> list[str]:
        """The conditions under which a control is shown: of itself, or of a view around it."""
        having = [ancestor for ancestor in (element, *element.iterancestors()) if ancestor.get("visibleWhen")]
        if not having:
            return []
        control = self.config.controls.get(having[0].get("whenTagName", ""))
        words = having[0].get("whenChoiceValue", "")
        keys = list(dict.fromkeys(control.choices.values())) if control is not None else []
        if control is not None and words:
            named = [control.choices.get(word.strip(), "") for word in words.split(",")]
            keys = named if all(named) else []
        if len(having) > 1 or having[0].get("visibleWhen") != "choice-selected" or not control or not keys:
            self._note(element, "is asked always; its condition has no counterpart")
            return []
        return [f"{control.question['key']}:{key}" for key in keys]

    def _compare(self, element: etree._Element) -> None:
        names = [name.strip() for name in element.get("toName", "").split(",")]
        sides = [self.objects.get(name, "") for name in names]
        if len(sides) != 2 or not all(sides):
            raise InputError(
                f"{self.name}: line {_line(element)}: {element.get('name')} (Pairwise) compares {', '.join(names)}; "
                "toName must name two objects with a variable, such as left,right"
            )
        words = {element.get("leftClass", "left"): "left", element.get("rightClass", "right"): "right"}
        self.config.pairwise = Pairwise(
            element.get("name", ""),
            sides[0],
            sides[1],
            words | {"left": "left", "right": "right", TIE: TIE, BAD: BAD},
        )
        self._note(element, "gives votes on the left and the right side")
        if self.config.ties:
            self.config.tie_words = self.config.controls.pop(self.config.ties).choices
            self.config.notes.append(f"{self.config.ties} (Choices) gives votes for neither side")


def _key(word: str, taken: Container[str], number: int) -> str:
    """A word as a key that is not taken."""
    key = re.sub(r"[^A-Za-z0-9_-]+", "-", word).strip("-")[:40] if not KEY.fullmatch(word) else word
    while not key or key in taken:
        key = f"{key or 'choice'}-{number}"
    return key


# What a question has besides key and label, and the keys of its choices
Made = tuple[dict[str, Any], dict[str, str]]


def _choices_in(element: etree._Element, tag: str) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """The choices of a control: the key of each word in results, and the label and the hint of each key."""
    keys: dict[str, str] = {}
    labels: dict[str, str] = {}
    hints: dict[str, str] = {}
    for choice in element.iter(tag):
        word = choice.get("alias") or choice.get("value") or ""
        if not word or word in keys:
            continue
        keys[word] = key = _key(word, labels, len(labels) + 1)
        labels[key] = choice.get("value") or word
        hints[key] = choice.get("hint", "")
    words = keys | {label: key for key, label in labels.items() if label not in keys}
    return words, labels, hints


def _choice_question(element: etree._Element) -> Made | None:
    words, labels, hints = _choices_in(element, "Choice")
    parents = [choice.getparent() for choice in element.iter("Choice")]
    is_nested = any(parent is not None and parent.tag == "Choice" for parent in parents)
    if len(labels) < 2 or is_nested or element.get("value") is not None:
        return None
    if element.get("choice") == "multiple":
        return {"kind": "any-of", "choice": _choices(labels, hints, has_values=False)}, words
    if labels == YES_NO and not any(hints.values()):
        return {"kind": "yes-no"}, words
    return {"kind": "one-of", "choice": _choices(labels, hints, has_values=True)}, words


def _choices(labels: dict[str, str], hints: Mapping[str, str], *, has_values: bool) -> list[dict[str, Any]]:
    """The choices of a question; hints are definitions."""
    choices = choices_of(labels, has_values=has_values)
    return [
        choice | ({"definition": hints[choice["key"]]} if hints[choice["key"]] else {}) for choice in choices
    ]


def _rating_question(element: etree._Element) -> Made | None:
    most = element.get("maxRating", "5")
    if not most.isdecimal() or not 2 <= int(most[:4]) <= MOST_STARS:
        return None
    stars = {str(n): str(n) for n in range(1, int(most) + 1)}
    return {"kind": "one-of", "choice": choices_of(stars, has_values=True)}, stars


def _number_question(element: etree._Element) -> Made:
    limits = {key: element.get(key, "") for key in ("min", "max")}
    numbers = {
        key: float(text) if "." in text else int(text)
        for key, text in limits.items()
        if NUMBER.fullmatch(text)
    }
    return {"kind": "number", **numbers}, {}
