r"""Finds the formulas of a post as the site's own renderer does, and marks them with numbers.

The rules are those of MathJax 2.7 (tex2jax) as Stack Exchange sets it up:

- The text of HTML is searched, but not that of `SKIPPED` elements and of elements with a class of `SKIPPED_CLASSES`.
- Formulas are in `$...$` or `\\(...\\)` inline, in `$$...$$` or `\\[...\\]` displayed, or in a bare
  `\begin{x}...\end{x}` of any name. An escaped dollar, `\$`, is text.
- A closing delimiter counts where braces are balanced; if there is no such place, the first one counts. After an
  opening delimiter without a closing one, the text up to the next tag contains no formula.
- A formula crosses no tag except `<br>`, which is a line end in it.
- Since 2019 the site marks formulas: `<span class="math-container">`. The content is a formula, with or without
  delimiters. A marked formula gets a new number.

LaTeX is text. Its characters are unescaped once as HTML, and once more, because some editors wrote `&amp;lt;`.
Nothing here recurses, and the time is proportional to the length of the text.
"""

import re
from dataclasses import dataclass, field
from html import escape
from typing import Final, NamedTuple

from assay.html import latex
from assay.html.tidy import TAG

SKIPPED: Final = frozenset(
    {"pre", "code", "script", "style", "textarea", "noscript", "annotation", "annotation-xml"}
)
SKIPPED_CLASSES: Final = frozenset({"tex2jax_ignore", "dno"})
_RAW: Final = frozenset({"script", "style", "textarea", "noscript"})  # tags in them are text
_VOID: Final = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()  # noqa: SIM905
)
_CLASS = re.compile(r"""(?<![^\s"'/])class\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"']++))""", re.IGNORECASE)
_START = re.compile(r"\$\$?|\\\\[(\[]|\\begin\{([A-Za-z]{1,30}\*?)\}|(?<!\\)(\\++)\$")
_MARKS = re.compile("[\ufdd0-\ufdef]")  # characters that no text contains; the search gives them a meaning


class Marked(NamedTuple):
    """A field with its formulas marked: `<span class="math-container" id="7">x^2</span>`.

    `latex` has the LaTeX of each formula, in the order of position, without delimiters.
    """

    html: str
    latex: tuple[str, ...]


def mark(html: str, *, first_id: int | None, prefix: str = "", has_delimiters: bool = False) -> Marked:
    r"""Find the formulas of a field, and mark each with an id.

    Everything else in the HTML stays as it is, except that a `<` that begins no tag becomes `&lt;` in a text with
    formulas. A title or a comment is text, not HTML: escape it first.

    Args:
        html: a body, or escaped text.
        first_id: the number of the first formula; None for marks without ids.
        prefix: what is written before the number, such as `q_` for topics.
        has_delimiters: keep the delimiters in the marks, as published topics have them.

    >>> mark(r"If $x &lt; 2$ costs \$5", first_id=7)
    Marked(html='If <span class="math-container" id="7">x &lt; 2</span> costs \\$5', latex=('x < 2',))
    """
    if "$" not in html and "\\" not in html and "math-container" not in html:
        return Marked(html, ())
    writer = _Writer(first_id, prefix, has_delimiters)
    marked = _Reader(_MARKS.sub("", html), writer).run()
    return Marked(marked if writer.latex else html, tuple(writer.latex))


@dataclass(slots=True)
class _Writer:
    """Writes marks, and collects the LaTeX of the formulas."""

    first_id: int | None
    prefix: str
    has_delimiters: bool
    latex: list[str] = field(default_factory=list)

    def mark(self, formula: str, start: str, end: str) -> str:
        number = "" if self.first_id is None else f' id="{self.prefix}{self.first_id + len(self.latex)}"'
        self.latex.append(formula)
        shown = f"{start}{formula}{end}" if self.has_delimiters else formula
        return f'<span class="math-container"{number}>{escape(shown, quote=False)}</span>'

    def text(self, text: str) -> str:
        """Text between two tags, with `<br>`, in which the formulas are marked."""
        if "$" not in text and "\\" not in text:
            return text
        out: list[str] = []
        position = 0
        while match := _START.search(text, position):
            written, end = self.formula(text, match)
            out += (text[position : match.start()], written)
            position = end
        out.append(text[position:])
        return "".join(out)

    def formula(self, text: str, match: re.Match[str]) -> tuple[str, int]:
        """The replacement of an opening delimiter with its formula, and the place where that ends in the text."""
        if match[2]:  # an even number of backslashes escapes each other, and not the dollar
            dollar = match.end() if len(match[2]) % 2 else match.end() - 1
            return text[match.start() : dollar], dollar
        at, end = match.end(), latex.closing(match[0])
        stop, searched = latex.find_end(text, at, match[0])
        if stop < 0:
            return text[match.start() : searched], searched
        after = stop + len(end)
        source = text[match.start() : after] if match[1] else text[at:stop]
        if not source.strip():
            return text[match.start() : after], after
        formula = latex.delimited(source, match[0], []).latex
        return self.mark(formula, *(("", "") if match[1] else (match[0], end))), after

    def span(self, attributes: str, source: str) -> str | None:
        """The mark of a formula that the site marked; None if the span is empty."""
        formula = latex.in_span(source, attributes)
        if formula is None:
            return None
        outer = next((end for end in ("$$", "$") if latex.decode(source).strip().startswith(end)), "")
        return self.mark(formula.latex, outer, outer)


@dataclass(slots=True)
class _Reader:
    """One pass over HTML. `run_start` is where the text since the last tag (except `<br>`) begins."""

    html: str
    writer: _Writer
    out: list[str] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)  # of the text since the last tag
    has_open_span: bool = False  # a span without an end was seen: further ones are not looked for

    def run(self) -> str:
        position = 0
        while (at := self.html.find("<", position)) >= 0:
            self.pieces.append(self.html[position:at])
            position = self.markup(at)
        self.pieces.append(self.html[position:])
        self.end_text("")
        return "".join(self.out)

    def markup(self, at: int) -> int:
        """Write what begins with an angle bracket, and return where it ends."""
        if tag := TAG.match(self.html, at):
            return self.tag(tag) if tag[4] else self.no_tag(at, len(self.html))
        if self.html.startswith("<!--", at):
            return self.wall(at, self.after("-->", at + 2))
        if self.html.startswith(("<!", "<?", "</"), at):
            return self.wall(at, self.after(">", at + 2))
        return self.no_tag(at, at + 1)

    def no_tag(self, at: int, end: int) -> int:
        self.pieces.append(self.html[at:end].replace("<", "&lt;"))
        return end

    def after(self, end: str, position: int) -> int:
        at = self.html.find(end, position)
        return at + len(end) if at >= 0 else len(self.html)

    def wall(self, at: int, end: int) -> int:
        """Write a part of the HTML as it is; no formula crosses it."""
        self.end_text(self.html[at:end])
        return end

    def end_text(self, after: str) -> None:
        if self.pieces:
            self.out.append(self.writer.text("".join(self.pieces)))
            self.pieces.clear()
        self.out.append(after)

    def tag(self, tag: re.Match[str]) -> int:
        name, is_end = tag[2].lower(), bool(tag[1])
        if name == "br" and not is_end and not tag[3]:
            self.pieces.append(tag[0])
            return tag.end()
        if is_end or name in _VOID:
            return self.wall(tag.start(), tag.end())
        classes = self.classes(tag[3])
        if name in SKIPPED or not SKIPPED_CLASSES.isdisjoint(classes):
            return self.wall(tag.start(), self.end_of(name, tag.end())[1])
        if name == "span" and "math-container" in classes and not self.has_open_span:
            return self.span(tag)
        return self.wall(tag.start(), tag.end())

    @staticmethod
    def classes(attributes: str) -> list[str]:
        match = _CLASS.search(attributes) if "class" in attributes.lower() else None
        return (match[1] or match[2] or match[3] or "").split() if match else []

    def span(self, tag: re.Match[str]) -> int:
        end, after = self.end_of("span", tag.end())
        self.has_open_span = end < 0
        if end < 0:
            return self.wall(tag.start(), tag.end())
        self.end_text("")  # the formulas in it have lower numbers
        self.out.append(
            self.writer.span(tag[3], self.html[tag.end() : end]) or self.html[tag.start() : after]
        )
        return after

    def end_of(self, name: str, position: int) -> tuple[int, int]:
        """The ends of the content of an element and of the element; (-1, the end) if it is not closed."""
        depth = 1
        for tag in re.compile(rf"<(/?){re.escape(name)}(?=[\s/>])[^<>]*+>", re.IGNORECASE).finditer(
            self.html, position
        ):
            depth += -1 if tag[1] else name not in _RAW
            if depth == 0:
                return tag.start(), tag.end()
        return -1, len(self.html)
