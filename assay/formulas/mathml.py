"""Isolates the Presentation MathML in markup, as Tangent-S does.

The MathML comes from an index or a page: presentation alone, or with Content MathML and LaTeX, with or without
namespace prefixes, and not always well-formed. Nothing here recurses, and each step takes time proportional to the
size of the markup, so that deep nesting cannot stop a worker.
"""

import re
from typing import Final

from lxml import etree

MATHML: Final = "http://www.w3.org/1998/Math/MathML"
MATH: Final = f"{{{MATHML}}}math"

# The HTML parser compares each attribute with all others of its tag, so its time grows with the square of the length.
MAX_HTML: Final = 50_000  # characters

_START = re.compile(r"<(?:[^<> :]*:)?math(?=[\s>])")
_END = re.compile(r"</(?:[^<> :]*:)?math\s*>")
_PREFIX = re.compile(r"<(/?)(?!mws:qvar)[^<> :/]*:")
_DEFAULT = re.compile(r"""\sxmlns\s*=\s*(?:"[^"<]*"|'[^'<]*')""")
_PLAIN_START = f' xmlns="{MATHML}"'

# All threads share one parser, which lxml locks. Without entities, the text cannot grow while it is parsed.
_xml = etree.XMLParser(
    resolve_entities=False,
    no_network=True,
    load_dtd=False,
    remove_comments=True,
    remove_pis=True,
    huge_tree=True,
)


def isolated(markup: str) -> str | None:
    """The text of the first `math` element, without namespace prefixes; None if there is none."""
    start = _START.search(markup)
    end = start and _END.search(markup, start.end())
    if start is None or end is None:
        return None
    return _PREFIX.sub(r"<\1", markup[start.start() : end.end()])


def read_xml(text: str) -> etree._Element:
    """The presentation element of an isolated formula that is XML, as nearly all formulas are.

    Raises `LxmlError` or `ValueError` if the text is not XML.
    """
    root = _root(text)
    return _presentation(root, f"{{{MATHML}}}") if "annotation" in text else root


def read_content(text: str) -> etree._Element:
    """The element whose children are the Content MathML of an isolated formula: an annotation, or `math` itself.

    Raises `LxmlError` or `ValueError` if the text is not XML.
    """
    root = _root(text)
    content = (
        _annotation(root, f"{{{MATHML}}}annotation-xml", "mathml-content") if "annotation" in text else None
    )
    return root if content is None else content


def _root(text: str) -> etree._Element:
    root = etree.fromstring(text, _xml)
    return root if root.tag == MATH else etree.fromstring(_in_mathml(text), _xml)


def read_html(text: str) -> etree._Element:
    """The presentation element of any isolated formula: parsed as HTML, written as XML, and parsed again.

    Raises `LxmlError` or `ValueError` if the text cannot be turned into XML, or is too long for this parser.
    """
    if len(text) > MAX_HTML:
        raise ValueError(f"a formula that is not XML is longer than {MAX_HTML:,} characters")
    parser = etree.HTMLParser(no_network=True, remove_comments=True, remove_pis=True, huge_tree=True)
    page = etree.fromstring(text, parser)
    math = None if page is None else page.find(".//math")
    if math is None or any(entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for entry in parser.error_log):
        raise ValueError("the formula cannot be read")
    for element in math.iter(etree.Element):  # prefixes may be declared outside the formula only
        for name in [name for name in element.attrib if ":" in str(name)]:
            del element.attrib[name]
    markup = etree.tostring(_presentation(math, ""), encoding="unicode", with_tail=False)
    return etree.fromstring(_in_mathml(markup), _xml)


def _in_mathml(markup: str) -> str:
    """The markup of an element, with MathML as its default namespace instead of any other."""
    head, mark, rest = markup.partition(">")
    name, blank, attributes = head.partition(" ")
    return f"{name}{_PLAIN_START}{_DEFAULT.sub('', blank + attributes)}{mark}{rest}"


def _presentation(math: etree._Element, namespace: str) -> etree._Element:
    """The element whose children are the presentation: `math` itself, or its annotation with the presentation.

    It removes LaTeX and Content MathML.
    """
    _remove(_annotation(math, f"{namespace}annotation", "application/x-tex"))
    presentation = _annotation(math, f"{namespace}annotation-xml", "mathml-presentation")
    if presentation is None:
        _remove(_annotation(math, f"{namespace}annotation-xml", "mathml-content"))
    return math if presentation is None else presentation


def _annotation(math: etree._Element, tag: str, encoding: str) -> etree._Element | None:
    names = ((element, element.get("encoding") or "") for element in math.iter(tag))
    return next((element for element, name in names if encoding in name.lower()), None)


def _remove(element: etree._Element | None) -> None:
    parent = None if element is None else element.getparent()
    if element is not None and parent is not None:
        parent.remove(element)
