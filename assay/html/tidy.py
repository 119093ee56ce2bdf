"""Rewrites long HTML so that a parser needs time in proportion to its length.

An HTML5 parser compares each attribute with all others of its tag, searches all open elements at many tags, repeats
open formatting in every paragraph, and moves what is misplaced in a table in front of it. So the time for hostile HTML
grows with the square of its length, or faster. `tidy` reads the HTML once and writes tags of its own: each has only
attributes that are kept, every element is closed, none is nested deeper than `MAX_DEPTH`, and a table contains only
rows and cells. Whatever the HTML was, the parser then sees nothing else.

For well-formed HTML nothing changes except that comments, unknown tags and other attributes are missing, which the
sanitizer removes as well. For other HTML the result may differ in details from that of a browser.
"""

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

MAX_DEPTH = 100

_ATTRIBUTE = r"""([^\s/>][^\s/>=]*+)(?>(?:\s*+=\s*+(?>(?:"([^"]*+)"|'([^']*+)'|([^\s>"'][^\s>]*+))?))?)"""
_ATTRIBUTES = re.compile(_ATTRIBUTE)
TAG = re.compile(
    rf"<(/?)([a-z][a-z0-9]*+)(?=[\s/>])((?>(?:[\s/]*+{re.sub('[(](?![?])', '(?:', _ATTRIBUTE)})*))[\s/]*+(>?)",
    re.IGNORECASE,
)
_VOID = frozenset({"br", "col", "hr", "img"})
_FOREIGN = frozenset({"svg", "math"})
_TEXTLESS = _FOREIGN | {"script", "style", "template", "noscript", "iframe", "object"}
# Elements that end an open paragraph; those that are not kept are there for this only.
# fmt: off
_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "center", "details", "dd", "dir", "div", "dl", "dt", "fieldset",
    "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main",
    "menu", "nav", "ol", "p", "pre", "section", "summary", "table", "ul",
})
# fmt: on
_CELLS = frozenset({"td", "th", "caption"})
_ROW_GROUPS = frozenset({"thead", "tbody", "tfoot"})
_TABLE_PARTS = _CELLS | _ROW_GROUPS | {"tr", "colgroup", "col"}
_FRAMES = _ROW_GROUPS | {"table", "tr", "colgroup"}  # they contain parts of a table, and no text
# The start of an element ends open elements with these names, up to an element that contains it.
_ENDED = {
    "li": {"li"},
    "dt": {"dt", "dd"},
    "dd": {"dt", "dd"},
    "a": {"a"},
    "td": {"td", "th", "caption", "colgroup"},
    "th": {"td", "th", "caption", "colgroup"},
    "tr": {"tr", "caption", "colgroup"},
    "col": {"caption"},
    **dict.fromkeys((*_ROW_GROUPS, "caption", "colgroup"), _ROW_GROUPS | {"caption", "colgroup", "tr"}),
}
_CONTAINERS = {
    "li": frozenset({"ul", "ol", "table", *_CELLS}),
    "dt": frozenset({"dl", "table", *_CELLS}),
    "dd": frozenset({"dl", "table", *_CELLS}),
    **dict.fromkeys(_TABLE_PARTS, frozenset({"table"})),  # `end` looks for the name first
}
_SURROUNDED = {"col": ("colgroup",), "td": ("tr",), "th": ("tr",), "tr": ("tbody", "thead", "tfoot")}
_FRAME_WALLS = frozenset({"table"})
_CELL_WALLS = frozenset({"table", *_CELLS})


def tidy(html: str, attributes: Mapping[str, frozenset[str]], tags: frozenset[str]) -> str:
    """The HTML with the tags and attributes that are kept, closed and nested as an HTML5 parser writes them."""
    return _Tidy(html, attributes, tags).run()


@dataclass(slots=True)
class _Tidy:
    """One pass over HTML. `opened` are the names of the open elements, the innermost last."""

    html: str
    attributes: Mapping[str, frozenset[str]]
    tags: frozenset[str]
    out: list[str] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)

    def run(self) -> str:
        position = 0
        while (at := self.html.find("<", position)) >= 0:
            self.text(self.html[position:at])
            position = self.markup(at)
        self.text(self.html[position:])
        self.close(0)
        return "".join(self.out)

    def markup(self, at: int) -> int:
        """Write what begins with an angle bracket, and return where it ends."""
        if tag := TAG.match(self.html, at):
            return self.tag(tag) if tag[4] else len(self.html)  # without its end, a tag swallows the rest
        if self.html.startswith("<!--", at):
            return self._after("-->", at + 2)
        if self.html.startswith(("<!", "<?", "</"), at):
            return self._after(">", at + 2)
        self.text("&lt;")
        return at + 1

    def _after(self, end: str, position: int) -> int:
        at = self.html.find(end, position)
        return at + len(end) if at >= 0 else len(self.html)

    def tag(self, tag: re.Match[str]) -> int:
        """Write a tag, and return where it ends, with its content if that is never shown."""
        name = tag[2].lower()
        if name in _TEXTLESS and not tag[1]:
            if name in _FOREIGN and self.html[tag.end() - 2] == "/":
                return tag.end()
            end = re.compile(rf"</{name}[\s/>]", re.IGNORECASE).search(self.html, tag.end())
            return end.start() if end else len(self.html)
        if tag[1] and name not in _VOID:
            self.end(name)
        else:
            self.start(name, tag[3])
        return tag.end()

    def text(self, text: str) -> None:
        if text and not text.isspace():
            self.leave_frames()
        self.out.append(text)

    def leave_frames(self) -> None:
        """Open a cell for content that is in a table but not in a cell."""
        if self.opened and self.opened[-1] in _FRAMES:
            self.start("td", "")

    def start(self, name: str, written: str) -> None:
        if name in _BLOCKS:
            self.end_all({"p"}, _CELL_WALLS)
        if name in _ENDED:
            self.end_all(_ENDED[name], _CONTAINERS.get(name, _CELL_WALLS))
        if name in _TABLE_PARTS:
            is_here = "table" in self.opened and self.is_entered(name)
        else:
            is_here = name in self.tags
            if is_here:
                self.leave_frames()
        if not is_here or len(self.opened) >= (MAX_DEPTH - 4 if name == "table" else MAX_DEPTH):
            return
        self.out.append(f"<{name}{self._kept(name, written)}>")
        if name not in _VOID:
            self.opened.append(name)

    def is_entered(self, name: str) -> bool:
        """Open what surrounds a part of a table; whether the part may be here."""
        if name in _SURROUNDED and self.opened[-1] not in _SURROUNDED[name]:
            self.start(_SURROUNDED[name][0], "")
        return self.opened[-1] in _FRAMES

    def end(self, name: str) -> None:
        walls = _FRAME_WALLS if name in _FRAMES else _CONTAINERS.get(name, _CELL_WALLS)
        for i in range(len(self.opened) - 1, -1, -1):
            if self.opened[i] == name:
                self.close(i)
                return
            if self.opened[i] in walls:
                return

    def end_all(self, names: Set[str], walls: Set[str]) -> None:
        """Close all open elements with these names, and what is in them, up to a wall."""
        outermost = len(self.opened)
        for i in range(len(self.opened) - 1, -1, -1):
            if self.opened[i] in walls:
                break
            if self.opened[i] in names:
                outermost = i
        self.close(outermost)

    def close(self, depth: int) -> None:
        self.out += [f"</{name}>" for name in reversed(self.opened[depth:])]
        del self.opened[depth:]

    def _kept(self, name: str, written: str) -> str:
        allowed = self.attributes.get(name)
        if not allowed or not written:
            return ""
        values: dict[str, str] = {}
        for attribute in _ATTRIBUTES.finditer(written):
            key = attribute[1].lower()
            if key in allowed and key not in values:
                values[key] = attribute[2] or attribute[3] or attribute[4] or ""
        quoted = {key: value.replace('"', "&quot;").replace("<", "&lt;") for key, value in values.items()}
        return "".join(f' {key}="{value}"' for key, value in quoted.items())
