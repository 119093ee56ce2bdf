"""The place of each piece of a document in its plain text, so that a marked part of a page is a part of that text.

A part counts characters (Unicode code points) of `assay.html.sanitize.plain`, as a citation counts those of the source
of its post: the first one is 0. A page shows other white space, typeset formulas and images, so offsets into the page
would mean nothing elsewhere. `numbered` writes into the stored HTML where each piece begins::

    <span data-at="0">Ham and eggs,</span>               characters as they are; white space is one space in the text
    <span class="math-container" data-at="14" data-length="5">x^2</span>   one piece: it is in a part as a whole
    <span data-at="20" data-length="7"><span class="image-placeholder">...</span></span>

Text that the page adds, such as the note of an external link, is in no piece.
"""

import re

from assay.html import latex
from assay.html.images import ANY_PLACEHOLDER
from assay.html.sanitize import plain

AHEAD = 200  # characters to look for a piece, if a piece before it is not in the text
_PIECE = re.compile(
    rf"""(?P<formula><span\ class="math-container"[^<>]*>[^<]*</span>)
    | (?P<whole>{ANY_PLACEHOLDER.pattern.replace(" ", chr(92) + " ")} | <span\ class="dollar">\$</span>)
    | <[a-zA-Z/!?][^<>]*>
    | (?P<text>(?:(?!&nbsp;)[^\s<])+(?:\s(?:(?!&nbsp;)[^\s<])+)*)""",
    re.VERBOSE,
)


def numbered(html: str) -> str:
    """Sanitized HTML whose pieces say where they begin in its plain text.

    >>> numbered("<p>Ham &amp;  <em>eggs</em></p>")
    '<p><span data-at="0">Ham &amp;</span>  <em><span data-at="6">eggs</span></em></p>'
    """
    text, place = plain(html), 0
    paragraph = "<p>" if "<p>" in html else ""  # then `plain` reads a tag as a space

    def written(piece: re.Match[str]) -> str:
        nonlocal place
        if not (piece["formula"] or piece["whole"] or piece["text"]):
            return piece[0]
        words = (
            re.sub(r"\s", " ", latex.unescaped(piece["text"]))
            if piece["text"]
            else plain(paragraph + piece[0])
        )
        at = text.find(words, place, place + len(words) + AHEAD) if words else -1
        if at < 0:
            return piece[0]
        place = at + len(words)
        length = len(words)
        if piece["formula"]:
            tag, rest = piece[0].split(">", 1)
            return f'{tag} data-at="{at}" data-length="{length}">{rest}'
        if piece["whole"]:
            return f'<span data-at="{at}" data-length="{length}">{piece[0]}</span>'
        return f'<span data-at="{at}">{piece[0]}</span>'

    return _PIECE.sub(written, html)
