r"""Converts articles and paragraphs in XHTML with MathML, one per file, as NTCIR's MathIR tasks have them.

The name of the file without its suffix is the docno. Formulas are the `math` elements. The id of a formula is

- the id of its `math` element, if that contains a colon or #: `Abel_equation:3`, as in the articles of Wikipedia;
- `DOCNO#ID` with any other id: `0710.3032_1_22#p1.m2`, as NTCIR's results name formulas of arXiv;
- `DOCNO:NUMBER` without an id, where NUMBER counts the `math` elements of the file from 0.

The LaTeX is the annotation of the MathML, its `alttext`, or else written from the presentation. Presentation MathML is
kept for clustering; Content MathML, and HTML in annotations, are not. Comments are left out. Dollars in the text of an
article are no delimiters of formulas.
"""

import re
from collections.abc import Sequence
from html import escape
from pathlib import PurePosixPath
from typing import NamedTuple

from assay.formats.documents.batch import MAX_NAME, REPLACED, WINDOWS_1252, Batch, Packed, Unusable, limited
from assay.formats.documents.jsonl import docno_of
from assay.formats.text import Undecodable, decoded
from assay.formulas import PLACES
from assay.formulas.from_mathml import latex_of, without_constructs
from assay.formulas.mathml import MATHML, isolated
from assay.html.latex import unescaped
from assay.html.sanitize import clean_marked_body, clean_title, plain

SUFFIXES = frozenset({".html", ".htm", ".xhtml", ".xhtml5", ".xht"})
MAX_FILE = 20_000_000  # bytes
MAX_HTML = 5_000_000  # characters of an article without its MathML
TOO_LONG = f"longer than {MAX_FILE:,} bytes"
NOT_TEXT = "neither UTF-8 nor Windows-1252, and in no encoding that it declares"
NO_FORMULA = "a formula that has neither LaTeX nor Presentation MathML that can be read"
NOT_CLOSED = "a <math> that is not closed"
BAD_ID = f"a formula whose id contains white space or is longer than {MAX_NAME} characters"
SAME_FORMULA = "a formula with the id of an earlier one of its article"

_PLACE = str(PLACES.index("document"))
_QUOTED = r"""(?>(?:[^<>"']|"[^"]*"|'[^']*')*)"""
_MATH = re.compile(
    rf"<(?:\w+:)?math(?=[\s>])(?P<attributes>{_QUOTED})>(?P<content>(?>(?:[^<]++|<(?!/?(?:\w+:)?math[\s>]))*))(?P<end></(?:\w+:)?math\s*>)?",
    re.IGNORECASE,
)
_EMPTY_TAG = re.compile(r"<(?!(?:br|hr|img|col|wbr)\b)([a-zA-Z][\w.:-]*+)((?>(?:[^<>/]|/(?!>))*))/>")
_CONTENT_ALONE = re.compile(
    r"<math\b[^<>]*+>\s*+(?:<semantics\b[^<>]*+>\s*+)?<(?:apply|bind|cbytes|cerror|ci|cn|cs|csymbol|share)\b"
)
_HIDDEN = re.compile(
    r"(?P<comment><!--)|(?P<data><!\[CDATA\[)|<(?:\w+:)?annotation-xml\b(?=[^<>]*html)[^<>]*+>", re.IGNORECASE
)
_ENDS = {
    "comment": re.compile("-->"),
    "data": re.compile(r"\]\]>"),
    None: re.compile(r"</(?:\w+:)?annotation-xml\s*>", re.IGNORECASE),
}
_TITLE = re.compile(r"<title\b[^<>]*>([^<]*+)</title", re.IGNORECASE)
_BODY = re.compile(r"<body\b[^<>]*+>", re.IGNORECASE)
_BODY_END = re.compile(r"</body\s*>", re.IGNORECASE)
_ID = re.compile(r"""(?<![\w:])(?:xml:)?id\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_ALTTEXT = re.compile(r"""(?<![\w:])alttext\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_BLOCK = re.compile(r"""(?<![\w:])(?:display\s*=\s*["']block|mode\s*=\s*["']display)""", re.IGNORECASE)
_TEX = re.compile(
    r"""<annotation\b(?=[^<>]*application/x-tex)[^<>]*+>([^<]*+)</annotation\s*>""", re.IGNORECASE
)
_PRESENTATION = re.compile(r"""<annotation-xml\b(?=[^<>]*MathML-Presentation)[^<>]*+>""", re.IGNORECASE)
_CONTENT = re.compile(r"""<annotation-xml\b(?=[^<>]*MathML-Content)[^<>]*+>""", re.IGNORECASE)
_ANNOTATION_END = re.compile(r"</annotation-xml\s*>", re.IGNORECASE)
_COMMENT = re.compile(r"%\s*\n\s*")


class ArticleFile(NamedTuple):
    """A file with its path in its folder or archive. `problem` says why there is no content."""

    name: str
    content: bytes = b""
    problem: str = ""


class Converted(NamedTuple):
    """Lines for COPY; and what was skipped, by reason: the file of each, with the line of a formula."""

    packed: Packed
    skipped: dict[str, list[str]]


class _Formula(NamedTuple):
    code: str
    latex: str
    markup: str
    display: str


def is_article(name: str) -> bool:
    """Return whether a file is imported as an article, by its name."""
    path = PurePosixPath(name)
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and "__MACOSX" not in path.parts


def convert(files: Sequence[ArticleFile]) -> Converted:
    """The articles, sanitized, and their formulas, as lines for the staging tables."""
    batch, skipped = Batch(), dict[str, list[str]]()
    for file in files:
        try:
            add_article(file, batch, skipped)
        except Unusable as fault:
            skipped.setdefault(str(fault), []).append(file.name)
    for reason, names in skipped.items():
        batch.skipped[reason] += len(names)
    return Converted(batch.pack(), skipped)


def add_article(file: ArticleFile, batch: Batch, skipped: dict[str, list[str]]) -> None:
    """Add an article and its formulas to a batch; `skipped` gets the formulas that cannot be read, by reason.

    Raises `Unusable` if the article cannot be imported.
    """
    text = decoded_file(file, batch)
    docno = docno_of(PurePosixPath(file.name).stem, "the name of the file")
    if "\x00" in text:
        text = text.replace("\x00", " ")
        batch.counts[REPLACED] += 1
    text = _without_hidden(text.replace("\r\n", "\n"))
    formulas: dict[str, _Formula] = {}
    marked = _marked(text, docno, file.name, formulas, skipped)
    start = _BODY.search(marked)
    end = _BODY_END.search(marked, start.end()) if start else None
    body = marked[start.end() if start else 0 : end.start() if end else len(marked)]
    # In HTML, an empty element such as `<div/>` would not be closed
    body = _EMPTY_TAG.sub(r"<\1\2></\1>", body)
    body = limited(clean_marked_body(limited(body, "the HTML of the article", MAX_HTML)), "the article")
    if not plain(body):
        raise Unusable("no text")
    title = _TITLE.search(text)
    heading = clean_title(limited(" ".join(unescaped(title[1]).split()), "the title") if title else "")
    values = (docno, "document", docno, heading, body, "{}", None, "", "", "", None, "", "")
    batch.add("document", docno, values, kind="documents")
    for formula in formulas.values():
        fields = (formula.code, docno, docno, "", _PLACE, "", "f", "", "", formula.latex)
        batch.add("formula", formula.code, fields, kind="formulas")
        if formula.markup:
            batch.add("formula_mathml", formula.code, (formula.code, formula.markup))


def decoded_file(file: ArticleFile, batch: Batch) -> str:
    """The text of a file with one document. The batch counts it if a line was not UTF-8.

    Raises `Unusable` if it is too long, or in no encoding that is read.
    """
    if file.problem:
        raise Unusable(file.problem)
    try:
        text = decoded(file.content)
    except Undecodable:
        raise Unusable(NOT_TEXT) from None
    batch.counts[WINDOWS_1252] += any(WINDOWS_1252 in note for note in text.notes)
    return text.text


def _without_hidden(text: str) -> str:
    """The text without comments and HTML in annotations, with CDATA as text. Its lines keep their numbers."""
    pieces, position, unclosed = [], 0, set[str | None]()
    for match in _HIDDEN.finditer(text):
        kind = match.lastgroup
        if match.start() < position or kind in unclosed:
            continue
        end = _ENDS[kind].search(text, match.end())
        if end is None:
            unclosed.add(kind)
            continue
        inside = text[match.end() : end.start()]
        pieces += [
            text[position : match.start()],
            escape(inside, quote=False) if kind == "data" else "\n" * inside.count("\n"),
        ]
        position = end.end()
    return "".join([*pieces, text[position:]])


def _marked(
    text: str, docno: str, name: str, formulas: dict[str, _Formula], skipped: dict[str, list[str]]
) -> str:
    """The text with each formula marked as posts mark it. `formulas` gets them; unusable ones are left out."""
    pieces, position = [], 0
    for number, match in enumerate(_MATH.finditer(text)):
        pieces.append(text[position : match.start()])
        position = match.end() if match["end"] else match.start("content")
        attributes, markup = match["attributes"], match[0]
        tag_id = _ID.search(attributes)
        own = unescaped(tag_id[1] or tag_id[2] or "").strip() if tag_id else ""
        if ":" not in own and "#" not in own:
            own = f"{docno}#{own}" if own else f"{docno}:{number}"
        formula = _Formula(
            code=own,
            latex=_latex(attributes, markup),
            markup=presentation_of(markup),
            display="block" if _BLOCK.search(attributes) else "inline",
        )
        problem = ""
        if not match["end"]:
            problem = NOT_CLOSED
        elif not formula.latex:
            problem = NO_FORMULA
        elif formula.code in formulas:
            problem = SAME_FORMULA
        elif any(letter.isspace() for letter in formula.code) or len(formula.code) > MAX_NAME:
            problem = BAD_ID
        if problem:
            line = text.count("\n", 0, match.start()) + 1
            skipped.setdefault(problem, []).append(f"{name}, line {line:,}")
        else:
            formulas[formula.code] = formula
            start = (
                f'<span class="math-container" id="{escape(formula.code)}" data-display="{formula.display}">'
            )
            pieces.append(f"{start}{escape(formula.latex, quote=False)}</span>")
    return "".join([*pieces, text[position:]])


def _latex(attributes: str, markup: str) -> str:
    plain_markup = isolated(markup) or ""
    tex = _TEX.search(plain_markup)
    alternative = _ALTTEXT.search(attributes)
    if tex and tex[1].strip():
        latex = unescaped(tex[1])
    elif alternative and (alternative[1] or alternative[2]):
        latex = unescaped(alternative[1] or alternative[2])
    else:
        return latex_of(plain_markup)
    return " ".join(without_constructs(_COMMENT.sub("", latex)).split())


def presentation_of(markup: str) -> str:
    """The Presentation MathML of a formula, without namespace prefixes, Content MathML and LaTeX; empty if none."""
    text = isolated(markup) or markup
    start = _PRESENTATION.search(text)
    end = start and _ANNOTATION_END.search(text, start.end())
    if start and end:
        return f'<math xmlns="{MATHML}">{text[start.end() : end.start()].strip()}</math>'
    start = _CONTENT.search(text)
    end = start and _ANNOTATION_END.search(text, start.end())
    if start and end:
        text = text[: start.start()] + text[end.end() :]
    return "" if _CONTENT_ALONE.match(text) else _TEX.sub("", text)
