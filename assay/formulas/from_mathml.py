r"""Writes Presentation MathML as LaTeX, for formulas that come without it. A wildcard of NTCIR becomes `\qvar{name}`,
and a part that results need only resemble `\simto{name}{part}`.

Nothing recurses, so that deep nesting cannot stop a worker. What has no counterpart in LaTeX is written as its content.
Annotations are other forms of the same formula, and are left out. Content MathML alone is not written.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from lxml import etree

from assay.formulas.mathml import isolated, read_html, read_xml

_VARIANTS: Final = {
    "bold": "mathbf",
    "double-struck": "mathbb",
    "fraktur": "mathfrak",
    "monospace": "mathtt",
    "normal": "mathrm",
    "sans-serif": "mathsf",
    "script": "mathcal",
}
_ACCENTS: Final = {
    **dict.fromkeys("^\u02c6\u0302", "hat"),
    **dict.fromkeys("~\u02dc\u0303", "tilde"),
    **dict.fromkeys("\u00af\u203e\u0305\u2015_", "overline"),
    **dict.fromkeys("\u2192\u20d7", "vec"),
    **dict.fromkeys("\u02d9\u0307", "dot"),
    **dict.fromkeys("\u00a8\u0308", "ddot"),
    "\u23de": "overbrace",
}
_CONTENT: Final = frozenset(["apply", "bind", "cbytes", "cerror", "ci", "cn", "cs", "csymbol", "share"])
_LIMITS: Final = re.compile(
    r"[\u2211\u220f\u2210\u22c2\u22c3\u222b-\u2230]|\\operatorname\{(?:lim|sup|inf|max|min)\w*\}"
)
_INVISIBLE: Final = re.compile("[\u2061-\u2064\u200b]")
_SPECIAL: Final = re.compile(r"[#$%&_{}]")
_ROW_END: Final = r" \\ "
_WORDS: Final = {"\\": r"\backslash ", "^": r"\hat{}", "~": r"\sim "}

Write = Callable[["etree._Element", Sequence[str]], str]


def latex_of(markup: str) -> str:
    r"""The LaTeX of a formula's markup; empty if it cannot be read.

    >>> latex_of('<math><msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><qvar name="y"/></math>')
    '{x}^{2} + \\qvar{y}'
    """
    text = isolated(markup)
    if text is None:
        return ""
    # The prefix may be declared outside the formula only
    text = text.replace("mws:qvar", "qvar").replace("mws:simto", "simto")
    for read in (read_xml, read_html):
        try:
            return _written(read(text))
        except (etree.LxmlError, ValueError):
            continue
    return ""


def without_constructs(latex: str) -> str:
    r"""LaTeX of LaTeXML with the operators of queries as authors write them: `\qvar{x}`, `\simto{a}{part}`."""
    return latex.replace("\\qvar@construct", "\\qvar").replace("\\simto@construct", "\\simto")


def _written(root: "etree._Element") -> str:
    if _is_content(root):
        return ""
    opened: list[list[str]] = [[]]
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            opened.append([])
        else:
            parts = opened.pop()
            write = _row if element is root else _WRITERS.get(etree.QName(element).localname, _row)
            opened[-1].append(write(element, parts))
    return " ".join("".join(opened[0]).split())


def _is_content(root: "etree._Element") -> bool:
    """Return whether a formula begins with an element of Content MathML."""
    element = root
    while (inside := element.find("*")) is not None and (
        element is root or etree.QName(element).localname == "semantics"
    ):
        element = inside
    return etree.QName(element).localname in _CONTENT


def _text(element: "etree._Element") -> str:
    return _INVISIBLE.sub("", " ".join("".join(map(str, element.itertext())).split()))


def _escaped(text: str) -> str:
    return "".join(_WORDS.get(letter) or _SPECIAL.sub(r"\\\g<0>", letter) for letter in text)


def _row(element: "etree._Element", parts: Sequence[str]) -> str:
    return " ".join(filter(None, parts)) if len(element) else _escaped(_text(element))


def _identifier(element: "etree._Element", _parts: Sequence[str]) -> str:
    text = _text(element)
    variant = _VARIANTS.get(element.get("mathvariant", ""))
    if variant:
        return f"\\{variant}{{{_escaped(text)}}}"
    return f"\\operatorname{{{_escaped(text)}}}" if len(text) > 1 and text.isalpha() else _escaped(text)


def _words(element: "etree._Element", _parts: Sequence[str]) -> str:
    text = _SPECIAL.sub(r"\\\g<0>", re.sub(r"[\\^~]", " ", _text(element)))
    return f"\\text{{ {text} }}" if text else ""


def _at(parts: Sequence[str], n: int) -> str:
    return parts[n] if n < len(parts) else ""


def _pattern(pattern: str) -> Write:
    """A writer that puts the children in the places of `<0>`, `<1>`, `<2>`."""

    def write(_element: "etree._Element", parts: Sequence[str]) -> str:
        return re.sub(r"<(\d)>", lambda place: _at(parts, int(place[1])), pattern)

    return write


def _fraction(element: "etree._Element", parts: Sequence[str]) -> str:
    has_no_line = re.fullmatch(r"0+(\.0*)?[a-z%]*", element.get("linethickness", ""))
    start = r"\genfrac{}{}{0pt}{}" if has_no_line else r"\frac"
    return f"{start}{{{_at(parts, 0)}}}{{{_at(parts, 1)}}}"


def _under(_element: "etree._Element", parts: Sequence[str]) -> str:
    base, under = _at(parts, 0), _at(parts, 1)
    return f"{base}_{{{under}}}" if _LIMITS.fullmatch(base) else f"\\underset{{{under}}}{{{base}}}"


def _over(_element: "etree._Element", parts: Sequence[str]) -> str:
    base, over = _at(parts, 0), _at(parts, 1)
    accent = _ACCENTS.get(over.replace(r"\hat{}", "^").replace(r"\sim ", "~").replace(r"\_", "_").strip())
    return f"\\{accent}{{{base}}}" if accent else f"\\overset{{{over}}}{{{base}}}"


def _under_over(_element: "etree._Element", parts: Sequence[str]) -> str:
    base, under, over = (_at(parts, n) for n in range(3))
    if _LIMITS.fullmatch(base):
        return f"{base}_{{{under}}}^{{{over}}}"
    return f"\\underset{{{under}}}{{\\overset{{{over}}}{{{base}}}}}"


def _fenced(element: "etree._Element", parts: Sequence[str]) -> str:
    separators = element.get("separators", ",").split() or [","]
    marks = [separators[min(n, len(separators) - 1)] for n in range(len(parts) - 1)]
    inside = "".join(part + mark for part, mark in zip(parts, [*marks, ""], strict=False))
    start, end = (_escaped(element.get(*side)) or "." for side in (("open", "("), ("close", ")")))
    return f"\\left{start} {inside} \\right{end}"


def _scripts(element: "etree._Element", parts: Sequence[str]) -> str:
    names = [etree.QName(child).localname for child in element.iterchildren(tag=etree.Element)]
    cut = names.index("mprescripts") if "mprescripts" in names else len(names)
    before, after = parts[cut + 1 :], parts[1:cut]
    base = f"{{{_at(parts, 0)}}}{_pairs(after)}"
    return f"{{}}{_pairs(before)}{base}" if before else base


def _pairs(scripts: Sequence[str]) -> str:
    below, above = (" ".join(filter(None, scripts[start::2])) for start in (0, 1))
    return f"_{{{below}}}" * bool(below) + f"^{{{above}}}" * bool(above)


_WRITERS: Final[dict[str, Write]] = {
    **dict.fromkeys(("annotation", "annotation-xml", "maligngroup", "malignmark"), _pattern("")),
    **dict.fromkeys(("mprescripts", "none"), _pattern("")),
    "menclose": _pattern(r"\boxed{<0>}"),
    "mfenced": _fenced,
    "mfrac": _fraction,
    "mi": _identifier,
    "mmultiscripts": _scripts,
    "mover": _over,
    "mphantom": _pattern(r"\phantom{<0>}"),
    "mroot": _pattern(r"\sqrt[<1>]{<0>}"),
    "ms": _words,
    "mspace": _pattern(r"\ "),
    "msqrt": lambda _element, parts: f"\\sqrt{{{' '.join(parts)}}}",
    "msub": _pattern("{<0>}_{<1>}"),
    "msubsup": _pattern("{<0>}_{<1>}^{<2>}"),
    "msup": _pattern("{<0>}^{<1>}"),
    "mtable": lambda _element, parts: f"\\begin{{matrix}} {_ROW_END.join(parts)} \\end{{matrix}}",
    "mtext": _words,
    "mtr": lambda _element, parts: " & ".join(parts),
    "munder": _under,
    "munderover": _under_over,
    "simto": lambda element, parts: (
        f"\\simto{{{_escaped(element.get('name') or '')}}}{{{' '.join(filter(None, parts))}}}"
    ),
    "qvar": lambda element, _parts: f"\\qvar{{{_escaped(element.get('name') or _text(element))}}}",
}
