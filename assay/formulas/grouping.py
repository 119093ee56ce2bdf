"""LaTeX as Presentation MathML by `latex2mathml`, with the structure that LaTeXML gives it.

`latex2mathml` writes what is between two brackets as siblings of the brackets. LaTeXML, which made the published
MathML, puts them into a row of their own, so the SLT strings of most formulas with brackets differ. `grouped` repairs
this, and what else differs in many formulas:

1. Balanced brackets ( ), [ ], { } in a row become a row of their own, also if the closing bracket carries a script.
2. The identifiers ′ : ; ! and signs become operators, the operators ∞ … ∅ identifiers; := and ... become one sign.
3. Several children of `math` or `mstyle` become one row: of `mstyle`, the string describes the first child only.
4. Letters of fonts become the characters that Unicode has for them. Without this, ℚ and Q would look alike.

ADR 10 has the part of formulas whose string equals LaTeXML's.
"""

import re
from contextlib import suppress
from functools import lru_cache
from html import unescape
from itertools import chain
from typing import Any, Final
from unicodedata import category, lookup

from latex2mathml import exceptions
from latex2mathml.converter import Converter
from lxml import etree

from assay.formulas.mathml import MATHML

_FAILURES: Final[tuple[type[Exception], ...]] = (
    *(kind for kind in vars(exceptions).values() if isinstance(kind, type) and issubclass(kind, Exception)),
    *(
        AttributeError,
        IndexError,
        KeyError,
        RecursionError,
        StopIteration,
        TypeError,
        ValueError,
        RuntimeError,
    ),
)
_M: Final = f"{{{MATHML}}}"
_MI: Final = f"{_M}mi"
_MO: Final = f"{_M}mo"
_CLOSED_BY: Final = {"(": ")", "[": "]", "{": "}"}
_CLOSING: Final = frozenset(_CLOSED_BY.values())
_KINDS: Final = dict.fromkeys("\u2032:;!\u2223", _MO) | dict.fromkeys("\u221e\u2026\u2205", _MI)
_CHARACTERS: Final = {"\u00b7": "\u22c5", "\u2033": "\u2032\u2032", "\u2034": "\u2032\u2032\u2032"}
_SYMBOLS: Final = frozenset({"Sm", "Ps", "Pe"})  # categories of Unicode: mathematical signs and brackets
_SIGNS: Final = {":=": (_MO, ":="), "...": (_MI, "\u2026")}
_FONTS: Final = {
    "bold": ("MATHEMATICAL BOLD",),
    "bold-italic": ("MATHEMATICAL BOLD ITALIC",),
    "double-struck": ("MATHEMATICAL DOUBLE-STRUCK", "DOUBLE-STRUCK"),
    "fraktur": ("MATHEMATICAL FRAKTUR", "BLACK-LETTER"),
    "monospace": ("MATHEMATICAL MONOSPACE",),
    "sans-serif": ("MATHEMATICAL SANS-SERIF",),
    "script": ("MATHEMATICAL SCRIPT", "SCRIPT"),
}
_ROWS: Final = frozenset(
    f"{_M}{name}" for name in ("math", "menclose", "mphantom", "mrow", "msqrt", "mstyle", "mtd")
)
_SCRIPTS: Final = frozenset(
    f"{_M}{name}" for name in ("msub", "msup", "msubsup", "munder", "mover", "munderover")
)
_OF_ONE: Final = frozenset({f"{_M}math", f"{_M}mstyle"})  # they should have one child
_ALIGNED: Final = re.compile(r"\\(begin|end)\{(?:aligned|alignedat|gathered)\*?\}(?:(?<=at\})\s*\{[^{}]*\})?")


def presentation_of(latex: str) -> str:
    """The MathML of a formula. Raises `ValueError` if `latex2mathml` cannot read it."""
    try:
        # A copy of the element of the standard library that `latex2mathml` makes.
        root: Any = Converter().convert_to_element(_ALIGNED.sub(r"\\\1{align*}", latex))
        math = etree.Element(f"{_M}math", nsmap={None: MATHML})  # type: ignore[dict-item]
        math.set("display", root.get("display"))
        waiting = [(root, math)]
        while waiting:
            source, copy = waiting.pop()
            for child in source:
                inner = etree.SubElement(copy, f"{_M}{child.tag}", child.attrib)
                inner.text = unescape(child.text or "") or None
                waiting.append((child, inner))
        return etree.tostring(grouped(math), encoding="unicode")
    except _FAILURES as error:
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__.removesuffix("Error")).lower()
        raise ValueError(f"latex2mathml cannot read it: {words}") from error


def grouped(math: etree._Element) -> etree._Element:
    """A formula of `latex2mathml` with rows for balanced brackets. The element is changed."""
    for element in list(math.iter()):
        # Set the text of an element, and whether it is an operator or an identifier, as LaTeXML does
        text = element.text or ""
        if element.tag in {_MI, _MO}:
            text = _CHARACTERS.get(text, text)
            is_sign = bool(text) and category(text[0]) in _SYMBOLS
            element.tag = _KINDS.get(text[:1]) or (_MO if is_sign else str(element.tag))
            text = "".join(_in_font(letter, element.get("mathvariant", "")) for letter in text)
        element.text = text or None
    for element in list(math.iter()):
        if element.tag in _ROWS and len(element) > 1:
            element[:] = _with_groups(_with_signs(list(element)))
        if element.tag in _OF_ONE and len(element) > 1:
            element[:] = [_row(list(element))]
    return math


@lru_cache(maxsize=1024)
def _in_font(letter: str, font: str) -> str:
    """The letter of a font, if Unicode has it."""
    if font in _FONTS and letter.isascii() and letter.isalpha():
        size = "CAPITAL" if letter.isupper() else "SMALL"
        for prefix in _FONTS[font]:
            with suppress(KeyError):
                return lookup(f"{prefix} {size} {letter.upper()}")
    return letter


def _with_signs(children: list[etree._Element]) -> list[etree._Element]:
    """The children of a row, with one element for each sign that is written with several operators."""
    signs: list[etree._Element] = []
    i = 0
    while i < len(children):
        for written, (tag, text) in _SIGNS.items():
            part = children[i : i + len(written)]
            if [child.text for child in part if child.tag == _MO] == list(written):
                signs.append(etree.Element(tag))
                signs[-1].text = text
                i += len(written)
                break
        else:
            signs.append(children[i])
            i += 1
    return signs


def _row(children: list[etree._Element]) -> etree._Element:
    row = etree.Element(f"{_M}mrow")
    row.extend(children)
    return row


def _with_groups(children: list[etree._Element]) -> list[etree._Element]:
    """The children of a row, with a row for each pair of brackets."""
    levels: list[list[etree._Element]] = [[]]  # of the open brackets, each with what follows it
    for child in children:
        base = child[0] if child.tag in _SCRIPTS and len(child) else child
        bracket = base.text if base.tag == _MO else None
        if bracket in _CLOSED_BY and base is child:
            levels.append([child])
        elif bracket in _CLOSING and len(levels) > 1 and _CLOSED_BY[levels[-1][0].text or ""] == bracket:
            group = _row([*levels.pop(), base])
            if base is not child:
                child.insert(0, group)  # the base has left it
            levels[-1].append(group if base is child else child)
        else:
            levels[-1].append(child)
    return list(chain.from_iterable(levels))
