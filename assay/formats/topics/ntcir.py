r"""Reads topics of NTCIR's MathIR tasks, as rows for `assay.formats.topics.reader`.

XML: `<topics><topic><num/><query><formula id><m:math>...</m:math></formula><keyword/></query></topic>...`. The LaTeX of
a formula is an annotation of its MathML, or else written from the MathML. A topic may have `<scenario/>` and
`<criteria/>`, in plain text. Lines: a code and a formula per line, separated by a tab. A wildcard is
`\qvar@construct{x}` in XML and `\qvar{x}` in lines; both are stored as `\qvar{x}`, which pages show as `?x`. NTCIR-12's
operator simto, `<mws:simto name="a">` around a part of a formula that results need only resemble, is stored as
`\simto{a}{part}`, and shown as a brace below the part.
"""

import re
from html import escape
from typing import Any

from lxml import etree

from assay.formulas.from_mathml import latex_of, without_constructs

_TEX = "application/x-tex"
_CONTINUED = re.compile(r"%\s*\n\s*")


def row_of(topic: "etree._Element") -> dict[str, Any]:
    """The row of an element `<topic>`."""
    formulas = [(formula.get("id") or "", _latex(formula)) for formula in topic.iter("{*}formula")]
    marked = (
        f'<p><span class="math-container" id="{escape(name)}">${escape(tex)}$</span></p>'
        if tex
        else "<p></p>"
        for name, tex in formulas
    )
    keywords = [_text(keyword) for keyword in topic.iter("{*}keyword")]
    formula_id, latex = formulas[0] if formulas else ("", "")
    return {
        "code": _text(topic.find("{*}num")),
        "title": ", ".join(filter(None, keywords)),
        "body": "".join(marked),
        "narrative": _text(topic.find("{*}narrative")) or None,
        "scenario": _text(topic.find("{*}scenario")),
        "criteria": _text(topic.find("{*}criteria")),
        "formula_id": formula_id,
        "latex": latex,
    }


def _latex(formula: "etree._Element") -> str:
    for annotation in formula.iter("{*}annotation"):
        if annotation.get("encoding") == _TEX:
            latex = _CONTINUED.sub("", _text(annotation))
            return without_constructs(latex)
    math = next(formula.iter("{*}math"), None)
    return "" if math is None else latex_of(etree.tostring(math, encoding="unicode", with_tail=False))


def _text(element: "etree._Element | None") -> str:
    return "" if element is None else "".join(map(str, element.itertext())).strip()
