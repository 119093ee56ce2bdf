r"""Reads topics of NTCIR's MathIR tasks, as rows for `assay.formats.topics.reader`.

XML: `<topics><topic><num/><query><formula id><m:math>...</m:math></formula><keyword/></query></topic>...`. The LaTeX of
a formula is an annotation of its MathML, or else written from the MathML. A topic may have `<scenario/>` and
`<criteria/>`, in plain text. Lines: a code and a formula per line, separated by a tab. A wildcard is
`\qvar@construct{x}` in XML and `\qvar{x}` in lines; both are stored as `\qvar{x}`, which pages show as `?x`. NTCIR-12's
operator simto, `<mws:simto name="a">` around a part of a formula that results need only resemble, is stored as
`\simto{a}{part}`, and shown as a brace below the part.
"""

import re
from collections.abc import Iterator
from html import escape
from typing import Any, cast

from lxml import etree

from assay.formats.text import lines_of
from assay.formulas.from_mathml import latex_of, without_constructs

_TEX = "application/x-tex"
_CONTINUED = re.compile(r"%\s*\n\s*")
_LINE = re.compile(r"[^\s<{\"']\S*\t.+")


def is_lines(text: str) -> bool:
    """Return whether every line of a text is a code, a tab and a formula."""
    lines = [line for line in lines_of(text) if line.strip()]
    return bool(lines) and all(_LINE.fullmatch(line) for line in lines)


def rows_of_lines(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines_of(text), 1):
        if line.strip():
            code, _, latex = line.partition("\t")
            yield number, {"code": code, "latex": latex.strip(), "body": None}


def rows_of_xml(root: "etree._Element") -> Iterator[tuple[int, dict[str, Any]]]:
    for topic in root.iterchildren("{*}topic"):
        formulas = [(formula.get("id") or "", _latex(formula)) for formula in topic.iter("{*}formula")]
        marked = (
            f'<p><span class="math-container" id="{escape(name)}">${escape(tex)}$</span></p>'
            if tex
            else "<p></p>"
            for name, tex in formulas
        )
        keywords = [_text(keyword) for keyword in topic.iter("{*}keyword")]
        formula_id, latex = formulas[0] if formulas else ("", "")
        row = {
            "code": _text(topic.find("{*}num")),
            "title": ", ".join(filter(None, keywords)),
            "body": "".join(marked),
            "narrative": _text(topic.find("{*}narrative")) or None,
            "scenario": _text(topic.find("{*}scenario")),
            "criteria": _text(topic.find("{*}criteria")),
            "formula_id": formula_id,
            "latex": latex,
        }
        yield cast("int", topic.sourceline), row


def _latex(formula: "etree._Element") -> str:
    for annotation in formula.iter("{*}annotation"):
        if annotation.get("encoding") == _TEX:
            latex = _CONTINUED.sub("", _text(annotation))
            return without_constructs(latex)
    math = next(formula.iter("{*}math"), None)
    return "" if math is None else latex_of(etree.tostring(math, encoding="unicode", with_tail=False))


def _text(element: "etree._Element | None") -> str:
    return "" if element is None else "".join(map(str, element.itertext())).strip()
