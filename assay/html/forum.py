"""The posts of a discussion forum in BOLT's XML: their source as text and as HTML, and the place of a span in both.

The *source* of a post is everything between `<post ...>` and `</post>` in its file, character by character. Offsets
and lengths count these characters (Unicode code points): the first one after the tag is 0, a tag counts with all its
characters, and an entity as it is written (`&amp;` is five). A span that begins or ends within an entity contains its
character. Within a tag there is no text::

    post        text, <quote orig_author="...">, <img src="..."/>, <a href="...">

Tags with other names are left out; their text stays. The HTML has the form that `assay.html.sanitize` describes, with
`<mark>` around the parts of a span.
"""

import re
from html import escape, unescape
from typing import NamedTuple

from assay.html import images, links

_TOKEN = re.compile(
    r"""<(?P<end>/?)(?P<name>[A-Za-z_][\w.:-]*+)(?P<attributes>(?>(?:[^<>"']|"[^"<]*+"|'[^'<]*+')*))>
    | (?P<entity>&(?:\#[0-9]{1,8}|\#x[0-9a-fA-F]{1,8}|amp|lt|gt|quot|apos);)
    | (?P<space>[ \t\r\n]+)
    | (?P<text>[^<&\ \t\r\n]+|[<&])""",
    re.VERBOSE,
)
LONGEST_ENTITY = 12  # characters of an entity
_ATTRIBUTE = re.compile(r"""(?<![\w.:-])([\w.:-]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""")
_LINE_END = re.compile(r"\r\n?|\n")


class Span(NamedTuple):
    """A part of the source of a post, in characters."""

    offset: int
    length: int

    @property
    def end(self) -> int:
        return self.offset + self.length

    def is_in(self, source: str) -> bool:
        return self.offset >= 0 and self.length >= 1 and self.end <= len(source)

    def part_of(self, start: int, end: int) -> slice:
        """The part of the characters from `start` to `end` that the span contains, counted from `start`."""
        return slice(max(0, self.offset - start), max(0, min(end, self.end) - start))


def passage(source: str, span: Span) -> str:
    """The text of a span as one reads it: entities replaced, tags left out, white space reduced to single spaces.

    Raises:
        ValueError: The span is not inside the source.

    >>> passage('Ham &amp; <img src="egg.png"/> eggs', Span(0, 9))
    'Ham &'
    """
    if not span.is_in(source):
        raise ValueError(f"{span.offset}:{span.length} is not inside a post of {len(source)} characters")
    words: list[str] = []
    for token in _TOKEN.finditer(source, _first_token(source, span.offset)):
        if token.start() >= span.end:
            break
        part = span.part_of(*token.span())
        if part.start >= part.stop:
            continue
        if token["name"]:
            words.append("" if token["name"] == "a" else " ")
        else:
            words.append(unescape(token["entity"]) if token["entity"] else token[0][part])
    return " ".join("".join(words).split())


def _first_token(source: str, offset: int) -> int:
    """Place to begin reading for a span at an offset: before the tag or the entity around it, which are rarely long.

    Reading all of a long post for each citation of it would take minutes for a run.
    """
    tag = source.rfind("<", 0, offset)
    if tag >= 0 and (token := _TOKEN.match(source, tag)) and token["name"] and token.end() > offset:
        return tag
    entity = source.rfind("&", max(0, offset - LONGEST_ENTITY), offset)
    if entity >= 0 and (token := _TOKEN.match(source, entity)) and token["entity"] and token.end() > offset:
        return entity
    return offset


def to_html(source: str, marked: Span | None = None) -> str:
    """The source of a post as HTML to store or show, with one span marked. Any string is accepted."""
    writer = _Writer()
    for token in _TOKEN.finditer(source):
        part = slice(0, 0) if marked is None else marked.part_of(*token.span())
        if token["name"]:
            _write_tag(writer, token, is_marked=part.start < part.stop)
        elif token["space"]:
            writer.space(token["space"])
        elif token["entity"]:
            writer.inline(escape(unescape(token["entity"]), quote=False), is_marked=part.start < part.stop)
        else:
            text = token["text"]
            pieces = [(text, False)]
            if part.start < part.stop:
                pieces = [(text[: part.start], False), (text[part], True), (text[part.stop :], False)]
            for piece, is_marked in pieces:
                if piece:
                    writer.inline(escape(piece, quote=False), is_marked=is_marked)
    return writer.finish()


def _write_tag(writer: "_Writer", token: re.Match[str], *, is_marked: bool) -> None:
    name, is_end = token["name"], bool(token["end"])
    pairs = _ATTRIBUTE.findall(token["attributes"])
    attributes = {name: unescape(double or single) for name, double, single in pairs}
    if name == "quote":
        writer.end_quote() if is_end else writer.begin_quote(attributes.get("orig_author", ""))
    elif name == "a":
        writer.link = "" if is_end else links.marker(links.read(attributes.get("href", "")))
        writer.end_link()
    elif name == "img" and not is_end:
        # The placeholder of an image, until the page shows it; see `assay.html.images`
        source = attributes.get("src", "")
        words = images.described(" ".join(attributes.get("alt", "").split()), links.read(source).host)
        start = images.placeholder(images.reference_in(source))
        writer.inline(f"{start}{escape(words, quote=False)}</span>", is_marked=is_marked)
    elif name == "br":
        writer.space("\n")


class _Writer:
    """Writes paragraphs and quotes, and keeps all tags balanced."""

    def __init__(self) -> None:
        self.link = ""  # the opening tag of the link around what follows
        self._parts: list[str] = []
        self._quotes = 0
        self._space = ""  # written only between two pieces of text of a paragraph
        self._in_paragraph = self._in_link = self._in_mark = False

    def inline(self, html: str, *, is_marked: bool) -> None:
        if not is_marked:
            self._end_mark()
        if not self._in_paragraph:
            self._parts.append("<p>")
            self._in_paragraph = True
        elif self._space:
            self._parts.append(self._space)
        self._space = ""
        if self.link and not self._in_link:
            self._end_mark()
            self._parts.append(self.link)
            self._in_link = True
        if is_marked and not self._in_mark:
            self._parts.append("<mark>")
            self._in_mark = True
        self._parts.append(html)

    def space(self, text: str) -> None:
        """White space: an empty line ends a paragraph, and a line end is kept."""
        n_lines = len(_LINE_END.findall(text))
        if n_lines > 1:
            self._end_paragraph()
        elif self._in_paragraph and self._space != "<br>":
            self._space = "<br>" if n_lines else " "

    def begin_quote(self, author: str) -> None:
        self._end_paragraph()
        self._parts.append("<blockquote>")
        self._quotes += 1
        if author.strip():
            self._parts.append(f"<p><small>{escape(author.strip(), quote=False)}:</small></p>")

    def end_quote(self) -> None:
        self._end_paragraph()
        if self._quotes:
            self._parts.append("</blockquote>")
            self._quotes -= 1

    def end_link(self) -> None:
        if self._in_link:
            self._end_mark()
            self._parts.append("</a>")
            self._in_link = False

    def finish(self) -> str:
        self._end_paragraph()
        self._parts.append("</blockquote>" * self._quotes)
        return "".join(self._parts)

    def _end_mark(self) -> None:
        if self._in_mark:
            self._parts.append("</mark>")
            self._in_mark = False

    def _end_paragraph(self) -> None:
        self.end_link()
        self._end_mark()
        if self._in_paragraph:
            self._parts.append("</p>")
        self._in_paragraph, self._space = False, ""
