"""Marks a formula in the HTML of a post, and cuts out the block around it.

The input is stored HTML from `assay.html.sanitize`: its tags are in lower case and balanced, and no text or attribute
contains a bare angle bracket. So no HTML parser is needed, and the output is as balanced and safe as the input.
"""

import re
from html import escape

CLASS = "is-marked"
_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*+)[^<>]*+>")
_INNER = frozenset(
    {"blockquote", "caption", "dd", "div", "dt", "h4", "h5", "h6", "li", "p", "pre", "td", "th"}
)
_PARTS = _INNER & {"caption", "dd", "dt", "li", "td", "th"}  # elements that need the element around them
_BLOCKS = _INNER | {"dl", "ol", "table", "tbody", "tfoot", "thead", "tr", "ul"}


def _opening(formula_id: str) -> str:
    return f'<span class="math-container" data-formula-id="{escape(formula_id)}"'


def mark(html: str, formula_id: str) -> str:
    """The HTML with a class on every element of the formula; unchanged if the formula is not in it."""
    opening = _opening(formula_id)
    return html.replace(opening, opening.replace('"math-container"', f'"math-container {CLASS}"'))


def around(html: str, formula_id: str) -> str:
    """The innermost paragraph, list item or cell with the formula, marked; empty if the formula is not in the HTML.

    An item or cell becomes a `div`: without its list or table, it would end the list item of the page that shows it.
    """
    at = html.find(_opening(formula_id))
    if at < 0:
        return ""
    start, end = _bounds(html, at)
    block = html[start:end]
    tag = _TAG.match(block)
    if tag is not None and tag[2] in _PARTS:
        block = f"<div>{block[tag.end() : block.rindex('<')]}</div>"
    return mark(block, formula_id)


def _bounds(html: str, at: int) -> tuple[int, int]:
    """Start and end of the block around a position; outside all blocks, of the text between two of them."""
    opened: list[tuple[str, int]] = []  # the open blocks, with their starts
    loose = 0
    for tag in _TAG.finditer(html):
        is_end, name = bool(tag[1]), tag[2]
        if name not in _BLOCKS:
            continue
        if tag.start() > at and not opened:
            return loose, tag.start()
        if not is_end:
            opened.append((name, tag.start()))
        elif opened:
            name, start = opened.pop()
            if start < at < tag.start() and name in _INNER:
                return start, tag.end()
            loose = tag.end()
    return loose, len(html)
