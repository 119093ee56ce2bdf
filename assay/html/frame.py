"""Fills the template of a frame with the values of a row.

A value is text wherever its place is: in the text, in an attribute, or in the code of a script. It adds no element,
attribute or script. Only `${name|raw}` inserts a value as it is in the table. Where a place is, is read from the
template before any value is in it.
"""

import re
from collections.abc import Callable, Mapping
from html import escape

from assay.templates import PLACEHOLDER, name_of

_INSIDE = r"(?:\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z)|[^>\"'])*(?:>|\Z)"  # a tag, after its name
_TOKEN = re.compile(
    rf"<!--.*?(?:-->|\Z)|(?P<script><script(?=[\s/>]){_INSIDE})(?P<code>.*?)(?=</script|\Z)|(?P<tag><[a-z]{_INSIDE})",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE = re.compile(r"(?<![^\s\"'<>/=])([^\s\"'<>/=]+)\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s\"'>]+)")
_MARKUP = ("html", "template", "handlebars", "mustache")  # in the type of a script whose text is markup
_ADDRESSES = frozenset({"action", "data", "formaction", "href", "poster", "src", "xlink:href"})
_SCHEMES = ("http:", "https:", "data:", "mailto:", "tel:")

Writer = Callable[[str], str]


def frame_body(html: str, values: Mapping[str, str]) -> str:
    """A template with a value in each place that has one. A value that contains `${name}` is not filled in again.

    >>> frame_body("<p>${a}</p>${a|raw}<script>f('${a}')</script>", {"a": "<b>"})
    "<p>&lt;b&gt;</p><b><script>f('\\\\u003cb\\\\u003e')</script>"
    """

    def write(part: str, writer: Writer) -> str:
        def place(match: re.Match[str]) -> str:
            name, is_raw = name_of(match)
            value = values.get(name, match[0])
            return value if is_raw or name not in values else writer(value)

        return PLACEHOLDER.sub(place, part)

    def tag(text: str) -> str:
        parts, done = [], 0
        for match in _ATTRIBUTE.finditer(text):
            begin, end = match.span(2)
            parts += [write(text[done:begin], _bare), write(match[2], _writer(match[1].lower(), match[2]))]
            done = end
        return "".join([*parts, write(text[done:], _bare)])

    parts, done = [], 0
    for token in _TOKEN.finditer(html):
        parts.append(write(html[done : token.start()], escape))
        if token["script"]:
            code = escape if _is_markup(token["script"]) else _code
            parts += [tag(token["script"]), write(token["code"], code)]
        else:
            parts.append(tag(token["tag"]) if token["tag"] else write(token[0], escape))
        done = token.end()
    return "".join([*parts, write(html[done:], escape)])


def _is_markup(script: str) -> bool:
    types = (match[2].lower() for match in _ATTRIBUTE.finditer(script) if match[1].lower() == "type")
    return any(word in kind for kind in types for word in _MARKUP)


def _writer(name: str, value: str) -> Writer:
    """The writer of values into an attribute. `value` is its text in the template, with its quotes."""
    encode = escape if value[0] in "\"'" else _bare
    literal = PLACEHOLDER.sub("", value).strip("\"' \t\n").lower()
    if name.startswith("on") or (name in _ADDRESSES and literal.startswith("javascript:")):
        return _code
    if name == "srcdoc":  # a document whose text is read twice
        return lambda text: encode(escape(text))
    if name in _ADDRESSES and value.lstrip("\"' \t\n").startswith("${"):
        return lambda text: encode(_address(text))
    return encode


def _bare(text: str) -> str:
    """Text for a place without quotes: nothing in it ends a value or begins another attribute."""
    return re.sub(r"[^A-Za-z0-9]", lambda match: f"&#{ord(match[0])};", text)


def _code(text: str) -> str:
    """Text for a string of JavaScript or JSON, in any quotes. A number stays one, if the place has no quotes."""
    units = text.encode("utf-16-be", "replace")
    codes = (int.from_bytes(units[n : n + 2]) for n in range(0, len(units), 2))
    return "".join(
        chr(code) if code < 128 and (chr(code).isalnum() or chr(code) in "_.-") else f"\\u{code:04x}"
        for code in codes
    )


def _address(text: str) -> str:
    """An address; a script becomes a place in the page."""
    start = re.sub(r"[\0-\x20]", "", text).lower()
    has_scheme = re.match(r"[a-z0-9+.-]*:", start) is not None
    is_safe = not start.startswith("javascript") and (not has_scheme or start.startswith(_SCHEMES))
    return text if is_safe else f"#{text}"
