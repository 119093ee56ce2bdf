"""Makes the page of a form from its template and a row.

A value is text, and the page is sanitized after it was filled in: no value and no template can run anything.
"""

import re
from collections.abc import Collection, Mapping
from html import escape
from typing import NamedTuple

from assay.html.sanitize import clean_marked_body
from assay.templates import PLACEHOLDER, QUESTION, filled

_START, _END = "\ue000", "\ue001"  # around the number of a question while its place is sanitized
# Before the number of a text that is marked, and all of them
_MARKED, _MARKS = "\ue002", ("\ue000", "\ue001", "\ue002")
_PLACE = re.compile(f"{_START}(\\d+){_END}")
_TAG_OR_TEXT = re.compile(f'<[^<>"]*(?:"[^"]*"[^<>"]*)*>|{_MARKED}(\\d+){_END}')
_TEXT = re.compile(f"{_MARKED}(\\d+){_END}")
_HEADING, _HEADING_TAG = re.compile("<h([4-6])>"), re.compile("(</?h)([4-6])>")
_PARAGRAPH = re.compile(f"<p>\\s*({_START}\\d+{_END})\\s*</p>")


class Part(NamedTuple):
    """A part of a page: sanitized HTML, and the key of the question that follows it; empty after the last part."""

    html: str
    question: str


def form_parts(html: str, values: Mapping[str, str], marked: Collection[str] = ()) -> list[Part]:
    """The page of a form whose controls Assay makes.

    Args:
        marked: fields whose text can be marked. Each is one piece as `assay.html.offsets` has them, with its field.

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

    with_places = PLACEHOLDER.sub(place, _without_marks(html))
    names = [name for name in values if name in marked]
    texts = {name: escape(_without_marks(value)) for name, value in values.items()}
    texts |= {name: f"{_MARKED}{n}{_END}" for n, name in enumerate(names)}
    clean = clean_marked_body(filled(with_places, texts))
    kept = str.maketrans(dict.fromkeys(_MARKS, "\ufffd"))  # as long as before
    pieces = [(name, escape(values[name].translate(kept))) for name in names]

    # The page with headings from level 3 on, below that of its panel
    def with_marks(match: re.Match[str]) -> str:
        if match[1] is None:
            return _TEXT.sub(lambda mark: pieces[int(mark[1])][1], match[0])
        name, text = pieces[int(match[1])]
        return f'<span class="field-text" data-at="0" data-field="{escape(name)}">{text}</span>'

    html = _PARAGRAPH.sub(r"\1", _TAG_OR_TEXT.sub(with_marks, clean))
    levels = [int(level) for level in _HEADING.findall(html)]
    html = _HEADING_TAG.sub(lambda match: f"{match[1]}{int(match[2]) - min(levels) + 3}>", html)
    texts_and_numbers = _PLACE.split(html)  # text, number, text, ..., text
    numbers = [*texts_and_numbers[1::2], ""]
    return [
        Part(text, keys[int(number)] if number else "")
        for text, number in zip(texts_and_numbers[::2], numbers, strict=True)
    ]


def _without_marks(text: str) -> str:
    return "".join(character for character in text if character not in _MARKS)
