"""Texts in Markdown, such as guidelines, as HTML: CommonMark with tables, LaTeX between dollars, and worked examples.

    ::: example A.12 1234 high
    Why this document has this grade.
    :::

is a worked example: a topic, a document and a choice of the track, with an explanation in Markdown. HTML in the text is
shown as text. Links open in a new tab. The result contains only elements of `TAGS`.
"""

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

from assay.errors import Refused

EXAMPLE = re.compile(r"example\s+(\S+)\s+(\S+)\s+(\S+)\s*")
BEGINS_EXAMPLE = re.compile(r"example(\s|\Z)")
FIRST_HEADING = 2  # `#` becomes a heading of this level, below the heading of the page
# fmt: off
TAGS = {
    "a", "blockquote", "br", "code", "div", "em", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s",
    "section", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}
# fmt: on
ATTRIBUTES = {
    "a": {"href", "target", "title"},
    "div": {"class", "data-example"},
    "ol": {"start"},
    "section": {"class"},
    "span": {"class", "data-display"},
}


class Example(NamedTuple):
    """A worked example as it is written, with the number of its line."""

    line: int
    topic: str
    docno: str
    choice: str


class Text(NamedTuple):
    """A parsed text: its worked examples, and the lines that begin one and cannot be read."""

    tokens: list[Token]
    examples: list[Example]
    unreadable: list[int]


class Rendered(NamedTuple):
    """The HTML of a text, and what is wrong with its worked examples."""

    html: str
    problems: Sequence[str] = ()


class TextChanged(Refused):
    """Somebody else stored another text after the page was opened: the one with the number `revision`."""

    def __init__(self, message: str, *, revision: int, code: str, title: str) -> None:
        super().__init__(message, code=code, title=title)
        self.revision = revision


def _container(_: object, tokens: Sequence[Token], index: int, __: object, ___: object) -> str:
    token = tokens[index]
    if token.nesting == -1:
        return "</section>\n"
    number = token.meta.get("example")
    place = "" if number is None else f'<div data-example="{number}"></div>'
    return f'<section class="worked-example">{place}\n'


def _math(display: str) -> Any:
    def render(_: object, tokens: Sequence[Token], index: int, __: object, ___: object) -> str:
        latex = escape(tokens[index].content.strip(), quote=False)
        formula = f'<span class="math-container" data-display="{display}">{latex}</span>'
        return f"<p>{formula}</p>\n" if tokens[index].block else formula

    return render


def _link_open(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    tokens[index].attrSet("target", "_blank")
    return str(self.renderToken(tokens, index, options, env))


def with_formulas(parser: MarkdownIt, *, has_prices: bool = False) -> MarkdownIt:
    """Let a parser read LaTeX between dollars. Among prices, only dollars next to the letters of a formula count."""
    dollarmath_plugin(
        parser,
        double_inline=True,
        allow_labels=False,
        allow_space=not has_prices,
        allow_digits=not has_prices,
    )
    parser.add_render_rule("math_inline", _math("inline"))
    parser.add_render_rule("math_inline_double", _math("block"))
    parser.add_render_rule("math_block", _math("block"))
    return parser


_PARSER = with_formulas(
    MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
)
container_plugin(
    _PARSER,
    "example",
    validate=lambda words, _: bool(BEGINS_EXAMPLE.match(words.strip())),
    render=_container,
)
_PARSER.add_render_rule("link_open", _link_open)


def parse(text: str) -> Text:
    """The tokens of a text, with its headings lowered and its worked examples numbered."""
    tokens = _PARSER.parse(text)
    examples: list[Example] = []
    unreadable: list[int] = []
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1]) + FIRST_HEADING - 1, 6)}"
        elif token.type == "container_example_open":
            line = (token.map or [0])[0] + 1
            words = EXAMPLE.fullmatch(token.info.strip())
            if words is None:
                unreadable.append(line)
                continue
            token.meta["example"] = len(examples)
            examples.append(Example(line, *words.groups()))
    return Text(tokens, examples, unreadable)


def as_html(text: Text, examples: Mapping[int, str]) -> str:
    """Sanitized HTML; `examples` has the HTML of worked examples, which is inserted as it is, by their numbers."""
    html = nh3.clean(
        _PARSER.renderer.render(text.tokens, _PARSER.options, {}),
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
    )
    place = re.compile(r'<div data-example="(\d+)"></div>')
    return place.sub(lambda match: examples.get(int(match[1]), ""), html)


def after_first_paragraph(html: str) -> tuple[str, str]:
    """The first paragraph of a rendered text, and the rest; the first is empty if the text begins otherwise."""
    first, end, rest = html.partition("</p>")
    return (first + end, rest) if end and first.startswith("<p>") else ("", html)


def plain_html(text: str) -> str:
    """Sanitized HTML of a text that has no worked examples."""
    return as_html(parse(text), {})
