"""The Presentation MathML in some markup, as Tangent-S isolates it. No Django.

MathML comes as an index or a page has it: presentation alone, or beside Content MathML and LaTeX, with or without
namespace prefixes, and not always well-formed. Nothing here recurses, and each step takes time in proportion to the
size of the markup, so that no file can bring a worker down by nesting.
"""

import re
from typing import Final

from lxml import etree

MATHML: Final = "http://www.w3.org/1998/Math/MathML"
MATH: Final = f"{{{MATHML}}}math"

_START = re.compile(r"<(?:[^<> :]*:)?math(?=[\s>])")
_END = re.compile(r"</(?:[^<> :]*:)?math\s*>")
_PREFIX = re.compile(r"<(/?)(?!mws:qvar)[^<> :/]*:")
_DEFAULT = re.compile(r"""\sxmlns\s*=\s*(?:"[^"<]*"|'[^'<]*')""")
_PLAIN_START = f' xmlns="{MATHML}"'

# One parser serves all threads: lxml locks it. Without entities, nothing grows when it is read.
_xml = etree.XMLParser(
    resolve_entities=False,
    no_network=True,
    load_dtd=False,
    remove_comments=True,
    remove_pis=True,
    huge_tree=True,
)


def isolated(markup: str) -> str | None:
    """The first `math` element of some markup without namespace prefixes, as text; None if there is none."""
    start = _START.search(markup)
    end = start and _END.search(markup, start.end())
    if start is None or end is None:
        return None
    return _PREFIX.sub(r"<\1", markup[start.start() : end.end()])


def read_xml(text: str) -> etree._Element:
    """The element that holds the presentation, of an isolated formula that is XML as it stands, as nearly all are.

    Raises
    ------
    lxml.etree.LxmlError, ValueError
        It is not XML.
    """
    root = etree.fromstring(text, _xml)
    if root.tag != MATH:
        root = etree.fromstring(_in_mathml(text), _xml)
    return _presentation(root, f"{{{MATHML}}}") if "annotation" in text else root


def read_html(text: str) -> etree._Element:
    """The same of any isolated formula: read as a browser would, written as XML, and read again.

    Raises
    ------
    lxml.etree.LxmlError, ValueError
        Even so it does not become XML.
    """
    parser = etree.HTMLParser(no_network=True, remove_comments=True, remove_pis=True, huge_tree=True)
    page = etree.fromstring(text, parser)
    math = None if page is None else page.find(".//math")
    if math is None or _is_cut_short(parser):
        raise ValueError("no formula can be read")
    markup = etree.tostring(_presentation(math, ""), encoding="unicode", with_tail=False)
    return etree.fromstring(_in_mathml(markup), _xml)


def _in_mathml(markup: str) -> str:
    """Markup of an element with MathML as its default namespace, whatever it said itself."""
    head, mark, rest = markup.partition(">")
    name, blank, attributes = head.partition(" ")
    return f"{name}{_PLAIN_START}{_DEFAULT.sub('', blank + attributes)}{mark}{rest}"


def _is_cut_short(parser: etree.HTMLParser) -> bool:
    """Whether the parser gave up, at elements 2,048 deep, and left out the rest."""
    return any(entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for entry in parser.error_log)


def _presentation(math: etree._Element, namespace: str) -> etree._Element:
    """The element whose children are the presentation: `math` itself, or its annotation that holds the presentation.

    LaTeX and Content MathML beside it are taken out.
    """
    _remove(_annotation(math, f"{namespace}annotation", "application/x-tex"))
    found = _annotation(math, f"{namespace}annotation-xml", "MathML-Presentation")
    if found is None:
        _remove(_annotation(math, f"{namespace}annotation-xml", "MathML-Content"))
    return math if found is None else found


def _annotation(math: etree._Element, tag: str, encoding: str) -> etree._Element | None:
    return next((one for one in math.iter(tag) if one.get("encoding") == encoding), None)


def _remove(element: etree._Element | None) -> None:
    parent = None if element is None else element.getparent()
    if element is not None and parent is not None:
        parent.remove(element)
