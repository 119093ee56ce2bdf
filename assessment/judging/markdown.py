"""Generated answers in Markdown, for tracks whose form of answers allows it: TREC RAG 2026."""

import re
from collections.abc import Iterable, Sequence

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

from assay.protocols.schema import Protocol
from tracks.markdown import ATTRIBUTES, TAGS

BLOCK = re.compile(
    r"#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s|\||>|```"
)  # begins a heading, item, row, quotation or code
RULE_OF_TABLE = "|:- \t"  # its signs
# Systems are hidden and texts come from teams, so nothing leads to another site.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_PARSER.disable(["image", "link", "autolink", "reference"])


def is_markdown(protocol: Protocol) -> bool:
    return "rag-2026" in protocol.runs.formats


def joined(sentences: Iterable[tuple[str, Sequence[int]]]) -> str:
    """The text of sentences with the numbers of their sources; headings, items and rows begin a line.

    >>> joined([("# Owls", []), ("They sing.", [1]), ("At night.", []), ("- All.", [2, 3]), ("- None.", [])])
    '# Owls\\n\\nThey sing. [1] At night.\\n\\n- All. [2] [3]\\n- None.'
    """
    text = last = ""
    for sentence, numbers in sentences:
        marks = "".join(f" [{number}]" for number in numbers)
        own = sentence.strip()
        if own.startswith("|") and own.endswith("|"):
            shown = own if not own.strip(RULE_OF_TABLE) else f"{own[:-1].rstrip()}{marks} |"
        else:
            shown = own + marks
        text += (_between(last, own) if text else "") + shown
        last = own
    return text


def _between(last: str, own: str) -> str:
    """The separator of a part of an answer from the one before."""
    line = last.rpartition("\n")[2]
    begins, follows = BLOCK.match(own), BLOCK.match(line)
    if begins and follows and begins[0][0] == follows[0][0] and own[0] != "#":
        return "\n"
    is_closed = line.startswith(("#", "|", "```"))
    return "\n\n" if begins or is_closed else " "


def answer_html(sentences: Iterable[tuple[str, Sequence[int]]], *, first_heading: int) -> SafeString:
    """Sanitized HTML of an answer, whose `#` becomes a heading of a level."""
    tokens = _PARSER.parse(joined(sentences))
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1]) + first_heading - 1, 6)}"
    html = _PARSER.renderer.render(tokens, _PARSER.options, {})
    return mark_safe(nh3.clean(html, tags=TAGS, attributes=ATTRIBUTES))  # noqa: S308 -- sanitized
