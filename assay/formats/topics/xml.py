"""Reads topics in XML, as rows for `assay.formats.topics.reader`.

The topics are the elements `<topic>`, `<top>`, `<query>`, `<question>` or `<session>` that are nearest to the root, in
any namespace and in upper or lower case. Each is read as its content shows: as a topic of ARQMath
(`<Topic><Title/><Question/><Tags/></Topic>`), of NTCIR's MathIR tasks (with `<formula>`), or of TREC. In the latter,
an attribute or element named `number`, `num`, `id`, `qid` and the like is the code, any other attribute a label, and
any other element a section. `<content>`, `<text>` or the text in a language, such as `<en>`, is the title if there is
no other one.

Named characters of HTML (`&nbsp;`), which XML does not know, a bare `&`, control characters, and the end of one file
followed by the start of another (`cat a b`) are repaired.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

from lxml import etree

from assay.errors import BadFile
from assay.formats import names
from assay.formats.markup import allowed_in_xml, repaired, xml_root
from assay.formats.topics import bolt, ntcir, trec

TOPICS = ("topic", "top", "query", "question", "session")  # the first of these names that a level has
MAX_DEPTH = 3  # levels below the root
MAX_ATTRIBUTES = 100  # of an element
_OWN = frozenset(
    {"Title", "Question", "Tags", "Narrative", "Scenario", "Criteria", "Formula_Id", "Latex", "Subtopic"}
)
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]{2,4})?")
_TITLES = ("content", "text", "en", "eng", "english")  # if there is no other title, in this order
_JOINED = ("Extra content at the end of the document", "XML declaration allowed only at the start")
_PROLOG = re.compile(r"<\?[^<>]*+>|<!DOCTYPE\b[^<>\[]*+>", re.IGNORECASE)


def read_xml(text: str, name: str) -> trec.Reading:
    """The topics of XML.

    Raises `BadFile` if it is not well-formed, has entities of its own, or no topics.
    """
    root = _root(repaired(text), name)
    dtd = root.getroottree().docinfo.internalDTD
    if dtd is not None and any(dtd.iterentities()):  # type: ignore[attr-defined]
        raise BadFile(f"{name} has a DOCTYPE with entities. Remove it: entities are never expanded.")
    if root.xpath(f"boolean(//*[count(@*) > {MAX_ATTRIBUTES}])"):  # lxml looks for each from the first
        raise BadFile(f"{name} has an element with more than {MAX_ATTRIBUTES} attributes.")
    if root.tag == bolt.ROOT:
        return trec.Reading(list(bolt.rows_of_xml(root)), has_own_labels=True)
    elements = _elements(root)
    if not elements and local(root).lower() not in {"topics", "queries"}:
        raise BadFile(
            f"{name} contains <{local(root)}>, and no {', '.join(f'<{element}>' for element in TOPICS)}."
        )
    rows: list[tuple[int, dict[str, Any]]] = []
    topics: list[trec.Topic] = []
    for element in elements:
        line = cast("int", element.sourceline)
        if _is_of_ntcir(element):
            rows.append((line, ntcir.row_of(element)))
        elif local(element) == "Topic" and _OWN.issuperset(map(local, _children(element))):
            rows.append((line, _row_of(element)))
        else:
            topics.append(_topic(element, line))
    reading = trec.reading_of(topics)
    notes = ["control characters became spaces"] if allowed_in_xml(text) != text else []
    rows = sorted([*rows, *reading.rows], key=lambda row: row[0])
    return trec.Reading(rows, reading.complaints, [*notes, *reading.notes], has_own_labels=bool(topics))


def _root(text: str, name: str) -> "etree._Element":
    try:
        return xml_root(text.encode())
    except etree.XMLSyntaxError as fault:
        first = fault
    if first.msg.startswith(_JOINED):  # several files, one after the other
        whole = _PROLOG.sub(lambda match: "\n" * match[0].count("\n"), text)
        try:
            return xml_root(f"<topics>{whole}</topics>".encode())
        except etree.XMLSyntaxError:
            pass
    raise BadFile(f"{name} is not well-formed XML: {first.msg}.")


def _elements(root: "etree._Element") -> list["etree._Element"]:
    """The topics of a file, which are on one level."""
    level = [root]
    for depth in range(MAX_DEPTH + 1):
        for name in TOPICS if depth else TOPICS[:2]:  # the root is a topic, or it has queries
            if topics := [element for element in level if local(element).lower() == name]:
                return topics
        level = [child for element in level for child in _children(element)]
    return []


def local(element: "etree._Element") -> str:
    """The name of an element without its namespace."""
    return etree.QName(element).localname


def _children(element: "etree._Element") -> Iterator["etree._Element"]:
    return element.iterchildren(tag=etree.Element)


def _words(element: "etree._Element") -> str:
    return "".join(map(str, element.itertext())).strip()


def _is_of_ntcir(topic: "etree._Element") -> bool:
    """Return whether a topic has a formula, or keywords in its query."""
    return next(topic.iter("{*}formula"), None) is not None or topic.find("{*}query/{*}keyword") is not None


def _row_of(topic: "etree._Element") -> dict[str, Any]:
    """The row of a topic in the form of ARQMath, which is Assay's own."""
    texts = {local(child): "".join(map(str, child.itertext())) for child in _children(topic)}
    return {
        "code": topic.get("number"),
        "body": texts.get("Question"),
        "tags": [tag.strip() for tag in texts.get("Tags", "").split(",")],
        "thread": topic.get("thread") or topic.get("post_id"),
        "subtopics": [_subtopic(child) for child in topic.iterchildren("{*}Subtopic")],
        **{name.lower(): texts.get(name) for name in _OWN - {"Question", "Tags", "Subtopic"}},
    }


def _topic(element: "etree._Element", line: int) -> trec.Topic:
    attributes = {etree.QName(name).localname: str(value) for name, value in element.attrib.items()}
    places = {names.normal(name): name for name in attributes}
    key = next((places[name] for name in names.CODES if name in places), None)
    sections = [trec.Section("identifier", attributes.pop(key), line)] if key else []
    sections += _with_title(list(_sections(element)))
    subtopics = [_subtopic(child) for child in element.iterchildren("{*}subtopic")]
    return trec.Topic(line, sections, attributes, subtopics)


def _sections(topic: "etree._Element") -> Iterator[trec.Section]:
    if text := (topic.text or "").strip():
        yield trec.Section("description", text, cast("int", topic.sourceline))
    seen: set[str] = set()
    for child in _children(topic):
        line, words, tag = cast("int", child.sourceline), _words(child), local(child).lower()
        attributes = {etree.QName(name).localname: str(value) for name, value in child.attrib.items()}
        language = attributes.pop("lang", "")
        if tag == "field":  # of TREC's Clinical Trials track
            tag = attributes.pop("name", tag)
        elif language and tag in seen:
            tag = f"{tag} {language}"
        if attributes:  # `1, inf: Find a map`
            words = f"{', '.join(attributes.values())}: {words}"
        if tag != "subtopic":
            seen.add(tag)
            yield trec.Section(tag, words, line)
        if tail := (child.tail or "").strip():
            yield trec.Section("more", tail, line)


def _with_title(sections: list[trec.Section]) -> list[trec.Section]:
    """Sections of which one is the title, if there is one that can be."""
    if any(section.part == "title" for section in sections):
        return sections
    tags = [section.tag for section in sections]
    languages: Iterable[str] = (tag for tag in tags if _LANGUAGE.fullmatch(tag) and len(tag) == 2)
    title = next((tag for tag in (*_TITLES, *languages) if tag in tags), None)
    return [section._replace(tag="title") if section.tag == title else section for section in sections]


def _subtopic(element: "etree._Element") -> dict[str, str]:
    """The number, type and text of an element `<subtopic number="1" type="inf">`."""
    named = {name: element.get(name, "") for name in ("number", "type")}
    return named | {"text": "".join(map(str, element.itertext()))}
