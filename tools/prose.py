"""Fails on words that the project does not use: `python tools/prose.py [PATHS]`. Part of `make lint`.

It reads what a person reads: page templates, documentation, comments, docstrings, messages, names of tests, and names
in code. Each rule has a pattern, a suggestion and a reason. Without PATHS it reads every file of the checkout.

Three kinds of rules:

- *phrases* match prose only. Code, inline code in backquotes and template tags are not prose.
- *spelling* matches everywhere, in parts of names too: `formulae_of` and `Sanitiser` are found.
- *names* match identifiers in Python: variables named `found` or `one`, and house jargon.

A line that quotes a name of somebody else's format may say so in a comment: `prose: allow REASON`. A comment that
allows nothing is itself reported. Standard library only, so that it runs before anything is installed.
"""

import argparse
import ast
import functools
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
# The rules themselves and their tests quote every banned word.
EXEMPT_FILES = {Path("tools/prose.py"), Path("tests/tools/test_prose.py"), Path("package-lock.json")}
EXEMPT_FOLDERS = {"node_modules", "vendor", "migrations", "var", "htmlcov", "build", "dist", "__pycache__"}
HIDDEN_FOLDERS = {".ci", ".github"}
MASK = "\0"  # stands in for a character that is not prose


@dataclass(frozen=True)
class Phrase:
    """A rule about prose. A space in `pattern` matches any white space, a line end included."""

    name: str
    pattern: str
    suggestion: str
    reason: str
    # The rule is tried only on files that contain one of these; by default the rule's name.
    stems: tuple[str, ...] = ()

    @property
    def regex(self) -> re.Pattern[str]:
        return re.compile(self.pattern.replace(" ", r"\s+"), re.IGNORECASE)


STATE = "a thing does not stand: say what is the case"
JARGON = "house jargon: use the word that the field uses"
ARCHAIC = "archaic: write as in the Django documentation"
INVERSION = "inverted sentence: subject, verb, object"

PHRASES = (
    Phrase(
        "stand",
        r"(?<![-\w])(?:stands?|stood|standing)\b(?!-)(?! alone\b)",
        "is, are, remains, appears; 'represents' for 'stands for'",
        STATE,
        ("stand", "stood"),
    ),
    Phrase(
        "here is",
        r"\bhere (?:comes?|lies?|goes|are the|is the)\b",
        "put the subject first",
        INVERSION,
        ("here ",),
    ),
    Phrase(
        "told",
        r"\b(?:un)?told\b",
        "detected from; distinguished; reported; described; significantly different",
        "pages and files do not talk",
    ),
    Phrase(
        "tell",
        r"\b(?:tells|telling)\b|\btell (?:\w+ ){0,3}(?:apart|from)\b|\btell of\b",
        "shows, says, describes; distinguish; differ significantly",
        "pages and files do not talk",
    ),
    Phrase(
        "lot",
        r"\bby lot\b|(?<!parking\s)\blots\b(?! of\b)"
        r"|\b(?:draw|draws|drawn|the|each|its|one|same|topic's|unit's) lot\b(?! of\b)",
        "at random; random draws; chosen at random with the seed",
        "a lot is a piece of land or a share, not a random number",
    ),
    Phrase("fall by", r"\bties (?:fall|falls|go|goes)\b", "ties are broken ...", JARGON, ("ties",)),
    Phrase("nought", r"\b(?:nought|naught|aught)\b", "zero, nothing", ARCHAIC, ("ught",)),
    Phrase(
        "parted",
        r"\bparted\b|\bparts? (?:by(?! part)|columns|fields|words|paragraphs|its|them)\b",
        "separated by; separates",
        "to part is to leave",
        ("part",),
    ),
    Phrase(
        "held against",
        r"\b(?:held|holds?|holding) (?:(?:it|them|each|[\w-]+s) )?against\b|\bheld to (?:it|that|this|them|the)\b",
        "validated against; compared with; checked against",
        "to hold something against somebody is to blame them",
        ("against", "held to"),
    ),
    Phrase(
        "pass over",
        r"\b(?:passed|passing) over\b|\b(?:that|which|it|queue|reader|and) passes over\b",
        "skipped; skips",
        JARGON,
        ("over",),
    ),
    Phrase(
        "call otherwise",
        r"\bcall(?:ed|s|ing)? (?:\w+ ){0,3}otherwise\b",
        "rename; named differently",
        JARGON,
        ("otherwise",),
    ),
    Phrase(
        "otherwise",
        r"\b(?:rank|judge|judged|written|counts?|scored|named|graded?|ordered|averages?|read|done|do|decides?)"
        r" (?:\w+ ){0,1}otherwise\b(?! specified)",
        "differently; in another way",
        "as an adverb of manner it is archaic; 'otherwise' means 'if not'",
    ),
    Phrase(
        "sort of",
        r"\bsorts of\b|\bsort of (?!the\b|its\b|all\b|each\b|these\b|this\b)"
        r"|\bof (?:a|one|any|each|every|another|that|the same) sort\b"
        r"|\b(?:new|another|this|that|each|every|which) sort\b(?! order)",
        "kind of, type of",
        "to sort is to put in order",
        ("sort",),
    ),
    Phrase("door", r"\bdoors?\b", "entry point; page, command or endpoint", JARGON),
    Phrase("rival", r"\brivals?\b", "the run to compare with; the other run", JARGON),
    Phrase(
        "beside",
        r"\bbeside\b",
        "next to, with, in addition to; 'compared with' for numbers",
        "it hides whether two things are compared, listed or added",
    ),
    Phrase(
        "patient",
        r"\bpatient(?:ly)?\b|\bquickly\b|\bquick (?:reader|way|path|one|check)\b",
        "slow path, fast path; line by line; in one block",
        "code has no patience",
        ("patient", "quick"),
    ),
    Phrase(
        "whom",
        r"\b(?:whom|whomever|whoever|whosoever)\b",
        "who; the person who; everyone who",
        ARCHAIC,
        ("whom", "whoever", "whosoever"),
    ),
    Phrase(
        "has not",
        r"\b(?:has|have|had) not(?=\s*[.,;:)\]]|\s+(?:a|an|any|all|the|its|their|one|it|them)\b)",
        "does not have; is missing from; lacks",
        INVERSION,
        ("not",),
    ),
    Phrase(
        "verb not",
        r"\b(?:knows?|needs|says?|goes|sees|takes|gives|reads|counts|means) (?-i:not)\b(?! only\b)",
        "does not ...",
        INVERSION,
        (" not", "\tnot", "\nnot"),
    ),
    Phrase(
        "is no",
        r"\b(?:what|which|that|it|this) (?:is|are) no (?!longer\b|such\b|more\b|less\b|need\b)",
        "is not a ...",
        INVERSION,
        (" no ", "\nno ", " no\n"),
    ),
    Phrase(
        "go without", r"\b(?:go|goes|went|going|gone) without\b", "does not have; omits", JARGON, ("without",)
    ),
    Phrase(
        "hand in",
        r"(?<!by\s)(?<!on\s)(?<!-)\bhand(?:ed|s|ing)? (?:\w+ )?(?:in|on)\b(?! hand)",
        "submit; pass; export; download",
        "one word for each action of the product",
        ("hand",),
    ),
    Phrase("anew", r"\banew\b", "again; from scratch", ARCHAIC),
    Phrase(
        "blanks",
        r"\bblanks\b|\b(?:a|one|two|single|the) blank\b(?=\s*[.,;:)])",
        "spaces; a space",
        "a blank is an empty field",
    ),
    Phrase(
        "room",
        r"\brooms\b|\broom's\b|\b(?:one|each|every|the|another|which) room\b(?! for| of its| to)",
        "app",
        JARGON,
    ),
    Phrase(
        "a per",
        r"\b(?:units|lines|bytes|digits|characters|documents|runs|rows|judgments|seconds|grades|columns|draws|[km]B)"
        r" an? (?:topic|line|run|unit|document|chunk|day|hour|page|file|family|row|formula|second|score|grade)\b",
        "per: 'units per topic'",
        "'units a topic' reads as a mistake",
        (" a ", " an ", "\na "),
    ),
    Phrase(
        "whole",
        r"\b(?:read|reads|told|refused|built|judged|stored|checked|scored|taken|loaded|written|shown) whole\b",
        "completely; at once; in full",
        "'whole' is an adjective",
    ),
    Phrase(
        "archaic",
        r"\b(?:whilst|amongst|thereof|whereof|whereby|wherein|therein|thereby|hitherto|lest|albeit|unto|whence|thence|forthwith|betwixt)\b",
        "while, among, by which, in which, until now, so that ... not, although",
        ARCHAIC,
        (
            "whilst",
            "amongst",
            "there",
            "where",
            "hitherto",
            "lest",
            "albeit",
            "unto",
            "hence",
            "forthwith",
            "betwixt",
        ),
    ),
)

# Parts of words in British spelling, and their American spelling. Each is looked for within a word, in any case.
BRITISH = {
    "acknowledgement": "acknowledgment",
    "analys(?=e(?:d|r|rs)?$|ing$)": "analyz",
    "artefact": "artifact",
    "behaviour": "behavior",
    "cancell(?=(?:ed|ing)$)": "cancel",
    "catalogue": "catalog",
    "centre": "center",
    "cheque(?!r)": "check",
    "colour": "color",
    "defence": "defense",
    "dialogue": "dialog",
    "endeavour": "endeavor",
    "favour": "favor",
    "fibre": "fiber",
    "flavour": "flavor",
    "formulae": "formulas",
    "fuell(?=(?:ed|ing)$)": "fuel",
    "fulfil(?!l)": "fulfill",
    "grey(?!hound)": "gray",
    "harbour": "harbor",
    "honour": "honor",
    "humour": "humor",
    "judgement": "judgment",
    "labell(?=(?:ed|ing)$)": "label",
    "labour": "labor",
    "learnt": "learned",
    "licence": "license",
    "marvell(?=(?:ed|ing|ous)$)": "marvel",
    "^maths$": "math",
    "^metre": "meter",
    "modell(?=(?:ed|ing|er)$)": "model",
    "neighbour": "neighbor",
    "offence": "offense",
    "^practis(?=e|ing)": "practic",
    "^programme(?=s?$)": "program",
    "rigour": "rigor",
    "rumour": "rumor",
    "signall(?=(?:ed|ing)$)": "signal",
    "sceptic": "skeptic",
    "spelt$": "spelled",
    "spoilt$": "spoiled",
    "^theatre": "theater",
    "totall(?=(?:ed|ing)$)": "total",
    "travell(?=(?:ed|ing|er)$)": "travel",
    "vapour": "vapor",
    "vigour": "vigor",
    "(?:anal|paral|cata)lys(?=e[sd]?$|ing$)": "...lyz",
}
# -ise, -isation: British, except in words that have no -ize form.
ISE = re.compile(r"(\w{2,})is(e|ed|es|er|ers|ing|able|ation|ations)$")
WITHOUT_Z = re.compile(
    r"advert|adv|\w*(?:ra|wa|no|po|ma|w)|ar|bru|chast|circumc|clockw|compr|comprom|conc|cru|dem|desp|dev|disgu|enterpr"
    r"|exc|exerc|expert|franch|gu|imprec|improv|inc|lia|malt|merchand|parad|prec|prem|prom|repr|rev|sunr|superv|surm"
    r"|surpr|telev|treat|unprom"
)

NAMES = {
    "found": "the thing that was found: `match`, `rows`, `path`",
    "said": "the text: `message`, `answer`, `output`",
    "told": "the text or the flag: `output`, `is_reported`",
    "what": "the thing: `kind`, `subject`, `field`",
    "one": "the singular of the collection: `run`, `row`, `topic`",
}
JARGON_NAMES = {
    "beside": "compared, other, reference",
    "door": "entry_point, page, endpoint",
    "doors": "entry_points, pages, endpoints",
    "known_by": "columns_provided_by",
    "lots": "random_draws",
    "nought": "zero",
    "patient": "slow",
    "patiently": "slowly; by_line",
    "quickly": "fast",
    "is_quick": "is_fast",
    "rival": "compared, other",
    "rivals": "others, compared",
    "shown_document": "render_document",
    "tell": "report, notify",
    "told": "reported",
    "untold": "unreported",
    "whom": "recipient, user",
}


class Hit(NamedTuple):
    """A banned word: its offset in the text, or None where the path itself is meant."""

    offset: int
    text: str
    suggestion: str
    rule: str


# ---------------------------------------------------------------------------------------------------------------
# Masks: the text of a file with the same length and lines, in which only prose is left.


def _blank(text: str) -> str:
    return re.sub(r"\S", MASK, text)


def _spaces(text: str) -> str:
    return re.sub(r"\S", " ", text)


def _blank_matches(pattern: str, text: str, flags: int = re.DOTALL) -> str:
    return re.sub(pattern, lambda match: _blank(match.group()), text, flags=flags)


def _without_code(text: str) -> str:
    """Text of a comment or docstring without inline code and addresses."""
    text = _blank_matches(r"(`+)[^`\n]+\1", text)
    return _blank_matches(r"https?://[^\s)>\"']+", text)


def _string(token: str, *, is_docstring: bool, has_fields: bool) -> str:
    """A string literal as prose. One that is a single word is a name or a value, not prose."""
    prefix = re.match(r"[A-Za-z]*(?:\"\"\"|'''|\"|')", token)
    opening = prefix.end() if prefix else 0
    closing = opening - len(re.match(r"[A-Za-z]*", token).group())  # type: ignore[union-attr]
    body = token[opening : len(token) - closing] if closing else token
    if "b" in token[:opening].lower().rstrip("\"'") or not (is_docstring or re.search(r"\s", body.strip())):
        return _blank(token)
    body = re.sub(r"\\[ntr]", "  ", body)
    if has_fields or "f" in token[:opening].lower().rstrip("\"'"):
        body = _blank_matches(r"\{[^{}]*\}", body)
    return " " * opening + _without_code(body) + " " * closing


class Token(NamedTuple):
    start: int
    end: int
    kind: int
    text: str
    is_docstring: bool


_IGNORED = {tokenize.NL, tokenize.COMMENT, tokenize.ENCODING}
_LINE_STARTS = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
_FSTRING_MIDDLE = getattr(tokenize, "FSTRING_MIDDLE", -1)
_FSTRING_ENDS = {getattr(tokenize, name, -1) for name in ("FSTRING_START", "FSTRING_END")}


@functools.lru_cache(maxsize=1)
def _tokens(text: str) -> list[Token]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tokens, before = [], tokenize.NEWLINE
    for kind, word, (row, column), (end_row, end_column), _ in tokenize.generate_tokens(
        io.StringIO(text).readline
    ):
        start, end = starts[row - 1] + column, starts[min(end_row, len(starts)) - 1] + end_column
        tokens.append(Token(start, end, kind, word, kind == tokenize.STRING and before in _LINE_STARTS))
        before = before if kind in _IGNORED else kind
    return tokens


def mask_python(text: str, *, has_messages: bool = True) -> str:
    """Comments, docstrings, names of tests and, where `has_messages`, string literals."""
    parts, position, name_before = [], 0, ""
    for token in _tokens(text):
        kept = _prose_of(text[token.start : token.end], token, name_before, has_messages=has_messages)
        name_before = token.text if token.kind == tokenize.NAME else ""
        if kept is not None:
            parts += [_blank(text[position : token.start]), kept]
            position = token.end
    return "".join([*parts, _blank(text[position:])])


def _prose_of(source: str, token: Token, before: str, *, has_messages: bool) -> str | None:
    if token.kind == tokenize.COMMENT:
        return " " + _without_code(source[1:])
    if token.kind == tokenize.STRING and (token.is_docstring or has_messages):
        return _string(source, is_docstring=token.is_docstring, has_fields=False)
    if token.kind == _FSTRING_MIDDLE and has_messages:
        return _without_code(re.sub(r"\\[ntr]", "  ", source))
    if token.kind in _FSTRING_ENDS:
        return _spaces(source)
    if token.kind == tokenize.NAME and before == "def" and source.startswith("test_"):
        return source.replace("_", " ")
    return None


def mask_html(text: str) -> str:
    """Text, comments and the attributes that people read of a Django template."""
    text = re.sub(r"\{#.*?#\}", lambda m: "  " + m.group()[2:-2] + "  ", text)
    text = re.sub(r"\{%.*?%\}|\{\{.*?\}\}", _template_tag, text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", lambda m: "    " + m.group()[4:-3] + "   ", text, flags=re.DOTALL)
    text = _blank_matches(r"<(code|pre|kbd|script|style|svg)\b.*?</\1>", text)
    return re.sub(r"</?[A-Za-z](?:[^<>\"']|\"[^\"]*\"|'[^']*')*>", _html_tag, text)


def _template_tag(match: re.Match[str]) -> str:
    parts = re.split(r"(\"[^\"]*\"|'[^']*')", match.group())
    return "".join(
        f"{MASK}{part[1:-1]}{MASK}"
        if part[:1] in "\"'" and " " in part.strip("\"'").strip()
        else _blank(part)
        for part in parts
        if part
    )


_INLINE = re.compile(r"</?(?:a|b|em|i|small|span|strong|abbr|mark)\b")
_READ_ATTRIBUTES = re.compile(
    r"\b(?:title|alt|placeholder|content|label|value|aria-label|aria-description)=\Z"
)


def _html_tag(match: re.Match[str]) -> str:
    parts = re.split(r"(\"[^\"]*\"|'[^']*')", match.group())
    blank = _spaces if _INLINE.match(match.group()) else _blank
    kept = []
    for before, part in zip(["", *parts], parts, strict=False):
        is_read = bool(part[:1] in ('"', "'") and _READ_ATTRIBUTES.search(before))
        kept.append(f"{MASK}{part[1:-1]}{MASK}" if is_read else blank(part))
    return "".join(kept)


def mask_markdown(text: str) -> str:
    """Markdown without code, link targets and addresses."""
    text = _blank_matches(r"^( *)(```+|~~~+).*?^\1\2[^\n]*$", text, re.DOTALL | re.MULTILINE)
    text = _without_indented_code(text)
    text = _blank_matches(r"\]\([^)\n]*\)", text)
    return _without_code(text).replace("*", " ")


def _without_indented_code(text: str) -> str:
    lines, in_code, in_list, after_blank = [], False, False, True
    for line in text.splitlines(keepends=True):
        is_indented = line.startswith("    ")
        in_code = bool(line.strip()) and is_indented and not in_list and (after_blank or in_code)
        if line.strip() and not is_indented:
            in_list = bool(re.match(r" {0,3}(?:[-*+]|\d+\.|!!!|\?\?\?|===) ", line))
        after_blank = not line.strip()
        lines.append(_blank(line) if in_code else line)
    return "".join(lines)


def _mask_by_lexer(pattern: str) -> Callable[[str], str]:
    """Keep what a pattern matches: comments, and strings of several words."""
    lexer = re.compile(pattern, re.DOTALL | re.MULTILINE)

    def mask(text: str) -> str:
        parts, position = [], 0
        for match in lexer.finditer(text):
            parts += [_blank(text[position : match.start()]), _lexeme(match.group())]
            position = match.end()
        return "".join([*parts, _blank(text[position:])])

    return mask


def _lexeme(source: str) -> str:
    if source[0] in "\"'`":
        body = re.sub(r"\\[ntr]", "  ", source.strip("\"'`"))
        if not re.search(r"\s", body.strip()):
            return _blank(source)
        body = _blank_matches(r"\$\{[^{}]*\}", body)
        quotes = (len(source) - len(body)) // 2
        return " " * quotes + body + " " * (len(source) - len(body) - quotes)
    opening = re.match(r"#+|//+|/\*+|<!--", source)
    length = opening.end() if opening else 0
    return " " * length + re.sub(r"(?m)^(\s*)\*", r"\1 ", _without_code(source[length:]))


_QUOTED = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
MASKS: dict[str, Callable[[str], str]] = {
    ".py": mask_python,
    ".html": mask_html,
    ".md": mask_markdown,
    ".js": _mask_by_lexer(rf"//[^\n]*|/\*.*?\*/|{_QUOTED}|`(?:[^`\\]|\\.)*`"),
    ".css": _mask_by_lexer(r"/\*.*?\*/"),
    ".toml": _mask_by_lexer(rf"\"\"\".*?\"\"\"|#[^\n]*|{_QUOTED}"),
    ".yml": _mask_by_lexer(r"(?:^|(?<=\s))#[^\n]*"),
    ".yaml": _mask_by_lexer(r"(?:^|(?<=\s))#[^\n]*"),
    ".cff": _mask_by_lexer(r"(?:^|(?<=\s))#[^\n]*"),
    ".sh": _mask_by_lexer(r"(?:^|(?<=\s))#[^\n]*"),
    ".example": _mask_by_lexer(r"(?:^|(?<=\s))#[^\n]*"),
    ".json": _mask_by_lexer(_QUOTED),
    ".txt": lambda text: text,
}
NAMED = {"Makefile": ".sh", "Dockerfile": ".sh", "run": ".sh"}


# ---------------------------------------------------------------------------------------------------------------
# Rules on a text


_ROUGH = str.maketrans("#_*\"'", "     ")


def may_have_phrases(text: str) -> bool:
    """Whether a text may break a rule about prose. Most files do not, and need not be taken apart."""
    return next(phrases(text.translate(_ROUGH)), None) is not None


def phrases(masked: str) -> Iterator[Hit]:
    """Banned phrases in prose."""
    lowered = masked.lower()
    for rule, regex in _COMPILED:
        if any(stem in lowered for stem in rule.stems or (rule.name,)):
            for match in regex.finditer(masked):
                yield Hit(match.start(), " ".join(match.group().split()), rule.suggestion, rule.name)


_COMPILED = [(rule, rule.regex) for rule in PHRASES]
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_BRITISH = [(re.compile(pattern), american) for pattern, american in BRITISH.items()]
_KNOWN: dict[str, str] = {}


def american(word: str) -> str:
    """The American spelling of a British word, in lower case; empty if the word is spelled well."""
    word = word.lower()
    if word not in _KNOWN:
        _KNOWN[word] = _american(word)
    return _KNOWN[word]


def _american(word: str) -> str:
    for pattern, spelling in _BRITISH:
        if pattern.search(word):
            return pattern.sub(spelling, word)
    match = ISE.match(word)
    if match and not WITHOUT_Z.fullmatch(match.group(1)):
        return f"{match.group(1)}iz{match.group(2)}"
    return ""


def spelling(text: str) -> Iterator[Hit]:
    """British spellings anywhere, in parts of names too."""
    text = _blank_matches(r"https?://[^\s)>\"']+", text)
    for word in {word for word in set(_WORD.findall(text)) if american(word)}:
        for match in re.finditer(rf"(?<![A-Z]){word}(?![a-z])|(?<![A-Za-z]){word}(?![a-z])", text):
            if word[0].islower() and text[match.start() - 1 : match.start()].isalpha():
                continue
            yield Hit(match.start(), word, american(word), "spelling")


def names(text: str) -> Iterator[Hit]:
    """Identifiers of Python that are jargon, and variables with a name that says nothing."""
    if not _MAY_BE_NAMED.search(text):
        return
    seen: set[str] = set()
    for token in _tokens(text):
        if token.kind == tokenize.NAME and token.text not in seen:
            seen.add(token.text)
            if jargon := _jargon(token.text):
                yield Hit(token.start, token.text, JARGON_NAMES[jargon], "jargon name")
    if seen & NAMES.keys():
        yield from _empty_names(text)


_EMPTY = "|".join(NAMES)
_MAY_BE_NAMED = re.compile(
    rf"(?m:^\s*|\b(?:for|as|lambda|import)\s+|[(,*]\s*)(?:{_EMPTY})\s*(?:[:=,)\n]|in\b|as\b)"
    rf"|(?<![A-Za-z])(?i:{'|'.join(JARGON_NAMES)})(?![a-z])"
)


def _jargon(name: str) -> str:
    """The word of house jargon in a name; tests are sentences, which the phrases cover."""
    lowered = name.lower().strip("_")
    if lowered.startswith("test_"):
        return ""
    if lowered in JARGON_NAMES:
        return lowered
    return next((word for word in lowered.split("_") if word in JARGON_NAMES), "")


def _empty_names(text: str) -> Iterator[Hit]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in ast.walk(ast.parse(text)):
        name = _bound_name(node)
        if name in NAMES:
            offset = starts[getattr(node, "lineno", 1) - 1] + getattr(node, "col_offset", 0)
            yield Hit(offset, name, NAMES[name], "empty name")


def _bound_name(node: ast.AST) -> str:
    """The variable that a node binds, if any."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.alias | ast.ExceptHandler):
        return (node.asname if isinstance(node, ast.alias) else node.name) or ""
    return ""


# ---------------------------------------------------------------------------------------------------------------
# Files


@dataclass(frozen=True)
class Finding:
    """A hit in a file."""

    path: Path
    line: int
    text: str
    suggestion: str
    rule: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}: {self.suggestion} [{self.rule}]"


_ALLOW = re.compile(r"prose: allow\b[ :]*([^\n]*)")


def check_text(text: str, path: Path) -> list[Finding]:
    """What a file that is stored at `path`, relative to the checkout, does wrong, by line."""
    suffix = NAMED.get(path.name, path.suffix)
    hits = [*spelling(text), *(names(text) if suffix == ".py" else ())]
    if may_have_phrases(text):
        hits += phrases(_mask(suffix, path)(text))
    return _findings(hits, text, path)


def _mask(suffix: str, path: Path) -> Callable[[str], str]:
    """What shows the prose of a file. Strings in tests and in the demo campaign are data."""
    if suffix == ".py" and path.parts[0] == "tests":
        return functools.partial(mask_python, has_messages=False)
    if suffix == ".toml" and "demo" in path.parts:
        return MASKS[".sh"]
    return MASKS[suffix]


def _findings(hits: Iterable[Hit], text: str, path: Path) -> list[Finding]:
    lines = text.split("\n")
    allowed = {n: match.group(1) for n, line in enumerate(lines, 1) if (match := _ALLOW.search(line))}
    findings, used = [], set()
    for hit in hits:
        line = text.count("\n", 0, hit.offset) + 1
        if line in allowed:
            used.add(line)
        else:
            findings.append(Finding(path, line, hit.text, hit.suggestion, hit.rule))
    for line, reason in allowed.items():
        if line not in used:
            findings.append(Finding(path, line, "prose: allow", "allows nothing; remove it", "allow"))
        elif not re.search(r"\w{3}", reason):
            findings.append(Finding(path, line, "prose: allow", "say why", "allow"))
    return sorted(set(findings), key=lambda finding: (finding.line, finding.text))


def check_path(path: Path) -> list[Finding]:
    """What the name of a file does wrong."""
    words = re.findall(r"[A-Za-z]+", str(path))
    wrong = {word: american(word) or JARGON_NAMES.get(word.lower(), "") for word in words}
    return [
        Finding(path, 1, word, f"rename to {better}", "file name") for word, better in wrong.items() if better
    ]


def check_file(path: Path) -> list[Finding]:
    relative = path.resolve().relative_to(ROOT) if path.resolve().is_relative_to(ROOT) else Path(path.name)
    if relative in EXEMPT_FILES:
        return []
    return check_path(relative) + check_text(path.read_text(encoding="utf-8"), relative)


def files_below(paths: Iterable[Path]) -> Iterator[Path]:
    """The files that are checked; a file that is named itself is checked wherever it is."""
    for path in paths:
        if path.is_file():
            if NAMED.get(path.name, path.suffix) in MASKS:
                yield path
            continue
        yield from _files_of(path)


def _files_of(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if path.name in HIDDEN_FOLDERS or not (path.name in EXEMPT_FOLDERS or path.name.startswith(".")):
                yield from _files_of(path)
        elif NAMED.get(path.name, path.suffix) in MASKS:
            yield path


def counts(findings: Iterable[Finding]) -> str:
    """A table: findings by rule and folder, the most frequent rule first."""
    cells = Counter((finding.rule, _folder(finding.path)) for finding in findings)
    rules = Counter[str]()
    folders = Counter[str]()
    for (rule, folder), n in cells.items():
        rules[rule] += n
        folders[folder] += n
    columns = [folder for folder, _ in folders.most_common()]
    rows = [["rule", "all", *columns], ["all", str(cells.total()), *(str(folders[name]) for name in columns)]]
    for rule, n in rules.most_common():
        rows.append([rule, str(n), *(str(cells[rule, folder] or "") for folder in columns)])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) + "\n" for row in rows
    )


def _folder(path: Path) -> str:
    return path.parts[0] if len(path.parts) > 1 else "."


def explain() -> str:
    """Every rule, with its suggestion and its reason."""
    lines = [f"{rule.name}: {rule.suggestion}\n    {rule.reason}\n" for rule in PHRASES]
    lines += [f"variable `{name}`: {better}\n" for name, better in NAMES.items()]
    lines += [f"name `{name}`: {better}\n" for name, better in JARGON_NAMES.items()]
    return "".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Find words that the project does not use.")
    parser.add_argument(
        "paths", nargs="*", type=Path, default=[ROOT], help="files and folders; by default all"
    )
    parser.add_argument("--count", action="store_true", help="totals by rule and folder")
    parser.add_argument("--rules", action="store_true", help="list the rules and stop")
    options = parser.parse_args(arguments)
    if options.rules:
        sys.stdout.write(explain())
        return 0
    findings = [finding for path in files_below(options.paths) for finding in check_file(path)]
    sys.stdout.write(counts(findings) if options.count else "".join(f"{finding}\n" for finding in findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
