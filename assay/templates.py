"""Reads the HTML template of a form: its placeholders, its controls, and what a page would not show of it.

A template is HTML with `${name}`: `${question.KEY}` is the place of a question of the protocol, any other name a column
of the rows. Turkle's templates are the same, with controls of their own (`input`, `select`, `textarea`) instead of the
places of questions. Lines are counted from 1.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from lxml import etree

PLACEHOLDER = re.compile(r"\$\{([^{}\n]{1,100})\}")
QUESTION = "question."  # begins the name of the place of a question
RAW = "raw"  # in `${name|raw}`, of a frame: the value is inserted as it is
MAX_TEMPLATE = 200_000  # characters
# Elements that the page of a form does not have: they run, load or submit something, or are controls of their own.
REFUSED = frozenset({
    "applet", "base", "button", "embed", "form", "frame", "frameset", "iframe", "input", "link", "math", "meta",
    "object", "script", "select", "style", "svg", "template", "textarea",
})  # fmt: skip
UNREADABLE = {0: None, **dict.fromkeys(range(0xD800, 0xE000))}  # NUL and halves of surrogate pairs
ELSEWHERE = re.compile(r"\s*(https?:)?//")
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
    """The contents of a template.

    `raw` are the variables whose values are inserted as they are, in a frame only. `refused` are the elements and
    attributes that only a frame may have, `outside` the addresses of other hosts that it loads, which no page of Assay
    does.
    """

    variables: list[Place] = field(default_factory=list)
    raw: list[Place] = field(default_factory=list)
    questions: list[Place] = field(default_factory=list)
    controls: dict[str, Control] = field(default_factory=dict)
    scripts: list[int] = field(default_factory=list)
    refused: list[Place] = field(default_factory=list)
    outside: list[Place] = field(default_factory=list)


def read_template(html: str) -> Template:
    """Read what a template contains. Any text is a template: HTML has no errors."""
    from lxml import etree

    template = Template()
    for line, text in enumerate(html.split("\n"), 1):
        for match in PLACEHOLDER.finditer(text):
            name, is_raw = name_of(match)
            places = template.questions if name.startswith(QUESTION) else template.variables
            places.append(Place(name.removeprefix(QUESTION), line))
            template.raw += [Place(name, line)] if is_raw else []
    root = etree.HTML(html.translate(UNREADABLE), etree.HTMLParser(no_network=True))
    if root is None:
        return template
    labels = {label.get("for", ""): _words(label) for label in root.iter("label")}
    for element in root.iter(etree.Element):
        tag, line = str(element.tag), _line(element)
        if tag in REFUSED:
            template.refused.append(Place(f"<{tag}>", line))
        if tag == "script":
            template.scripts.append(line)
        names = [str(name) for name in element.attrib]
        template.refused += [
            Place(f"the attribute {name}", line) for name in names if name == "style" or name.startswith("on")
        ]
        loading = ("src", "srcset", "data", "poster", *(("href",) if tag == "link" else ()))
        template.outside += [
            Place(url, line) for name in loading if ELSEWHERE.match(url := element.get(name, ""))
        ]
        if element.tag in CONTROLS:
            _control(template, element, labels)
    return template


def name_of(place: re.Match[str]) -> tuple[str, bool]:
    """The name in a placeholder, and whether its value is inserted as it is."""
    name, _, mode = place[1].partition("|")
    return (name.strip(), True) if mode.strip() == RAW else (place[1].strip(), False)


def filled(html: str, values: Mapping[str, str]) -> str:
    """A template with a value in each place that has one. A value that contains `${name}` is not filled in again.

    >>> filled("<p>${a} ${b}</p>", {"a": "${b}", "b": "1"})
    '<p>${b} 1</p>'
    """
    return PLACEHOLDER.sub(lambda match: values.get(match[1].strip(), match[0]), html)


def _line(element: "etree._Element") -> int:
    return cast(int, element.sourceline or 1)


def _words(element: "etree._Element") -> str:
    return " ".join("".join(map(str, element.itertext())).split())


def _control(template: Template, element: "etree._Element", labels: Mapping[str, str]) -> None:
    tag, name = str(element.tag), element.get("name", "")
    kind = element.get("type", "text").lower() if tag == "input" else tag
    if not name or kind in BUTTONS:
        return
    if tag == "select":
        kind = "checkbox" if element.get("multiple") is not None else "radio"
    control = template.controls.setdefault(name, Control(name, kind, _line(element)))
    control.is_required |= element.get("required") is not None
    control.limits |= {key: element.get(key, "") for key in ("min", "max", "maxlength") if element.get(key)}
    if tag == "select":
        options = {option.get("value", _words(option)): _words(option) for option in element.iter("option")}
        control.options |= {value: text for value, text in options.items() if value}
    elif kind in {"radio", "checkbox"}:
        around = next(element.iterancestors("label"), None)
        label = labels.get(element.get("id", "")) if element.get("id") else None
        control.options.setdefault(
            element.get("value", "on"), label or (_words(around) if around is not None else "")
        )
