"""Describes formula indexes: their columns, the representation of their formulas, and where their rows begin::

    v1   id post_id thread_id type formula
    v2   id post_id thread_id type visual_id formula
    v3   id post_id thread_id type comment_id old_visual_id visual_id issue formula

Tabs separate the columns. `type` is title, question, answer or comment. The formula is LaTeX, Presentation MathML
(SLT) or Content MathML (OPT). The index of the topics' own formulas has `topic_id` instead of `post_id`, and may have
the type `body` for `question`. The column of formulas may have the name of their representation: `latex`, `slt`, `opt`.
"""

import re
from collections import Counter
from typing import Literal, NamedTuple, cast, get_args

from assay.formats.documents.batch import MAX_TEXT, Unusable
from assay.formulas import PLACE_ALIASES, PLACES

Representation = Literal["latex", "slt", "opt"]
REPRESENTATIONS: tuple[Representation, ...] = get_args(Representation)
IN_WORDS = {"latex": "LaTeX", "slt": "Presentation MathML", "opt": "Content MathML"}
HEADERS = {
    1: ("id", "post_id", "thread_id", "type", "formula"),
    2: ("id", "post_id", "thread_id", "type", "visual_id", "formula"),
    3: (
        *("id", "post_id", "thread_id", "type"),
        *("comment_id", "old_visual_id", "visual_id", "issue", "formula"),
    ),
}
WIDTHS = {len(header): version for version, header in HEADERS.items()}
_ALIASES = {"formula_id": "id", "topic_id": "post_id", "latex": "formula", "slt": "formula", "opt": "formula"}
_FORM = re.compile(r"formulas-(latex|slt|opt)-v([123])(-topics)?")
LONGEST = 2 * MAX_TEXT + 10_000  # bytes of a usable row: all its quotation marks are doubled
_TYPES = "|".join((*PLACES, *PLACE_ALIASES)).encode()
ROW = re.compile(rb'(?:"?[^\t\n"]{0,2000}+"?\t){3}"?(?:%b)"?\t' % _TYPES)
_PRESENTATION = re.compile(rb"<(?:\w+:)?(?:mi|mo|mn|mrow|mtext|msub|msup|mfrac|mtable|msqrt|mstyle)\b")
_CONTENT = re.compile(rb"<(?:\w+:)?(?:apply|ci|cn|csymbol|cerror)\b")


class Index(NamedTuple):
    representation: Representation
    version: int
    is_of_topics: bool = False

    @property
    def form(self) -> str:
        """Its name as a form of file, such as `formulas-latex-v2`."""
        return f"formulas-{self.representation}-v{self.version}{'-topics' * self.is_of_topics}"

    def __str__(self) -> str:
        of_topics = " of topics" if self.is_of_topics else ""
        return f"index of formulas{of_topics} in {IN_WORDS[self.representation]}, {len(self.header)} columns"

    @property
    def header(self) -> tuple[str, ...]:
        return HEADERS[self.version]

    @classmethod
    def of(cls, form: str) -> "Index | None":
        """The kind of index with this form; None for another form."""
        match = _FORM.fullmatch(form)
        return cls(cast("Representation", match[1]), int(match[2]), bool(match[3])) if match else None


FORMS = tuple(  # in the order of import: LaTeX first, so that rows of later files that repeat it are counted
    Index(representation, version, is_of_topics).form
    for representation in REPRESENTATIONS
    for version in HEADERS
    for is_of_topics in (False, True)
)


def recognized(text: bytes, name: str) -> tuple[Index, int] | None:
    """The kind of formula index that a text is, and the byte after its header; None if it is not one.

    Raises `Unusable` if the header has columns that no formula index has.
    """
    first, _, rest = text.partition(b"\n")
    words = [word.strip(b'"').lower().decode(errors="replace") for word in first.strip().split(b"\t")]
    if len(words) > 1 and words[0] in {"id", "formula_id"}:
        plain = tuple(_ALIASES.get(word, word) for word in words)
        version = next((version for version, header in HEADERS.items() if plain == header), None)
        if version is None:
            accepted = "; ".join(" ".join(header) for header in HEADERS.values())
            raise Unusable(f"the columns are {' '.join(words)[:200]}; a formula index has {accepted}")
        named = words[-1] in REPRESENTATIONS
        representation = cast("Representation", words[-1]) if named else _representation(rest, name)
        index = Index(representation, version, "topic_id" in words)
        return index, min(len(first) + 1, len(text))
    if not ROW.match(text):
        return None
    # Without a header, the version is that of most of the first rows.
    rows = [line for line in text.split(b"\n")[:50] if ROW.match(line)]
    (width, _), *_ = Counter(line.count(b"\t") + 1 for line in rows).most_common(1)
    return (Index(_representation(text, name), WIDTHS[width]), 0) if width in WIDTHS else None


def _representation(text: bytes, name: str) -> Representation:
    """The representation, detected from the formulas; where they are ambiguous, from the file name."""
    if _PRESENTATION.search(text):
        return "slt"
    if _CONTENT.search(text):
        return "opt"
    if b"<math" in text:
        return "opt" if "opt" in name.lower() else "slt"
    return "latex"


def cut(buffer: bytes) -> int:
    """Return where the last complete or incomplete row of a buffer begins; 0 if no row begins after its first byte.

    If no row begins in more bytes than a row may have, there are only unusable lines: the last of them begins there.
    """
    at = len(buffer)
    while (at := buffer.rfind(b"\n", 0, at)) >= 0:
        if ROW.match(buffer, at + 1):
            return at + 1
    return buffer.rfind(b"\n") + 1 if len(buffer) > LONGEST else 0
