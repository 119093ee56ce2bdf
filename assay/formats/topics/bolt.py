"""Reads topics of BOLT IR, as rows for `assay.formats.topics.reader`, and writes them again::

    <bolt-ir-topics><topic number="BIR_1">
      <query/> <language-target lang="arz"/> <description/>
      <properties><asks-about target="event"/> <asks-for response="opinion"/> <languages eng="T" arz="F"/></properties>
      <rules><rule/>... <cite rel="yes" thread="..." post="p1" offset="0" length="9">passage</cite>...</rules>
    </topic>...

The query becomes the title, the language a label and, unless it is `none`, a tag, the description the body, and the
rules the narrative.
Properties become labels: the words in an element or its attributes; of attributes that are true or false, the names of
the true ones. The label `language-condition` says whether the answers are in one language or in several, by the
property `languages`, or else by the language of the topic. A `<cite>`, anywhere in a topic, is a citation that the
developers of the topic graded.

Each topic keeps its element as its *source*, so nothing in the file is lost. `visible_source` cuts what participants do
not see from it: the parts that the protocol does not list, and always the citations.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from html import escape
from typing import Any, NamedTuple, cast

from lxml import etree

from assay.formats.documents.batch import Unusable
from assay.formats.markup import xml_root

ROOT = "bolt-ir-topics"
LANGUAGE = "language-target"
CONDITION = "language-condition"
LANGUAGES = re.compile(r"[^\s,;]+")  # the words of a list
NO_LANGUAGE = "none"  # answers are searched in all languages
PARTS = ("query", LANGUAGE, "description", "properties", "rules")
_TRUE = frozenset({"t", "true", "y", "yes", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "0"})


class Citation(NamedTuple):
    """A citation that the developers of a topic graded: `rel` is the key of the grade."""

    docno: str
    rel: str
    passage: str


def rows_of_xml(root: "etree._Element") -> Iterator[tuple[int, dict[str, Any]]]:
    for topic in root.iterchildren("topic"):
        target = topic.find(LANGUAGE)
        language = "" if target is None else (target.get("lang") or _text(target))
        properties = topic.find("properties")
        words: dict[str, list[str]] = {LANGUAGE: [language]}
        if properties is not None:
            for key, value in properties.attrib.items():
                words[str(key)] = [str(value).strip()]
            for element in properties.iterchildren(tag=etree.Element):
                words.setdefault(str(element.tag), []).extend([_text(element), *_words(element)])
        if spoken := " ".join(words.get("languages", ())) or language:
            is_one = len(LANGUAGES.findall(spoken)) == 1 and spoken != NO_LANGUAGE
            words[CONDITION] = ["one" if is_one else "several"]
        labels = {key: " ".join(", ".join(filter(None, values)).split()) for key, values in words.items()}
        # The rules as HTML: text as paragraphs, then each `<rule>` as an item of a list, without citations.
        rules = topic.find("rules")
        items = [_text(rule) for rule in topic.iter("rule")]
        shown = "".join(f"<li>{escape(item)}</li>" for item in items if item)
        text = "" if rules is None else _text(rules, without=("rule", "cite"))
        parts = [part.strip() for part in text.split("\n\n")]
        row = {
            "code": topic.get("number"),
            "title": _text(topic.find("query")),
            "tags": [] if language == NO_LANGUAGE else [language],
            "text": _text(topic.find("description")),
            "narrative": "".join(f"<p>{escape(part)}</p>" for part in parts if part)
            + (f"<ul>{shown}</ul>" if shown else ""),
            "labels": {key: value for key, value in labels.items() if value},
            "source": etree.tostring(topic, encoding="unicode", with_tail=False),
        }
        yield cast("int", topic.sourceline), row


def _words(element: "etree._Element") -> list[str]:
    """The values of the attributes of a property; the names of the true ones, if all are true or false."""
    values = {str(name): str(value).strip() for name, value in element.attrib.items()}
    if values and all(value.lower() in _TRUE | _FALSE for value in values.values()):
        return sorted(name for name, value in values.items() if value.lower() in _TRUE)
    return list(values.values())


def _text(element: "etree._Element | None", without: Collection[str] = ("cite",)) -> str:
    """The text in an element, without that of some elements in it."""
    return "" if element is None else "".join(_texts(element, without)).strip()


def _texts(element: "etree._Element", without: Collection[str]) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if isinstance(child.tag, str) and child.tag not in without:
            yield from _texts(child, without)
        yield child.tail or ""


def parsed_source(source: str) -> "etree._Element":
    """The element of a topic.

    Raises `Unusable` if the source is not an element `<topic>`.
    """
    try:
        topic = xml_root(source)
    except (etree.XMLSyntaxError, ValueError):
        raise Unusable("source is not well-formed XML") from None
    if topic.tag != "topic" or topic.getroottree().docinfo.internalDTD is not None:
        raise Unusable("source is not an element <topic>")
    return topic


def citations(source: str) -> list[Citation]:
    """The citations in the source of a topic that have a grade and a place, in their order."""
    if "<cite" not in source:
        return []
    cites = parsed_source(source).iter("cite")
    return [citation for cite in cites if (citation := citation_of(cite)) is not None]


def citation_of(cite: "etree._Element") -> Citation | None:
    """The citation of an element; None if it has no grade or no place."""
    place = [cite.get(name, "").strip() for name in ("thread", "post", "offset", "length")]
    rel = cite.get("rel", "").strip().lower()
    if not rel or not all(place) or not all(number.isdecimal() for number in place[2:]):
        return None
    docno = ":".join([*place[:2], *(str(int(number)) for number in place[2:])])
    return Citation(docno, rel, " ".join("".join(map(str, cite.itertext())).split()))


def visible_source(source: str, hidden: Collection[str], listed: Collection[str]) -> str:
    """The source as participants see it: without citations and `hidden` parts, and only with `listed` ones, if any."""
    topic = parsed_source(source)
    for name in set(topic.attrib) - {"number"} if listed else ():
        del topic.attrib[name]
    for element in list(topic.iter("cite", etree.Comment, etree.ProcessingInstruction)):
        _remove(element)
    for part in list(topic):
        name = "rules" if part.tag == "rule" else part.tag
        if name in hidden or (listed and name not in listed):
            _remove(part)
    return etree.tostring(topic, encoding="unicode", with_tail=False)


def _remove(element: "etree._Element") -> None:
    """Remove an element, but not the text after it."""
    parent, before = element.getparent(), element.getprevious()
    if parent is None:
        return
    if before is not None:
        before.tail = (before.tail or "") + (element.tail or "")
    else:
        parent.text = (parent.text or "") + (element.tail or "")
    element.tail = None
    parent.remove(element)


def as_xml(sources: Iterable[str]) -> bytes:
    """A file of topics of their sources."""
    parts = "\n".join(sources)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{ROOT}>\n{parts}\n</{ROOT}>\n'.encode()
