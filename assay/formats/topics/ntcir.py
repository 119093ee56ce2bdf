r"""Topics of NTCIR's MathIR tasks, as rows of `assay.formats.topics.reader`: its XML, and a code and a formula a line.

XML: `<topics><topic><num/><query><formula id><m:math>...</m:math></formula><keyword/></query></topic>...`, in which
the LaTeX of a formula is an annotation of its MathML. A wildcard there is `\qvar@construct{x}`, in the lines
`\qvar{x}`; both are kept as `\qvar{x}`, which pages show as a box.
"""

import re
from collections.abc import Iterator
from html import escape
from typing import Any, cast

from lxml import etree

_TEX = "application/x-tex"
_CONTINUED = re.compile(r"%\s*\n\s*")
_LINE = re.compile(r"[^\s<{\"']\S*\t.+")


def is_lines(text: str) -> bool:
    """Whether a text is a code and a formula a line, with a tab between."""
    lines = [line for line in text.splitlines() if line.strip()]
    return bool(lines) and all(_LINE.fullmatch(line) for line in lines)


def rows_of_lines(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            code, _, latex = line.partition("\t")
            yield number, {"code": code, "latex": latex.strip(), "body": None}


def rows_of_xml(root: "etree._Element") -> Iterator[tuple[int, dict[str, Any]]]:
    for topic in root.iterchildren("{*}topic"):
        yield cast("int", topic.sourceline), _of_topic(topic)


def _of_topic(topic: "etree._Element") -> dict[str, Any]:
    formulas = [(formula.get("id") or "", _latex(formula)) for formula in topic.iter("{*}formula")]
    keywords = [_text(keyword) for keyword in topic.iter("{*}keyword")]
    formula_id, latex = formulas[0] if formulas else ("", "")
    return {
        "code": _text(topic.find("{*}num")),
        "title": ", ".join(filter(None, keywords)),
        "body": "".join(f"<p>{_shown(name, tex)}</p>" for name, tex in formulas),
        "narrative": _text(topic.find("{*}narrative")) or None,
        "formula_id": formula_id,
        "latex": latex,
    }


def _latex(formula: "etree._Element") -> str:
    for annotation in formula.iter("{*}annotation"):
        if annotation.get("encoding") == _TEX:
            latex = _CONTINUED.sub("", _text(annotation))
            return latex.replace("\\qvar@construct", "\\qvar")
    return ""


def _shown(name: str, latex: str) -> str:
    """A formula as posts have it. Sanitizing it is for who reads the row."""
    return f'<span class="math-container" id="{escape(name)}">${escape(latex)}$</span>' if latex else ""


def _text(element: "etree._Element | None") -> str:
    return "" if element is None else "".join(map(str, element.itertext())).strip()
