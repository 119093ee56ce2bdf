"""Parts of all readers of markup: an XML parser for files of strangers, and comments and references of SGML."""

import re
from html import escape
from html.entities import html5

from lxml import etree

# Characters that XML does not allow, and references that may be to one.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_REFERENCE = re.compile(r"&#(?:x([0-9a-fA-F]{1,8})|([0-9]{1,8}));")
_CHARACTERS = (range(0x20, 0xD800), range(0xE000, 0xFFFE), range(0x10000, 0x110000))
_ENTITY = re.compile(r"&(?:#(?:[0-9]{1,7}|[xX][0-9a-fA-F]{1,6})|[A-Za-z][A-Za-z0-9]*);")
_OWN = {"hyph": "-", "blank": " "}  # of TREC's files
_XML = frozenset({"amp", "lt", "gt", "quot", "apos"})
_AMPERSAND = re.compile(r"&(?:(#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{0,40});)?")
_CODES = range(1, 0x110000)
_SURROGATES = range(0xD800, 0xE000)


def xml_root(data: bytes | str) -> "etree._Element":
    """The root of an XML text. Nothing is fetched, no entity is expanded, and the depth is limited.

    Raises `XMLSyntaxError` if it is not well-formed, and `ValueError` if a string declares an encoding.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    return etree.fromstring(data, parser)


def allowed_in_xml(text: str) -> str:
    """Text with spaces in place of each character that XML does not allow, and of references to one: equally long.

    >>> allowed_in_xml("a\x0eb&#14;c&#65;")
    'a b     c&#65;'
    """
    return _REFERENCE.sub(_allowed, _CONTROL.sub(" ", text))


def _allowed(reference: re.Match[str]) -> str:
    code = int(reference[1], 16) if reference[1] else int(reference[2])
    is_allowed = code in {9, 10, 13} or any(code in characters for characters in _CHARACTERS)
    return reference[0] if is_allowed else " " * len(reference[0])


def repaired(text: str) -> str:
    """XML with characters in place of the names of HTML's characters, which XML does not know, and of a bare `&`; with
    spaces in place of control characters. Lines keep their numbers, and CDATA keeps its text.

    >>> repaired("<a>R&D&nbsp;&eacute; &lt;&#x1f;</a>")
    '<a>R&amp;D\\xa0é &lt;      </a>'
    """
    pieces = []
    for n, piece in enumerate(allowed_in_xml(text).split("<![CDATA[")):
        data, end, rest = piece.partition("]]>") if n else ("", "", piece)
        pieces.append(f"{data}{end}{_AMPERSAND.sub(_known, rest)}")
    return "<![CDATA[".join(pieces)


def _known(reference: re.Match[str]) -> str:
    name = reference[1]
    if not name:
        return "&amp;"
    is_xml = name.startswith("#") or name in _XML
    return reference[0] if is_xml or f"{name};" not in html5 else escape(html5[f"{name};"])


def without_comments(text: str) -> str:
    """Text with the line ends of its comments instead of these, so that lines keep their numbers."""
    pieces, position = [], 0
    while (start := text.find("<!--", position)) >= 0 and (end := text.find("-->", start)) >= 0:
        pieces += [text[position:start], "\n" * text.count("\n", start, end)]
        position = end + len("-->")
    return "".join([*pieces, text[position:]])


def unescaped(text: str) -> str:
    """Text with characters instead of references that end with a semicolon; unknown ones stay as they are."""
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(entity: re.Match[str]) -> str:
    name = entity[0][1:-1]
    if not name.startswith("#"):
        return _OWN.get(name.lower()) or html5.get(f"{name};", entity[0])
    code = int(f"0{name[1:]}", 16) if name[1] in "xX" else int(name[1:])
    return chr(code) if code in _CODES and code not in _SURROGATES else entity[0]
