"""Reads topics of BOLT IR, as rows for `assay.formats.topics.reader`.

XML: `<bolt-ir-topics><topic number><query/><language-target lang/><description/><properties/><rules/></topic>...`. The
query becomes the title, the language a tag, the description the body, and the rules the narrative. Properties
(asks-about, asks-for, languages; elements or attributes) become labels. The protocol decides what participants see.
"""

from collections.abc import Iterator
from html import escape
from typing import Any, cast

from lxml import etree

ROOT = "bolt-ir-topics"


def rows_of_xml(root: "etree._Element") -> Iterator[tuple[int, dict[str, Any]]]:
    for topic in root.iterchildren("topic"):
        yield cast("int", topic.sourceline), _of_topic(topic)


def _of_topic(topic: "etree._Element") -> dict[str, Any]:
    target = topic.find("language-target")
    language = "" if target is None else (target.get("lang") or _text(target))
    return {
        "code": topic.get("number"),
        "title": _text(topic.find("query")),
        "tags": [language],
        "text": _text(topic.find("description")),
        "narrative": _paragraphs(_text(topic.find("rules"))),
        "labels": _labels(topic.find("properties")),
    }


def _labels(properties: "etree._Element | None") -> dict[str, str]:
    if properties is None:
        return {}
    words = {str(key): [str(value).strip()] for key, value in properties.attrib.items()}
    for element in properties.iterchildren(tag=etree.Element):
        words.setdefault(str(element.tag), []).append(_text(element))
    labels = {key: " ".join(", ".join(filter(None, values)).split()) for key, values in words.items()}
    return {key: value for key, value in labels.items() if value}


def _paragraphs(text: str) -> str:
    """Plain text as HTML, with a paragraph after each empty line. The reader of the row sanitizes it."""
    parts = [part.strip() for part in text.split("\n\n")]
    return "".join(f"<p>{escape(part)}</p>" for part in parts if part)


def _text(element: "etree._Element | None") -> str:
    return "" if element is None else "".join(map(str, element.itertext())).strip()
