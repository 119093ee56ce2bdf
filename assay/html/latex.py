"""Finds the formulas of a post, in LaTeX.

There are two passes. `cut` replaces every marked formula in untrusted HTML by a numbered mark, before a parser sees it.
`find_end` searches HTML for the end of a formula between delimiters, as MathJax does on the page: in the text between
two tags (except `<br>`), with respect to braces and escapes. `assay.formulas.extraction` uses the same steps.
"""

import re
from functools import lru_cache
from html import escape, unescape
from typing import NamedTuple

_ENVIRONMENT = (
    r"align|alignat|aligned|array|bmatrix|cases|displaymath|eqnarray|equation|flalign|gather|gathered|"
    r"math|matrix|multline|pmatrix|smallmatrix|split|subarray|vmatrix|Bmatrix|Vmatrix|CD"
)

# Noncharacters of Unicode, which no text contains and every parser keeps: a mark, a number, END. BARE marks a formula
# without delimiters, which may be part of a longer one.
CUT, BARE, END = "\ufdd0", "\ufdd1", "\ufdd2"
ASIDE = "\ufdd3"  # marks finished HTML that is not a formula
MARK = re.compile(f"[{CUT}{BARE}](\\d+){END}")
START = rf"\\?[(\[]|begin\{{(?:{_ENVIRONMENT})\*?\}}"  # after a backslash

# Closing delimiters that are tried for balanced braces; then the first one counts, as in MathJax.
_MAX_TRIES = 8
_MARKED = re.compile(
    r"""<span\b(?=[^<>]*\bmath-container\b)(?P<attributes>[^<>]*+)>
        (?P<source>(?>(?:[^<]++|<(?!/?span\b)|<span\b[^<>]*>(?>(?:[^<]++|<(?!/?span\b))*)</span\s*>)*))
        </span\s*>
      | <math\b(?P<mathml>[^<>]*+>(?>(?:[^<]++|<(?!/?math\b))*))</math\s*>""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_ALTTEXT = re.compile(r"""\balttext\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_ANNOTATION = re.compile(r'<annotation\b(?=[^<>]*"application/x-tex")[^<>]*+>', re.IGNORECASE)
_ANNOTATION_END = re.compile(r"</annotation", re.IGNORECASE)
_BLOCK_MATHML = re.compile(r"""^[^>]*\bdisplay\s*=\s*["']?block""", re.IGNORECASE)
_ENDLESS = re.compile(r"&#[0-9]{20,}+")  # no character has such a number, and int() refuses long ones
_LINE_COMMENT = re.compile(r"(?<!\\)%\s")
_ID = re.compile(r"""\b(?:data-formula-)?id\s*=\s*(?:"([^"]*)"|'([^']*)'|([\w.:-]+))""", re.ASCII)
_DISPLAY = re.compile(r'\bdata-display="(inline|block)"')
_INNER_TAG = re.compile(r"</?(?:span|em|strong|i|b|a|p|sub|sup|code|div|u)\b[^<>]*>", re.IGNORECASE)
_BR = r"(?i:<br\s*+/?>)"
_BREAK = re.compile(_BR)
_ENTITY = re.compile(r"&(?:amp;)*(?:(lt|gt|quot|nbsp|#39);)?")
_CHARACTERS = {None: "&", "lt": "<", "gt": ">", "quot": '"', "nbsp": "\u00a0", "#39": "'"}
_DELIMITERS = (("$$", "$$", "block"), ("$", "$", "inline"), ("\\[", "\\]", "block"), ("\\(", "\\)", "inline"))
_BLOCK = re.compile(r"\\begin\{(?:align|alignat|eqnarray|equation|flalign|gather|multline|displaymath)\*?\}")
_MONEY = re.compile(r"\d[\d.,]*+[a-zA-Z]{0,2}+\s++[A-Za-z]{2}[^\\^_{}=+<>&]*+(?<=\s)")


class Formula(NamedTuple):
    """A formula without its delimiters. `display` is "inline", "block", or "" if the source does not say."""

    latex: str
    id: str = ""
    display: str = ""

    def html(self) -> str:
        """The element of the formula on a page."""
        number = f' data-formula-id="{escape(self.id)}"' if self.id else ""
        latex = escape(self.latex, quote=False)
        return (
            f'<span class="math-container"{number} data-display="{self.display or "inline"}">{latex}</span>'
        )


def cut(html: str) -> tuple[str, list[Formula]]:
    """Untrusted HTML with a numbered mark for each marked formula, and these formulas."""
    formulas: list[Formula] = []
    if "math" not in html:
        return html, formulas

    def mark(match: re.Match[str]) -> str:
        attributes, source = match["attributes"] or "", match["source"]
        formula = _mathml(match["mathml"], attributes) if source is None else in_span(source, attributes)
        if formula is None:
            return ""
        formulas.append(formula)
        return f"{CUT if formula.display else BARE}{len(formulas) - 1}{END}"

    return _MARKED.sub(mark, html), formulas


def in_span(source: str, attributes: str) -> Formula | None:
    """The formula in a span that marks one, with or without delimiters; None if the span is empty."""
    if "<math" in source:
        return _mathml(source, attributes)
    if "<" in source:
        source = _BREAK.sub("\n", source)
        source = _INNER_TAG.sub("", source) if "</" in source else source
    latex, display = decode(source), _DISPLAY.search(attributes)
    if display is not None:
        return Formula(latex, _id(attributes), display[1])
    latex = latex.strip()
    for start, end, usual in _DELIMITERS:
        if len(latex) >= len(start) + len(end) and latex.startswith(start) and latex.endswith(end):
            latex = latex[len(start) : -len(end)]
            return Formula(latex, _id(attributes), usual) if latex.strip() else None
    return Formula(latex, _id(attributes), "block" if _BLOCK.match(latex) else "") if latex else None


def _mathml(source: str, attributes: str) -> Formula | None:
    if alttext := _ALTTEXT.search(source):
        latex = _LINE_COMMENT.sub("", alttext[1] or alttext[2] or "")
    elif (start := _ANNOTATION.search(source)) and (end := _ANNOTATION_END.search(source, start.end())):
        latex = source[start.end() : end.start()]
    else:
        return None
    display = "block" if _BLOCK_MATHML.search(source) else "inline"
    return Formula(decode(latex).strip(), _id(attributes), display)


def _id(attributes: str) -> str:
    match = _ID.search(attributes)
    return " ".join(unescaped(match[1] or match[2] or match[3] or "").split()) if match else ""


def decode(html: str) -> str:
    """The LaTeX of a piece of HTML without tags; text that was escaped twice is unescaped twice."""
    if "&" not in html:
        return html
    return _ENTITY.sub(lambda entity: _CHARACTERS[entity[1]], unescaped(html))


def unescaped(html: str) -> str:
    """Text with characters instead of references, as `html.unescape` returns it, for any number of digits."""
    return unescape(_ENDLESS.sub("\ufffd", html) if "&#" in html else html)


_INLINE = frozenset({"$", "\\(", "\\\\("})


def delimited(content: str, delimiter: str, formulas: list[Formula]) -> Formula:
    """The formula between delimiters in clean HTML; formulas that were cut out of it become part of it."""
    display = "inline" if delimiter in _INLINE else "block"
    if "&" not in content and "<" not in content and CUT not in content and BARE not in content:
        return Formula(content, "", display)
    inner = [formulas[int(number)] for number in MARK.findall(content) if int(number) < len(formulas)]
    latex = decode(_BREAK.sub("\n", content) if "<" in content else content)
    if inner:
        latex = MARK.sub(lambda mark: formulas[int(mark[1])].latex, latex)
    return Formula(latex, " ".join(formula.id for formula in inner if formula.id), display)


def is_money(html: str, start: int, end: int) -> bool:
    """Return whether two dollars, at start - 1 and end, are amounts of money: `$5 and $10`."""
    if not html[start].isdigit():
        return False
    return html[end + 1 : end + 2].isdigit() or _MONEY.fullmatch(html, start, end) is not None


_WALL = f"<{CUT}{ASIDE}"  # characters that no formula contains
# Groups with alternatives are atomic, not possessive: Python before 3.11.5 matches those wrongly (gh-106052).


def _group(depth: int) -> str:
    inside = rf"[^\\{{}}{_WALL}]++|\\[^{_WALL}]|{_BR}"
    return rf"\{{(?>(?:{inside}{'|' + _group(depth - 1) if depth else ''})*)\}}"


_FAST = {
    "$": re.compile(rf"(?>(?:[^$\\{{}}{_WALL}]++|\\[^{_WALL}]|{_BR}|{_group(6)})+)(?=\$)"),
    "$$": re.compile(rf"(?>(?:[^$\\{{}}{_WALL}]++|\$(?!\$)|\\[^{_WALL}]|{_BR}|{_group(6)})+)(?=\$\$)"),
}
_PLAIN = re.compile(
    rf"(?![\d\s])(?>(?:[^$\\{{}}&{BARE}{_WALL}]++|\\[^&{BARE}{_WALL}]|\{{(?>(?:[^$\\{{}}&{BARE}{_WALL}]++|\\[^&{BARE}{_WALL}])*)\}})+)(?=\$)"
)


def plain_inline(html: str, position: int) -> str:
    """The text from a position, which is after a dollar, to the next dollar, if it is clearly a formula and the same
    in HTML and in LaTeX; otherwise "". Most formulas of a dump take this fast path."""
    match = _PLAIN.match(html, position)
    return match[0] if match else ""


_CLOSE = {"$": "$", "$$": "$$", "\\(": "\\)", "\\\\(": "\\\\)", "\\[": "\\]", "\\\\[": "\\\\]"}


def closing(delimiter: str) -> str:
    return _CLOSE.get(delimiter) or delimiter.replace("begin", "end", 1)


@lru_cache(maxsize=256)
def _steps(end: str) -> re.Pattern[str]:
    """The tokens that count in the search of an end."""
    return re.compile(
        rf"(?P<end>{re.escape(end)})|(?P<stop><(?!(?i:br\s*+/?>))|[{CUT}{ASIDE}])|[{{}}]|\\[^{_WALL}]"
    )


def find_end(html: str, position: int, delimiter: str) -> tuple[int, int]:
    """Find the end of the formula whose opening delimiter ends at a position.

    Returns the position of the closing delimiter (-1: there is none), and the end of the part that was searched.
    """
    if (fast := _FAST.get(delimiter)) and (match := fast.match(html, position)):
        return match.end(), match.end()
    first, depth, tries, step = -1, 0, 0, None
    end = closing(delimiter)
    for step in _steps(end).finditer(html, position):
        if step.lastgroup == "stop" or tries == _MAX_TRIES:
            break
        if step.lastgroup == "end":
            if depth == 0:
                return step.start(), step.end()
            first, tries = (step.start() if first < 0 else first), tries + 1
        elif step[0] in "{}":
            depth = max(0, depth + (1 if step[0] == "{" else -1))
    searched = step.start() if step is not None and step.lastgroup == "stop" else len(html)
    return first, searched
