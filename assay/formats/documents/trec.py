"""Converts documents as TREC distributes them to lines for COPY::

    <DOC>
    <DOCNO> LA010189-0001 </DOCNO>
    <DATE> January 1, 1989 </DATE>
    <HEADLINE> Owls at the harbor </HEADLINE>
    <TEXT>
    <P> ... </P>
    </TEXT>
    </DOC>

A file has any number of them, one after the other, and need not be well-formed. The docno is that of `<DOCNO>`,
or the attribute `id` of `<DOC>`. The first heading (`<HEADLINE>`, `<HEAD>`, `<HL>`, `<TITLE>`, `<TI>`, `<TTL>`, `<H3>`)
becomes the title. The texts (`<TEXT>`, `<LP>`, `<GRAPHIC>`, `<SUMMARY>`) follow it; a `<P>`, an empty line and an
indented line after one that is not begin a paragraph. Other elements come last, each under its name. A document with
`<DOCHDR>` is a page of the Web: its HTML is sanitized, and the header of its transfer is left out.

A document that is not UTF-8 is read as Windows-1252, and counted. Dollars in a document are no delimiters of formulas.
"""

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from html import escape
from itertools import pairwise
from typing import NamedTuple

from assay.formats.documents.batch import REPLACED, Batch, Malformed, Unusable, decoded_line, limited
from assay.formats.documents.jsonl import docno_of
from assay.formats.markup import unescaped, without_comments
from assay.html.sanitize import clean_marked_body, clean_title, plain

_MAX_NESTING = 3  # of elements that only contain others
_LEFT = re.compile(rb"\s*+</DOC\s*+>", re.IGNORECASE)  # of a document that was too long

_BEGIN = re.compile(rb"<DOC(?=[\s>])", re.IGNORECASE)
_END = re.compile(rb"</DOC\s*>", re.IGNORECASE)
_OPENING = re.compile(r"<DOC\b([^<>]*+)>", re.IGNORECASE)
_ID = re.compile(r"""\bid\s*=\s*["']?([^"'\s<>]+)""", re.IGNORECASE)
_DOCNO = re.compile(r"<DOCNO\s*>([^<]*+)(?:</DOCNO\s*>)?", re.IGNORECASE)
_HEADER = re.compile(r"<DOCHDR\s*>", re.IGNORECASE)
_HEADER_END = re.compile(r"</DOCHDR\s*>", re.IGNORECASE)
_PAGE_TITLE = re.compile(r"<title\b[^<>]*>([^<]*+)", re.IGNORECASE)
_OPEN_OR_CLOSE = re.compile(r"<(/?)([A-Za-z][\w.:-]*+)(?:\s[^<>]*+)?>")
_PARAGRAPH = re.compile(r"</?(?:P|TABLE|TABLEROW|ROWRULE|LI|BR|TR)\b[^<>]*+>|\n[^\S\n]*\n", re.IGNORECASE)
_INDENTED = re.compile(r"^(?![^\S\n]).+\n(?=[^\S\n]{2,}+\S)", re.MULTILINE)  # a line before an indented one
_TAG = re.compile(r"</?[A-Za-z][\w.:-]*+(?:\s[^<>]*+)?/?>")
_TITLES = ("headline", "head", "hl", "title", "ti", "ttl", "h3")
_TEXTS = ("text", "lp", "graphic", "summary")
_WRAPPERS = ("body", "header")  # elements that only contain others


class Section(NamedTuple):
    """An element of a document, or text outside of one, which has no name. `content` may contain tags."""

    name: str
    content: str


def convert(data: bytes) -> Batch:
    """Convert some complete documents to lines for the staging tables. Text between documents is skipped and counted.

    Raises `Malformed` if a document has no end.
    """
    batch = Batch()
    left = _LEFT.match(data)
    position = left.end() if left else 0
    begins = [match.start() for match in _BEGIN.finditer(data, position)]
    for start, following in pairwise([*begins, len(data)]):
        end = _END.search(data, start, following)
        if end is None:
            raise Malformed.at(data, start, "the document has no end, </DOC>")
        _note_text(data, position, start, batch)
        content = data[start : end.end()]
        text = decoded_line(content, batch)
        if "\x00" in text:
            text = text.replace("\x00", " ")
            batch.counts[REPLACED] += 1
        position = end.end()
        try:
            _document(text, batch)
        except Unusable as reason:
            batch.skip(f"a document: {reason}", data.count(b"\n", 0, start))
    _note_text(data, position, len(data), batch)
    return batch


def _note_text(data: bytes, start: int, end: int, batch: Batch) -> None:
    text = data[start:end]
    if text.strip():
        first = start + len(text) - len(text.lstrip())
        batch.skip("text outside of <DOC>", data.count(b"\n", 0, first))


def _document(text: str, batch: Batch) -> None:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    opening, named = _OPENING.match(text), _DOCNO.search(text)
    own = _ID.search(opening[1]) if opening else None
    docno = docno_of(unescaped(named[1]).strip() if named else own[1] if own else "", "its DOCNO")
    rest = text[opening.end() if opening else 0 : text.rfind("</")]
    rest = _DOCNO.sub("", rest, count=1)
    header = _HEADER.search(rest)
    if header:  # a page of the Web
        end = _HEADER_END.search(rest, header.end())
        body = rest[: header.start()] + rest[end.end() if end else header.end() :]
        heading = _PAGE_TITLE.search(body)
        title = " ".join(unescaped(heading[1]).split()) if heading else ""
        body = body[: heading.start()] + body[heading.end() :] if heading else body
    else:
        title, body = _article(rest)
    body = clean_marked_body(limited(body, "its text"))
    if not title and not plain(body):
        raise Unusable("it has no text")
    title = clean_title(limited(title, "its title").replace("$", "\\$"))
    values = (docno, "document", docno, title, body, "{}", None, "", "", "", None, "", "")
    batch.add("document", docno, values, kind="documents")


def _article(text: str) -> tuple[str, str]:
    """Title and HTML of a document in elements."""
    sections = list(_sections(without_comments(text)))
    names = {section.name for section in sections}
    name = next((name for name in _TITLES if name in names), "")
    place = next((place for place, section in enumerate(sections) if name and section.name == name), -1)
    rest = sections[:place] + sections[place + 1 :] if name else sections
    texts = "".join(_paragraphs(section.content) for section in rest if section.name in {"", *_TEXTS})
    others = (section for section in rest if section.name and section.name not in _TEXTS)
    body = texts + "".join(_paragraphs(section.content, section.name) for section in others)
    return " ".join(_words(sections[place].content)) if name else "", body


def _sections(text: str, depth: int = 0) -> Iterator[Section]:
    """The elements of a text in its order, and the text between them."""
    tags = list(_OPEN_OR_CLOSE.finditer(text))
    ends: dict[str, deque[re.Match[str]]] = defaultdict(deque)
    for tag in tags:
        if tag[1]:
            ends[tag[2].lower()].append(tag)
    position = 0
    for tag in tags:
        name = tag[2].lower()
        if tag.start() < position or tag[1]:
            continue
        while ends[name] and ends[name][0].start() < tag.end():
            ends[name].popleft()
        if not ends[name]:
            continue  # it is never closed: what follows it is text
        end = ends[name].popleft()
        yield from _between(text[position : tag.start()])
        content = text[tag.end() : end.start()]
        if name in _WRAPPERS and depth < _MAX_NESTING:
            yield from _sections(content, depth + 1)
        else:
            yield Section("" if name == "p" else name, content)
        position = end.end()
    yield from _between(text[position:])


def _between(text: str) -> Iterable[Section]:
    return [Section("", text)] if _TAG.sub("", text).strip() else []


def _words(text: str) -> list[str]:
    return unescaped(_TAG.sub(" ", text)).split()


def _paragraphs(text: str, name: str = "") -> str:
    """A text as HTML; with a name, its first paragraph begins with it."""
    parts = [" ".join(_words(part)) for part in _PARAGRAPH.split(_INDENTED.sub(r"\g<0>\n", text))]
    html = [escape(part, quote=False) for part in parts if part]
    start = f"<b>{escape(name.replace('_', ' ').capitalize())}:</b> " if name else ""
    return "".join(f"<p>{start if number == 0 else ''}{part}</p>" for number, part in enumerate(html))
