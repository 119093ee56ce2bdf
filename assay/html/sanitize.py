"""Sanitizes the HTML of a collection when it is imported, so that pages can show it as it is stored::

    clean_body(html)      the body of a post, a topic or any HTML document
    clean_comment(text)   a comment: the Markdown of Stack Exchange comments, or HTML
    clean_marked_body(html)  the body of a document whose formulas are all marked
    clean_title(text)     a title: text in which only formulas are marked up
    clean_text(text)      a document of plain text; empty lines separate paragraphs
    plain(html)           cleaned HTML as plain text on one line: for <title>, search and lists

Each function accepts any string and never raises. Formulas are written as `$...$`, `$$...$$`, `\\(...\\)`,
`\\[...\\]` or `\\begin{align}...`, or marked as `<span class="math-container" id="12">x^2</span>` with or without
dollars. The result is HTML to store; a page shows it after `assay.html.links.resolve`. The functions are pure, so an
importer may call them in several processes (threads do not help). To clean a clean body or title again changes
nothing. The same holds for a clean comment, unless it was HTML that contained Markdown.

The result contains only elements of `TAGS`, with no attributes but these::

    <span class="math-container" data-formula-id="12" data-display="inline|block">LaTeX, escaped, no dollars</span>
    <span class="dollar">$</span>               a dollar that the author escaped; never opens a formula
    <span class="image-placeholder" data-image="...">...</span>  replaces an image: its description and host as text;
                                                see `assay.html.images`
    <a data-host="..." data-post="..." data-thread="...">   a link without an address: see `assay.html.links`
    <ol start> <li value> <td|th colspan rowspan>           small numbers

The id of a formula becomes `data-formula-id`: two posts on a page may contain the same formula, but an `id` must be
unique. Headings of posts begin at the fourth level, below those of the page.

The steps: marked formulas are cut out first, because `a<b` in them is not a tag. nh3, an HTML5 parser, cleans the rest;
`assay.html.tidy` rewrites long HTML before, so that this takes time in proportion to the length.
Then delimiters are looked for as MathJax does on the page: in the text between two tags, never in `<code>` or `<pre>`.
Unlike in MathJax, two amounts of money are not a formula. A formula is inserted only between tags, escaped.
Decision: ADR 8.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from html import escape
from itertools import accumulate, islice

import nh3

from assay.html import images, latex, links
from assay.html.tidy import tidy

# fmt: off
TAGS = frozenset({
    "a", "b", "blockquote", "br", "caption", "code", "col", "colgroup", "dd", "del", "div", "dl", "dt", "em",
    "h4", "h5", "h6", "hr", "i", "ins", "kbd", "li", "ol", "p", "pre", "q", "s", "samp", "small", "span",
    "strike", "strong", "sub", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "u", "ul", "var",
})
# fmt: on
ATTRIBUTES = {
    "a": frozenset({"data-host", "data-post", "data-thread"}),
    "ol": frozenset({"start"}),
    "li": frozenset({"value"}),
    "td": frozenset({"colspan", "rowspan"}),
    "th": frozenset({"colspan", "rowspan"}),
    "span": frozenset({"class", "data-formula-id", "data-display", "data-image"}),
}

_READ_TAGS = TAGS | {"h1", "h2", "h3", "img"}
_READ_ATTRIBUTES = {
    **ATTRIBUTES,
    "a": ATTRIBUTES["a"] | {"href"},
    "img": frozenset({"src", "alt"}),
    "span": frozenset({"class", "data-image"}),
}
_CLEANER = nh3.Cleaner(
    tags=set(_READ_TAGS),
    clean_content_tags={"script", "style", "template", "noscript", "iframe", "object", "svg", "math"},
    attributes={tag: set(names) for tag, names in _READ_ATTRIBUTES.items()},
    link_rel=None,
    url_schemes={"http", "https", "ftp", "mailto", "news", "irc", "tel", "doi", "urn"},
)

_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_NUMERIC = re.compile(r"&#(?:x0*([0-9a-f]{1,6})|0*([0-9]{1,7}));?", re.IGNORECASE)
_ANY_TAG = re.compile(r"<[a-zA-Z/!?][^<>]*>")
# Above, a parser may need much more time for a character; below, it takes a few milliseconds for any HTML.
_MANY_TAGS = 300
_LONG = 20_000  # characters
# All tags but those that nh3 writes as it read them. With any other tag, a second parse may give a different result.
_UNSTEADY = re.compile(
    r"<(?!/?(?:p|em|strong|a|b|i|u|code|pre|li|ul|ol|br|hr|blockquote|h[1-6]|sup|sub|img|del|s|strike|kbd|span|div)"
    r"[\s/>])[a-z!?/]",
    re.IGNORECASE,
)
_ROUNDS = 4
_ELEMENT = (
    r"a|abbr|acronym|address|applet|area|article|aside|audio|b|base|basefont|bdi|bdo|bgsound|big|"
    r"blink|blockquote|body|br|button|canvas|caption|center|cite|code|col|colgroup|data|datalist|dd|"
    r"del|details|dfn|dialog|dir|div|dl|dt|em|embed|fieldset|figcaption|figure|font|footer|form|frame|"
    r"frameset|h1|h2|h3|h4|h5|h6|head|header|hgroup|hr|html|i|iframe|image|img|input|ins|isindex|kbd|"
    r"keygen|label|legend|li|link|listing|main|map|mark|marquee|math|menu|menuitem|meta|meter|nav|"
    r"nobr|noembed|noframes|noscript|object|ol|optgroup|option|output|p|param|picture|plaintext|pre|"
    r"progress|q|rb|rp|rt|rtc|ruby|s|samp|script|search|section|select|slot|small|source|span|strike|"
    r"strong|style|sub|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead|time|title|tr|"
    r"track|tt|u|ul|var|video|wbr|xmp"
)
_NO_TAG = re.compile(rf"<(?=/?[a-z])(?!/?(?:{_ELEMENT})[\s/>])", re.IGNORECASE)

# The search is three times as fast because all alternatives begin with one set of characters.
_TOKEN = re.compile(
    rf"""[<$\\{latex.CUT}{latex.BARE}](?:
      (?<=<)(?:
          (?P<tag>[a-z0-9]+)(?P<attributes>(?:\ [a-z-]+="[^"]*")+|(?<=img))>
        | (?P<verbatim>pre|code)>
        | (?P<close>/?)h(?P<level>[1-3])>
      )
    | (?<=[{latex.CUT}{latex.BARE}])(?P<number>\d+){latex.END}
    | (?<=\\)(?P<escaped>\$)
    | (?P<delimiter>(?<=\$)\$?|(?<=\\)(?:{latex.START}))
    )""",
    re.VERBOSE,
)
_ATTRIBUTE = re.compile(r' ([a-z-]+)="([^"]*)"')
_NUMBER = re.compile(r"-?\d{1,6}", re.ASCII)
_HOST = re.compile(r"[a-z0-9.-]{0,253}")
_POST = re.compile(r"\d{1,18}", re.ASCII)
_ALONE = re.compile(r"\s*+(?:[.,;]\s*+)?+</p>")
_CLASSES = frozenset({"dollar"})
_DOLLAR = '<span class="dollar">$</span>'
_LETTER = re.compile(r"\\.|\$(?:\\.|[^$\\])+\$|.", re.DOTALL)
_COMMENT = re.compile(r"(?<!\\)%[^\n]*(?:\n|\Z)")
_LONGEST = 10  # times the wanted length of a beginning
_SHOWN_FORMULA = re.compile(r'<span class="math-container"[^<>]*>([^<]*)</span>')
_HAS_TAGS = re.compile(rf"</(?:{'|'.join(sorted(TAGS))}|h[1-3])\s*>|<[bh]r\s*/?>", re.IGNORECASE)
_ASIDE = re.compile(f"{latex.ASIDE}(\\d+){latex.END}")


def clean_body(html: str) -> str:
    """The body of a post, a topic or a document, given as HTML."""
    html, formulas = latex.cut(_fit(html))
    return _Scan(_clean(html), formulas).run()


def clean_marked_body(html: str) -> str:
    """The body of a document in which only marked formulas are formulas: a dollar is a dollar."""
    html, formulas = latex.cut(_fit(html))
    return _Scan(_clean(html), formulas, has_delimiters=False).run()


def clean_title(text: str) -> str:
    """A title: text, not HTML, except for formulas. A page shows `<b>` in it as text."""
    text, formulas = latex.cut(_fit(text.replace(_DOLLAR, "\\$")))
    return _Scan(_escaped(text), formulas).run()


def clean_text(text: str) -> str:
    """A document of plain text, as paragraphs."""
    paragraphs = re.split(r"\n[^\S\n]*\n\s*", _fit(text).strip())
    lines = (escape(paragraph, quote=False).replace("\n", "<br>") for paragraph in paragraphs if paragraph)
    return _Scan("\n".join(f"<p>{line}</p>" for line in lines), []).run()


def clean_comment(text: str) -> str:
    """A comment in the Markdown of Stack Exchange comments; or in HTML, if it has HTML tags outside code."""
    text, formulas = latex.cut(_fit(text))
    if _HAS_TAGS.search(_CODE.sub("", text)):
        return _Scan(_clean(text), formulas).run()
    return _Markdown(formulas).run(text)


def plain(html: str) -> str:
    """Cleaned HTML as text on one line, formulas between dollars."""
    html = html.replace(_DOLLAR, "\\$")
    if "math-container" in html:  # a comment in LaTeX would hide what follows it on the line
        html = _SHOWN_FORMULA.sub(lambda formula: f"${_COMMENT.sub('', formula[1])}$", html)
    return " ".join(latex.unescaped(_ANY_TAG.sub(" " if "<p>" in html else "", html)).split())


def beginning(text: str, most: int) -> str:
    """The beginning of text that `plain` has made, in which a formula is whole and counts as one letter.

    >>> beginning("Why is $a + b$ prime?", 9)
    'Why is $a + b$ …'
    """
    letters = [match[0] for match in islice(_LETTER.finditer(text), most)]
    ends = accumulate(map(len, letters))
    start = "".join(letter for letter, end in zip(letters, ends, strict=True) if end <= _LONGEST * most)
    if len(start) == len(text):
        return text
    words, _, last = start.rpartition(" ")
    return f"{words if words and '$' not in last else start} …"


def without_controls(text: str) -> str:
    """Plain text without the characters that XML cannot contain."""
    return _UNFIT.sub("", text)


def _fit(text: str) -> str:
    """Remove characters that PostgreSQL or an HTML parser does not preserve, and those that mark cut formulas."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "&#" in text:
        text = _NUMERIC.sub(_fit_entity, text)
    return _UNFIT.sub("", text)


def _fit_entity(entity: re.Match[str]) -> str:
    code = int(entity[1], 16) if entity[1] else int(entity[2])
    if code == 13:
        return "\n"
    return "" if code > 0x10FFFF or _UNFIT.match(chr(code)) else entity[0]


def _escaped(text: str) -> str:
    return escape(latex.unescaped(text), quote=False)


def _clean(html: str) -> str:
    """The HTML that nh3 writes; to parse it again gives the same. `x<y` is not a tag and stays."""
    if len(html) > _LONG or html.count("<") > _MANY_TAGS:
        html = tidy(_NO_TAG.sub("&lt;", html), _READ_ATTRIBUTES, _READ_TAGS)
    if _UNSTEADY.search(html) is None:
        return _parsed(html)
    clean = _parsed(_NO_TAG.sub("&lt;", html))
    for _ in range(_ROUNDS):
        before, clean = clean, _parsed(clean)
        if clean == before:
            return clean
    return _parsed(_escaped(_ANY_TAG.sub(" ", clean)))


def _parsed(html: str) -> str:
    clean = _CLEANER.clean(html)
    if "&nbsp;" in clean:
        clean = clean.replace("&nbsp;", "\u00a0")
    if "<pre>\n" in clean:  # parsers drop the first line end
        clean = clean.replace("<pre>\n", "<pre>\n\n")
    return clean


@dataclass(slots=True)
class _Scan:
    """One pass over clean HTML: inserts cut formulas, finds those between delimiters, and restricts attributes."""

    html: str
    formulas: list[latex.Formula]
    write: Callable[[latex.Formula], str] = latex.Formula.html
    has_delimiters: bool = True
    verbatim_until: int = 0
    no_end_before: dict[str, int] = field(default_factory=dict)

    def run(self) -> str:
        out: list[str] = []
        position = 0
        while match := _TOKEN.search(self.html, position):
            out.append(self.html[position : match.start()])
            written, position = _HANDLERS[match.lastgroup or ""](self, match)
            out.append(written)
        if not out:
            return self.html
        out.append(self.html[position:])
        return "".join(out)

    def tag(self, match: re.Match[str]) -> tuple[str, int]:
        attributes = {name: latex.unescaped(value) for name, value in _ATTRIBUTE.findall(match["attributes"])}
        return _NARROW.get(match["tag"], _numbers)(match["tag"], attributes, self.formulas), match.end()

    def verbatim(self, match: re.Match[str]) -> tuple[str, int]:
        end = self.html.find(f"</{match['verbatim']}>", match.end())
        self.verbatim_until = max(self.verbatim_until, end)
        return match[0], match.end()

    def heading(self, match: re.Match[str]) -> tuple[str, int]:
        return f"<{match['close']}h{int(match['level']) + 3}>", match.end()

    def insert(self, match: re.Match[str]) -> tuple[str, int]:
        number = int(match["number"])
        if number >= len(self.formulas):
            return "", match.end()
        formula = self.formulas[number]
        if not formula.display:  # without dollars: alone in its paragraph, it is a block
            before = self.html[max(0, match.start() - 8) : match.start()].rstrip()
            is_alone = before.endswith("<p>") and _ALONE.match(self.html, match.end())
            formula = formula._replace(display="block" if is_alone else "inline")
        return self.write(formula), match.end()

    def escaped(self, match: re.Match[str]) -> tuple[str, int]:
        is_literal = match.start() < self.verbatim_until or not self.has_delimiters
        return (match[0] if is_literal else _DOLLAR), match.end()

    def delimited(self, match: re.Match[str]) -> tuple[str, int]:
        delimiter, start = match[0], match.end()
        nothing = delimiter, start
        is_text = not self.has_delimiters or start <= self.verbatim_until
        if is_text or start < self.no_end_before.get(delimiter, 0):
            return nothing
        is_plain = delimiter == "$" and self.write is latex.Formula.html
        if is_plain and (content := latex.plain_inline(self.html, start)):
            formula = f'<span class="math-container" data-display="inline">{content}</span>'
            return formula, start + len(content) + 1
        end, searched = latex.find_end(self.html, start, delimiter)
        if end < 0:
            self.no_end_before[delimiter] = searched
            return nothing
        closing = latex.closing(delimiter)
        if delimiter == "$" and latex.is_money(self.html, start, end):
            return nothing
        after = end + len(closing)
        content = self.html[match.start() : after] if closing.startswith("\\end") else self.html[start:end]
        if not content.strip():
            return nothing
        return self.write(latex.delimited(content, delimiter, self.formulas)), after


_HANDLERS: dict[str, Callable[[_Scan, re.Match[str]], tuple[str, int]]] = {
    "attributes": _Scan.tag,
    "verbatim": _Scan.verbatim,
    "level": _Scan.heading,
    "number": _Scan.insert,
    "escaped": _Scan.escaped,
    "delimiter": _Scan.delimited,
}

_Attributes = dict[str, str]


def _link(_tag: str, attributes: _Attributes, _formulas: list[latex.Formula]) -> str:
    if "href" in attributes:
        return links.marker(links.read(attributes["href"]))
    if not _HOST.fullmatch(attributes.get("data-host", "?")):
        return "<a>"
    post, thread = attributes.get("data-post", ""), attributes.get("data-thread", "")
    is_post = _POST.fullmatch(post) and _POST.fullmatch(thread)
    return links.marker(links.Link(attributes["data-host"], *((post, thread) if is_post else ("", ""))))


def _image(_tag: str, attributes: _Attributes, formulas: list[latex.Formula]) -> str:
    """The text that replaces an image. No request goes to its host."""
    source = attributes.get("src", "")
    words = images.described(attributes.get("alt", "").strip(), links.read(source).host)
    shown = _Scan(escape(words, quote=False), formulas).run()
    return f"{images.placeholder(images.reference_in(source))}{shown}</span>"


def _span(_tag: str, attributes: _Attributes, _formulas: list[latex.Formula]) -> str:
    name = attributes.get("class", "")
    if name == "image-placeholder":
        return images.placeholder(images.file_name(attributes.get("data-image", "")))
    return f'<span class="{name}">' if name in _CLASSES else "<span>"


def _numbers(tag: str, attributes: _Attributes, _formulas: list[latex.Formula]) -> str:
    kept = (f' {name}="{value}"' for name, value in attributes.items() if _NUMBER.fullmatch(value))
    return f"<{tag}{''.join(kept)}>"


_NARROW: dict[str, Callable[[str, _Attributes, list[latex.Formula]], str]] = {
    "a": _link,
    "img": _image,
    "span": _span,
}

_CODE = re.compile(r"(?<!`)(`++)([^`]++)\1(?!`)")
_EMPHASES = (
    (re.compile(r"(?<![\w*])\*\*(?=\S)([^*\n]+?)(?<=\S)\*\*(?![\w*])"), r"<strong>\1</strong>"),
    (re.compile(r"(?<![\w_])__(?=\S)([^_\n]+?)(?<=\S)__(?![\w_])"), r"<strong>\1</strong>"),
    (re.compile(r"(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])"), r"<em>\1</em>"),
    (re.compile(r"(?<![\w_])_(?=\S)([^_\n]+?)(?<=\S)_(?![\w_])"), r"<em>\1</em>"),
)
_IN_URL = r"(?:&amp;|[^\s()<>&\ufdd0-\ufdef]|\([^\s()<>&\ufdd0-\ufdef]*\))"
_LINK = re.compile(
    rf"""\[(?P<text>[^\[\]\n]{{1,500}})\]\(\s*(?P<href>(?:https?:)?//{_IN_URL}+)(?:\s+"[^"\n]*")?\s*\)
        | (?<![\w/])(?P<bare>https?://{_IN_URL}+(?<![.,;:!?'"]))""",
    re.VERBOSE,
)


class _Markdown:
    """Converts the Markdown of a comment: code, links, emphasis. Marks replace finished HTML until the end."""

    def __init__(self, formulas: list[latex.Formula]) -> None:
        self.formulas = formulas
        self.finished: list[str] = []

    def run(self, text: str) -> str:
        pieces = _CODE.split(text)  # text, ticks, code, text, ticks, code, ..., text
        pieces[::3] = [_escaped(piece) for piece in pieces[::3]]
        pieces[2::3] = [self.code(piece) for piece in pieces[2::3]]
        pieces[1::3] = [""] * len(pieces[1::3])
        html = _Scan("".join(pieces), self.formulas, self.formula).run()
        html = _LINK.sub(self.link, html.replace(_DOLLAR, self.set_aside(_DOLLAR)))
        for emphasis, replacement in _EMPHASES:
            html = emphasis.sub(partial(self.emphasize, replacement), html)
        return _ASIDE.sub(lambda match: self.finished[int(match[1])], html)

    def emphasize(self, replacement: str, match: re.Match[str]) -> str:
        """Replace the marks, unless the text between them has one end of a strong text only."""
        is_nested = match[0].count("<strong>") == match[0].count("</strong>")
        return match.expand(replacement) if is_nested else match[0]

    def set_aside(self, html: str) -> str:
        self.finished.append(html)
        return f"{latex.ASIDE}{len(self.finished) - 1}{latex.END}"

    def formula(self, formula: latex.Formula) -> str:
        return self.set_aside(formula.html())

    def code(self, code: str) -> str:
        return self.set_aside(_Scan(f"<code>{escape(code, quote=False)}</code>", self.formulas).run())

    def link(self, match: re.Match[str]) -> str:
        start = self.set_aside(links.marker(links.read(latex.unescaped(match["href"] or match["bare"]))))
        return f"{start}{match['text'] or self.set_aside(match['bare'])}</a>"
