"""Reads topics as TREC publishes them, as rows for `assay.formats.topics.reader`.

Marked text, as in TREC-1 to TREC-8 and Robust; tags need no end, and labels such as `Number:` are dropped::

    <top>
    <num> Number: 301
    <title> International Organized Crime
    <desc> Description:
    Identify organizations that participate in international criminal activity.
    <narr> Narrative:
    A relevant document must as a minimum identify the organization.
    </top>

XML, as in the Web and COVID tracks, under a root element of any name: `<topic number="1" type="faceted"><query/>
<description/><subtopic number="1" type="inf"/></topic>`. Lines: `301:title`, or a code, a tab and a title.

The number becomes the code, title or query the title, description or question the body, and the narrative the
narrative. A topic may lack any part but the number and one of title and description. Sections with other names, such
as `<con>` and `<fac>` of TREC-1, follow in the body under their names. Attributes become labels, and subtopics are
kept as such.

A number that is written after the label `Number:` loses its leading zeros, as in TREC's qrels: 051 is topic 51.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple, cast

from lxml import etree

from assay.formats.markup import unescaped, without_comments
from assay.formats.text import lines_of

MAX_INDENT = 100  # characters before a tag that begins a line

_TAG = re.compile(r"<(/?)([A-Za-z][\w.-]*+)([^<>]*+)>")
_FIRST = re.compile(
    r"\s*+(?>(?:(?:<\?[^<>]*+>|<!--.*?-->|<!DOCTYPE\b[^<>\[]*+>)\s*+)*)"
    r"(?>(?:<(?!top[\s>])[A-Za-z][^<>]*+>\s*+)?)<top[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_DECLARATION = re.compile(r"<\?[^<>]*+>|<!DOCTYPE\b[^<>\[]*+>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""(?<![\w.:-])([\w.:-]++)\s*+=\s*+["']([^"']*+)["']""")
_LANGUAGE_PREFIX = re.compile(r"[A-Z]{2}-(?=[a-z])")  # of CLEF's tags
_COLON_LINE = re.compile(r"([^\s:<{\"']+):[ \t]*(\S.*)")
_ITEM = re.compile(r"\n[^\S\n]*(?=(?:\d{1,2}[.)]|[-*•])\s)")  # before a line of a list
_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n\s*")

# The name of a section, or its tag, to the part of a topic.
_PARTS = {
    **dict.fromkeys(("num", "number", "identifier", "id"), "code"),
    **dict.fromkeys(("title", "query"), "title"),
    **dict.fromkeys(("desc", "description", "question"), "body"),
    **dict.fromkeys(("narr", "narrative"), "narrative"),
}
# The names of TREC's other tags.
_NAMES = {
    "dom": "Domain",
    "head": "Head",
    "smry": "Summary",
    "con": "Concepts",
    "fac": "Factors",
    "def": "Definitions",
    "nat": "Nationality",
    "time": "Time",
}
_LABELS = {
    "code": ("Number",),
    "title": ("Topic", "Title"),
    "body": ("Description",),
    "narrative": ("Narrative",),
    "smry": ("Summary",),
    "dom": ("Domain",),
    "con": ("Concept(s)", "Concepts"),
    "fac": ("Factor(s)", "Factors"),
    "def": ("Definition(s)", "Definitions"),
    "nat": ("Nationality",),
    "time": ("Time",),
}
_OPTIONAL = {"title": "title", "body": "description", "narrative": "narrative"}


class Section(NamedTuple):
    """A section of a topic, with the line of its tag. `text` has characters instead of references."""

    tag: str
    text: str
    line: int

    @property
    def part(self) -> str:
        """The part of a topic; empty for a section that has only a name."""
        return _PARTS.get(self.tag, "")


@dataclass(frozen=True)
class Reading:
    """The topics of a file, by the line of each; what is wrong with the file; and what its reader should know.

    `has_own_labels`: the labels are those of the file's form, and the protocol need not know each of them.
    """

    rows: list[tuple[int, dict[str, Any]]]
    complaints: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    has_own_labels: bool = False


def is_marked(text: str) -> bool:
    """Return whether a text contains topics between `<top>` and `</top>`."""
    return _FIRST.match(text) is not None


def is_colon_lines(text: str) -> bool:
    """Return whether every line of a text is a code, a colon and a title, and some title has several words."""
    lines = [line.strip() for line in lines_of(text) if line.strip()]
    return all(map(_COLON_LINE.fullmatch, lines)) and any(len(line.split()) > 1 for line in lines)


def read_text(text: str) -> Reading:
    """The topics of marked text, or of lines of a code, a colon and a title."""
    if not is_marked(text):
        lines = ((number, line.strip()) for number, line in enumerate(lines_of(text), 1))
        matches = ((number, _COLON_LINE.fullmatch(line)) for number, line in lines)
        return Reading([(n, {"code": match[1], "title": match[2]}) for n, match in matches if match])
    scan = _Scan(text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n"))
    scan.run()
    return _reading(scan.topics, scan.complaints)


def is_xml(root: "etree._Element") -> bool:
    """Return whether the topics of a file are those of TREC: elements `<topic>` without formulas and keywords."""
    first = root.find("topic")
    return first is not None and not any(True for _ in first.iter("{*}formula", "{*}keyword"))


def read_xml(root: "etree._Element") -> Reading:
    """The topics of XML. Their attributes become labels."""
    topics = []
    for element in root.iterchildren("topic"):
        line = cast("int", element.sourceline)
        attributes = {str(name): str(value) for name, value in element.attrib.items()}
        code = next((attributes.pop(name) for name in ("number", "id") if name in attributes), None)
        sections = [Section("number", code, line)] if code is not None else []
        sections += _sections_of(element)
        subtopics = [subtopic(child) for child in element.iterchildren("subtopic")]
        topics.append(_Topic(line, sections, attributes, subtopics))
    return _reading(topics, [])


def _sections_of(topic: "etree._Element") -> Iterator[Section]:
    if text := (topic.text or "").strip():
        yield Section("description", text, cast("int", topic.sourceline))
    for child in topic.iterchildren(tag=etree.Element):
        line = cast("int", child.sourceline)
        attributes = ", ".join(map(str, child.attrib.values()))
        words = "".join(map(str, child.itertext())).strip()
        if attributes:  # `1, inf: Find a map`
            words = f"{attributes}: {words}"
        if child.tag != "subtopic":
            yield Section(etree.QName(child).localname.lower(), words, line)
        if tail := (child.tail or "").strip():
            yield Section("text", tail, line)


def subtopic(element: "etree._Element") -> dict[str, str]:
    """The number, type and text of an element `<subtopic number="1" type="inf">`."""
    named = {name: element.get(name, "") for name in ("number", "type")}
    return named | {"text": "".join(map(str, element.itertext()))}


class _Topic(NamedTuple):
    line: int
    sections: list[Section]
    attributes: dict[str, str]
    subtopics: Sequence[dict[str, str]] = ()


class _Scan:
    """Reads marked text from tag to tag."""

    def __init__(self, text: str) -> None:
        self.text = _DECLARATION.sub(lambda each: "\n" * each[0].count("\n"), without_comments(text))
        self.topics: list[_Topic] = []
        self.complaints: list[str] = []
        self._topic: _Topic | None = None
        self._section: Section | None = None
        self._start = 0  # of the text that belongs to the section
        self._counted, self._line = 0, 1

    def run(self) -> None:
        for match in _TAG.finditer(self.text):
            is_end, name = bool(match[1]), _LANGUAGE_PREFIX.sub("", match[2]).lower()
            if name == "top":
                self._finish(match.start())
                line = self._line_at(match.start())
                if is_end and self._topic is None:
                    self.complaints.append(f"line {line}: </top> without <top>")
                elif not is_end and self._topic is not None:
                    self._not_closed(f"the next topic, in line {line}")
                self._topic = self._section = None
                if not is_end:
                    self._topic = _Topic(line, [], dict(_ATTRIBUTE.findall(match[3])))
                    self.topics.append(self._topic)
            elif self._topic is None or self._is_section(match, name, is_end=is_end):
                self._finish(match.start())
                is_open = not is_end and self._topic is not None
                self._section = Section(name, "", self._line_at(match.start())) if is_open else None
            else:
                continue  # a tag within a text is text
            self._start = match.end()
        self._finish(len(self.text))
        if self._topic is not None:
            self._not_closed("the end of the file")

    def _is_section(self, match: re.Match[str], name: str, *, is_end: bool) -> bool:
        if name in _PARTS or name in _NAMES:
            return True
        if is_end:
            return self._section is not None and self._section.tag == name
        before = self.text[max(0, match.start() - MAX_INDENT) : match.start()].rstrip(" \t")
        return not before or before.endswith("\n")

    def _not_closed(self, before: str) -> None:
        topic = cast("_Topic", self._topic)
        self.complaints.append(f"line {topic.line}: <top> is not closed; expected </top> before {before}")

    def _finish(self, end: int) -> None:
        """Give the text up to `end` to the section that is open; without one there must be no text."""
        text = self.text[self._start : end]
        if self._section is not None and self._topic is not None:
            self._topic.sections.append(self._section._replace(text=unescaped(text).strip()))
        elif text.strip():
            line = self._line_at(self._start + len(text) - len(text.lstrip()))
            place = "a section, such as <desc>" if self._topic else "<top>"
            self.complaints.append(f"line {line}: text outside of {place}: {text.strip()[:40]!r}")

    def _line_at(self, position: int) -> int:
        self._line += self.text.count("\n", self._counted, position)
        self._counted = max(self._counted, position)
        return self._line


def _reading(topics: Sequence[_Topic], complaints: list[str]) -> Reading:
    rows: list[tuple[int, dict[str, Any]]] = []
    zeros: list[str] = []
    for topic in topics:
        row, problems = _row_of(topic, zeros)
        complaints += problems
        if not problems:
            rows.append((topic.line, row))
    complaints.sort(key=lambda complaint: int(complaint.split()[1].rstrip(":")))
    notes = []
    for part, name in _OPTIONAL.items():  # that some topics have, and others lack
        without = [(line, row["code"]) for line, row in rows if not row[part]]
        if 0 < len(without) < len(rows):
            shown = ", ".join(f"{code} (line {line})" for line, code in without[:5])
            more = f" and {len(without) - 5} more" if len(without) > 5 else ""
            notes.append(f"no {name} in topic{'s' * (len(without) > 1)} {shown}{more}")
    if zeros:
        shown = f"{zeros[0]}{f' and {len(zeros) - 1} more' if len(zeros) > 1 else ''}"
        notes.insert(0, f"leading zeros dropped as in TREC's qrels: {shown} (now {zeros[0].lstrip('0')})")
    return Reading(rows, complaints, notes, has_own_labels=True)


def _row_of(topic: _Topic, zeros: list[str]) -> tuple[dict[str, Any], list[str]]:
    """The row of a topic, and what is wrong with it. `zeros` gets the number if it loses zeros."""
    parts: dict[str, Section] = {}
    others, problems = [], []
    for section in topic.sections:
        first = parts.setdefault(section.part, section) if section.part else section
        if first is not section and first.tag == section.tag:
            again = f"a second <{section.tag}>; the first is in line {first.line}"
            problems.append(f"line {section.line}: {again}")
        elif not section.part or first is not section:
            others.append(section)
    texts = {part: _without_label(section.text, part)[0] for part, section in parts.items()}
    if not texts.get("code"):
        problems.append(f"line {topic.line}: the topic has no number; expected <num> or an attribute number")
    elif not texts.get("title") and not texts.get("body"):
        problems.append(f"line {topic.line}: topic {texts['code']} has neither a title nor a description")
    else:
        code, is_labeled = texts["code"], texts["code"] != parts["code"].text
        if is_labeled and code.isdecimal() and code.startswith("0") and code.strip("0"):
            zeros.append(code)
            texts["code"] = code.lstrip("0")
    body = _paragraphs(texts.get("body", ""))
    for section in others:
        text, _ = _without_label(section.text, section.part or section.tag)
        name = _NAMES.get(section.tag, section.tag.replace("-", " ").replace("_", " ").capitalize())
        body += _paragraphs(text, f"<b>{escape(name)}:</b> ") if text else ""
    return {
        "code": texts.get("code", ""),
        "title": " ".join(texts.get("title", "").split()),
        "body": body,
        "narrative": _paragraphs(texts.get("narrative", "")),
        "labels": topic.attributes,
        "subtopics": topic.subtopics,
    }, problems


def _without_label(text: str, key: str) -> tuple[str, str]:
    """A text without the label that TREC writes before it, and that label."""
    for label in _LABELS.get(key, ()):
        if text[: len(label)].casefold() == label.casefold() and text[len(label) :].lstrip().startswith(":"):
            return text[len(label) :].lstrip()[1:].strip(), label
    return text, ""


def _paragraphs(text: str, start: str = "") -> str:
    """Plain text as HTML: lists keep their lines, and empty lines separate paragraphs."""
    parts = [" ".join(part.split()) for part in _EMPTY_LINE.split(_ITEM.sub("\0", text.strip()))]
    html = [escape(part, quote=False).replace("\0", "<br>") for part in parts if part]
    return "".join(f"<p>{start if number == 0 else ''}{part}</p>" for number, part in enumerate(html))
