"""Makes the page of a form from its template and a row.

A value is text, and the page is sanitized after it was filled in: no value and no template can run anything.
"""

import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import NamedTuple

from assay.html.sanitize import clean_marked_body
from assay.templates import PLACEHOLDER, QUESTION, filled

_START, _END = "\ue000", "\ue001"  # around the number of a question while its place is sanitized
_PLACE = re.compile(f"{_START}(\\d+){_END}")
_HEADING, _HEADING_TAG = re.compile("<h([4-6])>"), re.compile("(</?h)([4-6])>")
_PARAGRAPH = re.compile(f"<p>\\s*({_START}\\d+{_END})\\s*</p>")


class Part(NamedTuple):
    """A part of a page: sanitized HTML, and the key of the question that follows it; empty after the last part."""

    html: str
    question: str


def form_parts(html: str, values: Mapping[str, str]) -> list[Part]:
    """The page of a form whose controls Assay makes.

    >>> form_parts("<b>${a}</b>${question.q}", {"a": "1 < 2"})
    [Part(html='<b>1 &lt; 2</b>', question='q'), Part(html='', question='')]
    """
    keys: list[str] = []

    def place(match: re.Match[str]) -> str:
        name = match[1].strip()
        if not name.startswith(QUESTION):
            return match[0]
        keys.append(name.removeprefix(QUESTION))
        return f"{_START}{len(keys) - 1}{_END}"

    marked = PLACEHOLDER.sub(place, html.replace(_START, "").replace(_END, ""))
    texts = {name: escape(value).replace(_START, "").replace(_END, "") for name, value in values.items()}
    clean = _leveled(_PARAGRAPH.sub(r"\1", clean_marked_body(filled(marked, texts))))
    return list(_parts(clean, keys))


def _leveled(html: str) -> str:
    """The page with headings from level 3 on, below that of its panel."""
    levels = [int(level) for level in _HEADING.findall(html)]
    return _HEADING_TAG.sub(lambda match: f"{match[1]}{int(match[2]) - min(levels) + 3}>", html)


def _parts(html: str, keys: list[str]) -> Iterator[Part]:
    pieces = _PLACE.split(html)  # text, number, text, ..., text
    for text, number in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
        yield Part(text, keys[int(number)] if number else "")
