"""Reads the HTML template of a form: its placeholders, its controls, and what a page would not show of it.

A template is HTML with `${name}`: `${question.KEY}` is the place of a question of the protocol, any other name a column
of the rows. Turkle's templates are the same, with controls of their own (`input`, `select`, `textarea`) instead of the
places of questions. Lines are counted from 1.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import NamedTuple

PLACEHOLDER = re.compile(r"\$\{([^{}\n]{1,100})\}")
QUESTION = "question."  # begins the name of the place of a question
MAX_TEMPLATE = 200_000  # characters
# Elements that the page of a form does not have: they run, load or submit something, or are controls of their own.
REFUSED = frozenset({
    "applet", "base", "button", "embed", "form", "frame", "frameset", "iframe", "input", "link", "math", "meta",
    "object", "script", "select", "style", "svg", "template", "textarea",
})  # fmt: skip
CONTROLS = frozenset({"input", "select", "textarea"})
BUTTONS = frozenset({"submit", "button", "reset", "image", "file"})  # types of inputs that have no answer


class Place(NamedTuple):
    """A placeholder, or something else at a line of a template."""

    name: str
    line: int


@dataclass
class Control:
    """The controls of a template that share a name: what a person answers. `kind` is the type of the first.

    `options` has the label of each value, in the order of the template.
    """

    name: str
    kind: str
    line: int
    options: dict[str, str] = field(default_factory=dict)
    limits: dict[str, str] = field(default_factory=dict)
    is_required: bool = False


@dataclass
class Template:
    """What a template contains.

    `refused` are the elements and attributes that only a frame may have, `outside` the addresses of other hosts that it
    loads, which no page of Assay does.
    """

    variables: list[Place] = field(default_factory=list)
    questions: list[Place] = field(default_factory=list)
    controls: dict[str, Control] = field(default_factory=dict)
    scripts: list[int] = field(default_factory=list)
    refused: list[Place] = field(default_factory=list)
    outside: list[Place] = field(default_factory=list)


def read_template(html: str) -> Template:
    """What a template contains. Any text is a template: HTML has no errors."""
    template = Template()
    for line, text in enumerate(html.split("\n"), 1):
        for match in PLACEHOLDER.finditer(text):
            name = match[1].strip()
            places = template.questions if name.startswith(QUESTION) else template.variables
            places.append(Place(name.removeprefix(QUESTION), line))
    reader = _Reader(template)
    reader.feed(html)
    reader.close()
    reader.finish()
    return template


def filled(html: str, values: Mapping[str, str]) -> str:
    """A template with a value in each place that has one. A value that contains `${name}` is not filled in again.

    >>> filled("<p>${a} ${b}</p>", {"a": "${b}", "b": "1"})
    '<p>${b} 1</p>'
    """
    return PLACEHOLDER.sub(lambda match: values.get(match[1].strip(), match[0]), html)


class _Reader(HTMLParser):
    """Collects the elements of a template. The label of an option is the text of its `label`, or after its input."""

    def __init__(self, template: Template) -> None:
        super().__init__(convert_charrefs=True)
        self.template = template
        self.label: list[str] | None = None  # the text of the open label
        self.label_for = ""
        self.in_label: tuple[Control, str] | None = None
        self.ids: dict[str, tuple[Control, str]] = {}
        self.labels: dict[str, str] = {}  # by the id for which they are
        self.select: Control | None = None
        self.option: tuple[str | None, list[str]] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        line = self.getpos()[0]
        given = {name: value or "" for name, value in attrs}
        self._note(tag, given, line)
        if tag == "label":
            self.label, self.label_for, self.in_label = [], given.get("for", ""), None
        elif tag in CONTROLS:
            self._control(tag, given, line)
        elif tag == "option" and self.select is not None:
            self._end_option()
            self.option = (given.get("value"), [])

    def _note(self, tag: str, given: dict[str, str], line: int) -> None:
        template = self.template
        if tag in REFUSED:
            template.refused.append(Place(f"<{tag}>", line))
        if tag == "script":
            template.scripts.append(line)
        template.refused += [
            Place(f"the attribute {name}", line) for name in given if name == "style" or name.startswith("on")
        ]
        loaded = [given.get(name, "") for name in ("src", "srcset", "data", "poster")]
        loaded += [given.get("href", "")] * (tag == "link")
        template.outside += [Place(url, line) for url in loaded if re.match(r"\s*(https?:)?//", url)]

    def _control(self, tag: str, given: dict[str, str], line: int) -> None:
        name, kind = given.get("name", ""), given.get("type", "text").lower() if tag == "input" else tag
        if not name or kind in BUTTONS:
            return
        control = self.template.controls.setdefault(name, Control(name, kind, line))
        control.is_required |= "required" in given
        control.limits |= {key: given[key] for key in ("min", "max", "maxlength") if key in given}
        if kind in {"radio", "checkbox"}:
            value = given.get("value", "on")
            control.options.setdefault(value, "")
            self.in_label = (control, value)
            if "id" in given:
                self.ids[given["id"]] = (control, value)
        if tag == "select":
            self.select = control
            control.kind = "checkbox" if "multiple" in given else "radio"

    def handle_data(self, data: str) -> None:
        if self.option is not None:
            self.option[1].append(data)
        elif self.label is not None:
            self.label.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "label" and self.label is not None:
            text = " ".join("".join(self.label).split())
            if self.in_label is not None and not self.label_for:
                self.in_label[0].options[self.in_label[1]] = text
            self.labels[self.label_for] = text
            self.label = self.in_label = None
        elif tag in {"option", "select"}:
            self._end_option()
            self.select = None if tag == "select" else self.select

    def _end_option(self) -> None:
        if self.option is not None and self.select is not None:
            text = " ".join("".join(self.option[1]).split())
            value = text if self.option[0] is None else self.option[0]
            if value:
                self.select.options[value] = text
        self.option = None

    def finish(self) -> None:
        """Give options the labels that name their ids."""
        for key, (control, value) in self.ids.items():
            control.options[value] = control.options[value] or self.labels.get(key, "")
