"""Judged citations in BOLT's XML: a pool or a submission in which assessors filled in `rel` and their answers::

    <response number="BIR_1">
      <cite thread="..." post="p1" offset="0" length="9" rel="yes" trans="acceptable" chksrc="no">passage</cite>

`rel` is the key of a grade. Answers to the follow-up questions are attributes with the keys of the questions.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple, cast

from assay.errors import InputError
from assay.formats.qrels.columns import Cited

PLACE = ("thread", "post", "offset", "length")
NO_ANSWERS = frozenset({*PLACE, "score", "key", "original", "rel"})  # attributes of a `<cite>`
WORDS = {"n.a.": "not-applicable"}  # of answers: the keys of the choices that are meant
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")  # of an answer's attribute


class JudgedCite(NamedTuple):
    """A `<cite>` with a grade; `rel` is its key."""

    topic: str
    docno: str
    rel: str
    cited: Cited


def is_answer(name: str) -> bool:
    """Return whether an attribute can be the answer to the question with its name as key."""
    return name not in NO_ANSWERS and NAME.fullmatch(name) is not None


def judged_cites(data: bytes) -> Iterator[tuple[int, JudgedCite | str]]:
    """Each `<cite rel>` of a `<response number>` with its line number, or what is wrong with it.

    Every attribute that a submission does not have is the answer to a question, such as `chksrc`.
    """
    # Slow to import, and most qrels are text.
    from lxml import etree  # noqa: PLC0415

    from assay.formats.markup import xml_root  # noqa: PLC0415
    from assay.formats.topics.bolt import citation_of  # noqa: PLC0415

    try:
        root = xml_root(data)
    except (etree.XMLSyntaxError, ValueError) as error:
        yield getattr(error, "lineno", 0) or 0, f"the file is not well-formed XML: {error}"
        return
    for response in root.iter("response"):
        for cite in response.iter("cite"):
            if cite.get("rel") is None:  # not judged
                continue
            number, citation = cast("int", cite.sourceline), citation_of(cite)
            if citation is None:
                yield number, "a judged <cite> needs thread, post, offset and length"
                continue
            given = {str(name): str(value).strip() for name, value in cite.attrib.items()}
            answers = {
                name: WORDS.get(value, value) for name, value in given.items() if value and is_answer(name)
            }
            cited = Cited(answers, citation.passage)
            yield number, JudgedCite(response.get("number", ""), citation.docno, citation.rel, cited)


class WrittenCite(NamedTuple):
    """A `<cite>` of a file; `attributes` are those besides its place."""

    topic: str
    docno: str
    attributes: Mapping[str, str]
    passage: str


def as_cites(root: str, cites: Iterable[WrittenCite]) -> Iterator[bytes]:
    """The lines of an XML file of citations, sorted by topic.

    Raises `InputError` if a docno is not `thread:post:offset:length`.
    """
    # Both are slow to import, and most qrels are text.
    from xml.sax.saxutils import escape, quoteattr  # noqa: PLC0415

    from assay.html.sanitize import without_controls  # noqa: PLC0415

    def quoted(text: str) -> str:
        return quoteattr(without_controls(text))

    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<{root}>\n'.encode()
    for topic, of_topic in groupby(cites, key=lambda cite: cite.topic):
        yield f" <response number={quoted(topic)}>\n".encode()
        for cite in of_topic:
            parts = cite.docno.rsplit(":", 3)
            if len(parts) != len(PLACE):
                raise InputError(
                    f"{topic}: {cite.docno} is not a citation; expected thread:post:offset:length"
                )
            words = {**dict(zip(PLACE, parts, strict=True)), **cite.attributes}
            attributes = " ".join(f"{name}={quoted(value)}" for name, value in words.items())
            yield f"  <cite {attributes}>{escape(without_controls(cite.passage))}</cite>\n".encode()
        yield b" </response>\n"
    yield f"</{root}>\n".encode()
