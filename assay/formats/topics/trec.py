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

`assay.formats.topics.xml` reads the topics of the tracks that publish XML, and gives their sections to this module.

The number becomes the code, title or query the title, description or question the body, and the narrative the
narrative. A topic may lack any part but the number. Sections with other names, such
as `<con>` and `<fac>` of TREC-1, follow in the body under their names. Attributes become labels, and subtopics are
kept as such.

A number that is written after the label `Number:` loses its leading zeros, as in TREC's qrels: 051 is topic 51.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple, cast

from assay.formats.markup import unescaped, without_comments

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
_NUMBERED = re.compile(r"(?:Topic|Number|Query)\s+(\S+)", re.IGNORECASE)  # `Topic 12` without a colon
_ITEM = re.compile(r"\n[^\S\n]*(?=(?:\d{1,2}[.)]|[-*•])\s)")  # before a line of a list
_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n\s*")

# The name of a section, or its tag, to the part of a topic.
_PARTS = {
    **dict.fromkeys(
        ("num", "number", "identifier", "id", "qid", "topicid", "topicnumber", "queryid"), "code"
    ),
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

    `has_own_labels`: the labels are those of the file's form, and the protocol need not know each of them. `left_out`
    has the columns or keys that are not read.
    """

    rows: list[tuple[int, dict[str, Any]]]
    complaints: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    has_own_labels: bool = False
    left_out: list[str] = field(default_factory=list)


def is_marked(text: str) -> bool:
    """Return whether a text contains topics between `<top>` and `</top>`."""
    return _FIRST.match(text) is not None


def read_marked(text: str) -> Reading:
    scan = _Scan(text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n"))
    scan.run()
    return reading_of(scan.topics, scan.complaints)


class Topic(NamedTuple):
    line: int
    sections: list[Section]
    attributes: dict[str, str]
    subtopics: Sequence[dict[str, str]] = ()


class _Scan:
    """Reads marked text from tag to tag."""

    def __init__(self, text: str) -> None:
        self.text = _DECLARATION.sub(lambda match: "\n" * match[0].count("\n"), without_comments(text))
        self.topics: list[Topic] = []
        self.complaints: list[str] = []
        self._topic: Topic | None = None
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
                    self._topic = Topic(line, [], dict(_ATTRIBUTE.findall(match[3])))
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
        topic = cast("Topic", self._topic)
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


def reading_of(topics: Sequence[Topic], complaints: Sequence[str] = ()) -> Reading:
    """The rows of topics in sections, and notes on parts that only some of them have."""
    complaints = list(complaints)
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


def _row_of(topic: Topic, zeros: list[str]) -> tuple[dict[str, Any], list[str]]:
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
    else:
        code, is_labeled = texts["code"], texts["code"] != parts["code"].text
        if is_labeled and code.isdecimal() and code.startswith("0") and code.strip("0"):
            zeros.append(code)
            texts["code"] = code.lstrip("0")
    body = paragraphs(texts.get("body", ""))
    for section in others:
        text, _ = _without_label(section.text, section.part or section.tag)
        body += paragraphs(text, f"<b>{escape(name_of(section.tag))}:</b> ") if text else ""
    return {
        "code": texts.get("code", ""),
        "title": " ".join(texts.get("title", "").split()),
        "body": body,
        "narrative": paragraphs(texts.get("narrative", "")),
        "labels": topic.attributes,
        "subtopics": topic.subtopics,
    }, problems


def _without_label(text: str, key: str) -> tuple[str, str]:
    """A text without the label that TREC writes before it, and that label."""
    if key == "code" and (match := _NUMBERED.fullmatch(text)):
        return match[1], ""
    for label in _LABELS.get(key, ()):
        if text[: len(label)].casefold() == label.casefold() and text[len(label) :].lstrip().startswith(":"):
            return text[len(label) :].lstrip()[1:].strip(), label
    return text, ""


def name_of(tag: str) -> str:
    return _NAMES.get(tag, tag.replace("-", " ").replace("_", " ").capitalize())


def paragraphs(text: str, start: str = "") -> str:
    """Plain text as HTML, after the HTML `start`: lists keep their lines, and empty lines separate paragraphs."""
    parts = [" ".join(part.split()) for part in _EMPTY_LINE.split(_ITEM.sub("\0", text.strip()))]
    html = [escape(part, quote=False).replace("\0", "<br>") for part in parts if part]
    return "".join(f"<p>{start if number == 0 else ''}{part}</p>" for number, part in enumerate(html))
