"""Reads discussion forums in BOLT's XML, and converts their threads to lines for COPY.

A file consists of threads, one after the other, without an element around them::

    <doc id="bolt-eng-DF-170-18">
    <headline>What to see?</headline>
    <post author="Ann" datetime="2010-05-29T17:14:00" id="p1">text with <quote orig_author>, <img/>, <a href></post>
    ...
    </doc>

A thread becomes a document with the headline as its title, under the id of the thread. Each post becomes a document
`thread:post` that keeps its source, because citations count the characters of the source (`assay.html.forum`). The
language is the attribute `lang` or `language` of the thread, or else a word of its id: eng, arz, cmn, ara or zho.

A thread that is not well-formed XML stops the import. Comments, CDATA sections and declarations are refused, because
what looks like a tag in them is text. A post with an unusable attribute is skipped. Decision: ADR 42.
"""

import re
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from assay.formats.compression import UnpackedFile
from assay.formats.documents.batch import MAX_NAME, REPLACED, Batch, Malformed, Unusable, limited, moment
from assay.formats.documents.dump import Broken, Reader
from assay.formats.markup import allowed_in_xml, xml_root
from assay.html.forum import to_html

_BEGIN = re.compile(rb"<doc[\s>]")
_END = b"</doc>"
_BETWEEN = re.compile(rb"\s*(?:<\?xml\b[^<>]*\?>\s*)?")
# XML allows `>` in the value of an attribute, but no `<`.
_POST = re.compile(r"""<post(?=[\s/>])(?>(?:[^<>"']|"[^"]*+"|'[^']*+')*)>""")
_POST_END = re.compile(r"</post\s*>")
_LANGUAGE_ATTRIBUTES = ("lang", "language", "{http://www.w3.org/XML/1998/namespace}lang")
_LANGUAGE = re.compile(r"(?<![A-Za-z])(eng|arz|cmn|ara|zho)(?![A-Za-z])", re.IGNORECASE)
_CODE = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*")
_NAME = re.compile(rf"\S{{1,{MAX_NAME}}}")
_PLACE = re.compile(r",? line \d+(?:, column \d+.*)?")  # counted from the beginning of the thread
_NO_MARKUP = "comments, CDATA sections, declarations and instructions are not accepted in a thread"


class Post(NamedTuple):
    """A post. `line` is the number of the line of its tag in the data, from 0."""

    thread: str
    id: str
    source: str
    author: str
    posted: str
    line: int

    @property
    def docno(self) -> str:
        return f"{self.thread}:{self.id}"


class Thread(NamedTuple):
    """A thread with its posts in the order of the file. `others` are the names of elements that are left out.

    Characters that XML does not allow are spaces, so that citations count the same characters.
    """

    id: str
    headline: str
    language: str
    posts: list[Post]
    line: int
    others: list[str]
    is_replaced: bool


def convert(data: bytes) -> Batch:
    """Convert some complete threads to lines for the staging tables.

    Raises `Malformed` if a thread is not well-formed XML in UTF-8, or contains what a thread cannot contain.
    """
    batch = Batch()
    for thread in threads(data):
        for name in thread.others:
            batch.skip(f"<{name[:40]}>, which is neither headline nor post", thread.line)
        try:
            docno = _name(thread.id)
            title = escape(limited(thread.headline, "the headline"), quote=False)
            values = (docno, "thread", docno, title, "", "{}", None, "", "", "", None, thread.language, "")
            batch.add("document", docno, values, kind="threads")
        except Unusable as reason:
            batch.skip(f"a thread: {reason}", thread.line)
            continue
        batch.counts[REPLACED] += thread.is_replaced
        for post in thread.posts:
            try:
                batch.add("document", post.docno, _values(post, thread.language), kind="posts")
            except Unusable as reason:
                batch.skip(f"a post: {reason}", post.line)
    return batch


def sources(paths: Iterable[Path]) -> Iterator[tuple[str, str, str]]:
    """Docno, source and language of each post of some files, which may be compressed.

    Raises `BadFile` if a file is not a forum, or a thread is not well-formed; the message names the line.
    """
    for path in paths:
        with path.open("rb") as file:
            for chunk in Reader(UnpackedFile(file, path.name), path.name):
                try:
                    yield from (
                        (post.docno, post.source, thread.language)
                        for thread in threads(chunk.data)
                        for post in thread.posts
                    )
                except Malformed as fault:
                    at = chunk.line + fault.n_lines, chunk.start + fault.offset
                    raise Broken(path.name, *at, fault.message) from None


def threads(data: bytes) -> Iterator[Thread]:
    """The threads of some data, which begins with a thread."""
    begins = [match.start() for match in _BEGIN.finditer(data)]
    if not data.strip():
        return
    if begins[:1] != [0]:
        raise Malformed.at(data, 0, "expected a thread, <doc id=...>")
    line = counted_to = 0
    for start, end in zip(begins, [*begins[1:], len(data)], strict=True):
        line += data.count(b"\n", counted_to, start)
        counted_to = start
        close = data.rfind(_END, start, end)
        if close < 0:
            raise Malformed.at(data, start, "the thread has no end, </doc>")
        close += len(_END)
        if not _BETWEEN.fullmatch(data, close, end):
            raise Malformed.at(data, close, "only white space is accepted between </doc> and the next <doc>")
        for mark in (b"<!", b"<?"):
            if (at := data.find(mark, start, close)) >= 0:
                raise Malformed.at(data, at, _NO_MARKUP)
        content = data[start:close]
        try:
            text = content.decode()
        except UnicodeDecodeError as fault:
            raise Malformed.at(data, start + fault.start, "not UTF-8") from None
        fit = allowed_in_xml(text)
        root = _tree(data, start, fit.encode() if fit != text else content)
        yield _thread_of(fit, root, line, is_replaced=fit != text)


def _tree(data: bytes, start: int, content: bytes) -> "etree._Element":
    try:
        root = xml_root(content)
    except etree.XMLSyntaxError as fault:
        line = (fault.lineno or 1) - 1
        offset = start + sum(len(row) for row in content.splitlines(keepends=True)[:line])
        message = f"not well-formed XML: {_PLACE.sub('', fault.msg)}"
        # Of its limits the parser only says which option of a compiler lifts them.
        if "Excessive depth" in fault.msg:
            message = "elements are nested too deeply; at most 255 inside each other are accepted"
        elif "XML_PARSE_HUGE" in fault.msg:
            message = "a text or an attribute has more than 10,000,000 bytes"
        raise Malformed(message, offset=offset, n_lines=data.count(b"\n", 0, start) + line) from None
    nested = next((post for post in root.iter("post") if post.getparent() is not root), None)
    if nested is not None:
        raise Malformed.at(data, start, "a post is inside another element; posts are directly in <doc>")
    return root


def _thread_of(text: str, root: "etree._Element", line: int, *, is_replaced: bool) -> Thread:
    thread = root.get("id", "")
    posts, others = [], []
    raw = _sources(text)
    for element in root.iterchildren():
        if element.tag == "post":
            source, n_lines = next(raw)
            author, published = element.get("author", ""), element.get("datetime", "")
            posts.append(Post(thread, element.get("id", ""), source, author, published, line + n_lines))
        elif element.tag != "headline":
            others.append(str(element.tag))
    first = root.find("headline")
    headline = "" if first is None else " ".join("".join(map(str, first.itertext())).split())
    language = next((root.get(name, "") for name in _LANGUAGE_ATTRIBUTES if root.get(name)), "")
    if not (language and len(language) <= 20 and _CODE.fullmatch(language)):
        word = _LANGUAGE.search(thread)
        language = word[1].lower() if word else ""
    return Thread(thread, headline, language, posts, line, others, is_replaced)


def _sources(text: str) -> Iterator[tuple[str, int]]:
    """The source of each post of a thread, and the number of line ends before its tag."""
    n_lines = counted_to = 0
    for tag in _POST.finditer(text):
        n_lines += text.count("\n", counted_to, tag.start())
        counted_to = tag.start()
        if tag[0].endswith("/>"):
            yield "", n_lines
        else:
            end = _POST_END.search(text, tag.end())
            yield text[tag.end() : end.start() if end else len(text)], n_lines


def _values(post: Post, language: str) -> tuple[str | None, ...]:
    if ":" in _name(post.id):
        raise Unusable("its id contains a colon, which separates the parts of a citation")
    docno = limited(post.docno, "its id with that of its thread", MAX_NAME)
    body = to_html(limited(post.source, "its text"))
    author = limited(post.author, "its author", MAX_NAME)
    published = moment(post.posted, "its datetime")
    return docno, "post", post.thread, "", body, "{}", None, "", "", author, published, language, post.source


def _name(value: str) -> str:
    if not value:
        raise Unusable("its id is missing")
    if not _NAME.fullmatch(value):
        raise Unusable(f"its id contains white space or is longer than {MAX_NAME} characters")
    return value
