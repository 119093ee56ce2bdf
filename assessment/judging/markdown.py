"""Generated answers in Markdown, for tracks whose form of answers allows it: TREC RAG 2026."""

import re
from collections.abc import Container, Iterable, Sequence

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from assay.protocols.schema import Protocol
from tracks.markdown import ATTRIBUTES, TAGS, with_formulas

BLOCK = re.compile(
    r"#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s|\||>|```"
)  # begins a heading, item, row, quotation or code
RULE_OF_TABLE = "|:- \t"  # its signs
OPEN, CLOSE = "⸨⸩"  # around a judged sentence; emphasis can begin and end next to a punctuation mark
_NO_MARKS = {ord(OPEN): None, ord(CLOSE): None}
_PARTS = re.compile(f"(<[^<>]*>|[{OPEN}{CLOSE}])")
# Generators write formulas in these, too. CommonMark reads escaped brackets, and so do we around numbers: `\[1\]`.
INLINE_FORMULA = re.compile(r"\\\(((?:[^\\]|\\[^()])+)\\\)")
DISPLAY_FORMULA = re.compile(r"\\\[(?![\d\s,–-]+\\\])((?:[^\\]|\\[^][])+)\\\]")
# Systems are hidden and texts come from teams, so nothing leads to another site.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_PARSER.disable(["image", "link", "autolink", "reference"])
with_formulas(_PARSER, has_prices=True)


def _formula(state: StateInline, silent: bool) -> bool:
    """Read LaTeX between backslashed brackets in a line."""
    for kind, pattern in (("math_inline", INLINE_FORMULA), ("math_inline_double", DISPLAY_FORMULA)):
        if match := pattern.match(state.src, state.pos):
            if not silent:
                state.push(kind, "math", 0).content = match[1]
            state.pos = match.end()
            return True
    return False


def _formula_in_lines(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read LaTeX between brackets in lines of its own, where `- b` is not an item."""
    match = DISPLAY_FORMULA.match(state.src, state.bMarks[start] + state.tShift[start])
    if match is None or state.is_code_block(start):
        return False
    after = next((line + 1 for line in range(start, end) if state.eMarks[line] >= match.end()), None)
    if after is None or state.src[match.end() : state.eMarks[after - 1]].strip():
        return False
    if not silent:
        token = state.push("math_block", "math", 0)
        token.block = True
        token.content = state.getLines(start, after, state.blkIndent, keepLastLF=False).strip()[2:-2]
        state.line = after
    return True


_PARSER.inline.ruler.before("escape", "bracketed_formula", _formula)
_PARSER.block.ruler.before(
    "fence", "bracketed_formula", _formula_in_lines, {"alt": ["paragraph", "reference", "blockquote", "list"]}
)


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


def answer_html(
    sentences: Iterable[tuple[str, Sequence[int]]], *, first_heading: int, judged: Container[int] = ()
) -> SafeString:
    """Sanitized HTML of an answer, whose highest headings have a level of the page.

    Args:
        sentences: each with the numbers of its sources.
        judged: places of the sentences to highlight.
    """
    texts = ((text.translate(_NO_MARKS), numbers) for text, numbers in sentences)
    tokens = _PARSER.parse(
        joined((_marked(text) if n in judged else text, numbers) for n, (text, numbers) in enumerate(texts))
    )
    _lower(tokens, first_heading)
    html = _PARSER.renderer.render(tokens, _PARSER.options, {})
    return mark_safe(_highlighted(nh3.clean(html, tags=TAGS, attributes=ATTRIBUTES)))  # noqa: S308 -- sanitized


def _marked(sentence: str) -> str:
    """A sentence with marks around what is read of it: what begins a block stays in front.

    >>> _marked("- They sing."), _marked("| owl | 35 |")
    ('- ⸨They sing.⸩', '|⸨ owl | 35 ⸩|')
    """
    own = sentence.strip()
    if not own.strip(RULE_OF_TABLE):
        return own
    begins = BLOCK.match(own)
    start, end = begins.end() if begins else 0, len(own)
    if own.startswith("```") and "\n" in own:
        start, end = own.index("\n") + 1, own.rindex("\n")
    elif own.startswith("|") and own.endswith("|"):
        end -= 1
    return f"{own[:start]}{OPEN}{own[start:end]}{CLOSE}{own[end:]}"


def _highlighted(html: str) -> str:
    """HTML with an element around each text between marks."""
    shown, is_between = "", False
    for part in _PARTS.split(html):
        if part in {OPEN, CLOSE}:
            is_between = part == OPEN
        else:
            is_shown = is_between and part.strip() and not part.startswith("<")
            shown += f"<mark>{part}</mark>" if is_shown else part
    return shown


def _lower(tokens: Iterable[Token], first: int) -> None:
    """Give headings levels below those of the page. None is skipped, so `###` at the start is the first one."""
    above: list[int] = []
    for token in tokens:
        if token.type == "heading_open":
            level = int(token.tag[1])
            above = [*(each for each in above if each < level), level]
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(first + len(above) - 1, 6)}"
