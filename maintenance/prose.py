"""Fail on words that the project does not use: `python maintenance/prose.py [PATHS]`. Part of `make lint`.

The rules are in `prose.toml`; `--rules` lists them. There are three kinds:

- *Phrases* are looked for in prose only: pages, documentation, comments, docstrings, messages, names of tests. Code in
  backquotes and template tags is not prose.
- *Spellings* are looked for everywhere, in parts of names too.
- *Names* are looked for in code: house jargon, and variables such as `found` that do not say what they hold.

A line that must quote somebody else's name says so in a comment: `prose: allow REASON`. Standard library only.
"""

import argparse
import ast
import functools
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
RULES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
# These quote the words, or are generated.
EXEMPT_FILES = {
    Path("maintenance/prose.py"),
    Path("maintenance/prose.toml"),
    Path("tests/maintenance/test_prose.py"),
    Path("package-lock.json"),
}
EXEMPT_FOLDERS = {
    "node_modules",
    "vendor",
    "migrations",
    "var",
    "htmlcov",
    "build",
    "dist",
    "_build",
    "__pycache__",
}
HIDDEN_FOLDERS = {".ci", ".github"}  # of the hidden folders, those that are read


class Phrase(NamedTuple):
    name: str
    regex: re.Pattern[str]
    stems: tuple[str, ...]
    suggestion: str
    reason: str


class Hit(NamedTuple):
    """A banned word in a text."""

    offset: int
    text: str
    suggestion: str
    rule: str


class Finding(NamedTuple):
    """A banned word in a file."""

    path: Path
    line: int
    text: str
    suggestion: str
    rule: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}: {self.suggestion} [{self.rule}]"


# -- masks: a text of the same length and with the same lines, in which only prose is left --

MASK = "\0"  # replaces a character that is not prose and that no phrase may cross
CODE = r"(`+)[^`\n]+?\1|https?://[^\s)>\"']+"
ESCAPED_SPACE = re.compile(r"\\[ntr]")


def _mask(text: str) -> str:
    return re.sub(r"\S", MASK, text)


def _mask_matches(pattern: str, text: str, flags: int = 0) -> str:
    return re.sub(pattern, lambda match: _mask(match.group()), text, flags=flags)


class Token(NamedTuple):
    """A token of Python; `source` is its text in the file."""

    start: int
    end: int
    kind: int
    source: str
    is_docstring: bool
    before: str  # the source of the token before it


_LINE_STARTS = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
_NOT_CODE = {tokenize.NL, tokenize.COMMENT}
# From Python 3.12 on, an f-string is several tokens.
_FSTRING_MIDDLE = getattr(tokenize, "FSTRING_MIDDLE", -1)
_FSTRING_QUOTES = {getattr(tokenize, name, -1) for name in ("FSTRING_START", "FSTRING_END")}
_LITERAL = re.compile(r"(?P<prefix>\w*)(?P<quotes>\"\"\"|'''|\"|')(?P<body>.*)(?P=quotes)", re.DOTALL)


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts


@functools.lru_cache(maxsize=1)
def _tokens(text: str) -> list[Token]:
    starts = _line_starts(text)
    tokens, kind_before, source_before = [], tokenize.NEWLINE, ""
    for kind, _, (row, column), (end_row, end_column), _ in tokenize.generate_tokens(
        io.StringIO(text).readline
    ):
        start, end = starts[row - 1] + column, min(starts[end_row - 1] + end_column, len(text))
        is_docstring = kind == tokenize.STRING and kind_before in _LINE_STARTS
        tokens.append(Token(start, end, kind, text[start:end], is_docstring, source_before))
        if kind not in _NOT_CODE:
            kind_before, source_before = kind, text[start:end]
    return tokens


def mask_python(text: str, *, has_messages: bool = True) -> str:
    """Keep comments, docstrings, names of tests and, where `has_messages`, other strings."""
    parts, position = [], 0
    for token in _tokens(text):
        kept = _prose_of_token(token, has_messages=has_messages)
        if kept is not None:
            parts += [_mask(text[position : token.start]), kept]
            position = token.end
    return "".join([*parts, _mask(text[position:])])


def _prose_of_token(token: Token, *, has_messages: bool) -> str | None:
    if token.kind == tokenize.COMMENT:
        return " " + _mask_matches(CODE, token.source[1:])
    if token.kind == tokenize.STRING and (token.is_docstring or has_messages):
        # bytes, and single words that continue no other string, are values, not prose
        match = _LITERAL.fullmatch(token.source)
        if match is None or "b" in match["prefix"].lower():
            return None
        body = ESCAPED_SPACE.sub("  ", match["body"])
        if not (token.is_docstring or re.search(r"\s", body) or _LITERAL.fullmatch(token.before)):
            return None
        if "f" in match["prefix"].lower():
            body = _mask_matches(r"\{[^{}]*\}", body)
        quotes = " " * len(match["quotes"])
        return " " * len(match["prefix"]) + quotes + _mask_matches(CODE, body) + quotes
    if token.kind == _FSTRING_MIDDLE and has_messages:
        return _mask_matches(CODE, ESCAPED_SPACE.sub("  ", token.source))
    if token.kind in _FSTRING_QUOTES:
        return " " * len(token.source)
    if token.kind == tokenize.NAME and token.before == "def" and token.source.startswith("test_"):
        return token.source.replace("_", " ")
    return None


QUOTED = r"\"[^\"]*\"|'[^']*'"
INLINE = re.compile(r"</?(?:a|abbr|b|em|i|mark|small|span|strong)\b")
READ_ATTRIBUTE = re.compile(r"\b(?:title|alt|placeholder|content|label|value|aria-label|aria-description)=\Z")


def mask_html(text: str) -> str:
    """Keep text, comments, and the strings in tags that people read."""
    text = re.sub(r"\{#(.*?)#\}", r"  \1  ", text)
    text = re.sub(r"<!--(.*?)-->", r"    \1   ", text, flags=re.DOTALL)
    text = re.sub(r"\{%.*?%\}|\{\{.*?\}\}", _mask_template_tag, text, flags=re.DOTALL)
    text = _mask_matches(r"<(code|pre|kbd|script|style|svg)\b.*?</\1>", text, re.DOTALL)
    return re.sub(rf"</?[A-Za-z](?:[^<>\"']|{QUOTED})*>", _mask_html_tag, text)


def _mask_template_tag(match: re.Match[str]) -> str:
    """A template tag in which only strings of several words are left."""
    parts = re.split(f"({QUOTED})", match.group())
    return "".join(
        f"{MASK}{part[1:-1]}{MASK}" if is_quoted and " " in part[1:-1].strip() else _mask(part)
        for is_quoted, part in _alternate(parts)
    )


def _mask_html_tag(match: re.Match[str]) -> str:
    """A tag in which only the attributes that people read are left; a phrase may cross inline tags."""
    parts = re.split(f"({QUOTED})", match.group())
    is_inline = INLINE.match(match.group()) is not None
    kept = ""
    for is_quoted, part in _alternate(parts):
        is_read = is_quoted and READ_ATTRIBUTE.search(match.group()[: len(kept)])
        masked = re.sub(r"\S", " ", part) if is_inline else _mask(part)
        kept += f"{MASK}{part[1:-1]}{MASK}" if is_read else masked
    return kept


def _alternate(parts: list[str]) -> Iterator[tuple[bool, str]]:
    """The parts that `re.split` made with one group, and whether each is a match."""
    return ((bool(i % 2), part) for i, part in enumerate(parts))


def mask_markdown(text: str) -> str:
    """Keep text; no code, link targets and addresses."""
    text = _mask_matches(r"^( *)(```+|~~~+).*?^\1\2[^\n]*$", text, re.DOTALL | re.MULTILINE)
    # Mask blocks that are indented by four spaces outside lists and admonitions
    lines, is_code, is_nested, after_empty = [], False, False, True
    for line in text.splitlines(keepends=True):
        is_indented = line.startswith("    ")
        is_empty = not line.strip()
        is_code = not is_empty and is_indented and not is_nested and (after_empty or is_code)
        if not is_empty and not is_indented:
            is_nested = bool(re.match(r" {0,3}(?:[-*+]|\d+\.|!!!|\?\?\?\+?|===) ", line))
        after_empty = is_empty
        lines.append(_mask(line) if is_code else line)
    text = "".join(lines)
    text = _mask_matches(r"\]\([^)\n]*\)", text)
    return _mask_matches(CODE, text).replace("*", " ")


def _mask_all_but(pattern: str) -> Callable[[str], str]:
    """Keep what a pattern matches: comments, and strings of several words."""
    regex = re.compile(pattern, re.DOTALL | re.MULTILINE)

    def mask(text: str) -> str:
        parts, position = [], 0
        for match in regex.finditer(text):
            parts += [_mask(text[position : match.start()]), _prose_of_lexeme(match.group())]
            position = match.end()
        return "".join([*parts, _mask(text[position:])])

    return mask


def _prose_of_lexeme(source: str) -> str:
    if source[0] not in "\"'`":
        return re.sub(
            r"(?m)^(\s*)[/#*]+", lambda match: " " * len(match.group()), _mask_matches(CODE, source)
        )
    body = ESCAPED_SPACE.sub("  ", source[1:-1])
    if not re.search(r"\s", body.strip()):
        return _mask(source)
    body = _mask_matches(r"\$\{[^{}]*\}", body)
    return f" {body} "


_STRING = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
_mask_hash = _mask_all_but(r"(?:^|(?<=\s))#[^\n]*")
MASKS: dict[str, Callable[[str], str]] = {
    ".py": mask_python,
    ".html": mask_html,
    ".md": mask_markdown,
    ".txt": lambda text: text,
    ".js": _mask_all_but(rf"//[^\n]*|/\*.*?\*/|{_STRING}|`(?:[^`\\]|\\.)*`"),
    ".css": _mask_all_but(r"/\*.*?\*/"),
    ".toml": _mask_all_but(rf"\"\"\".*?\"\"\"|#[^\n]*|{_STRING}"),
    ".json": _mask_all_but(_STRING),
    ".svg": mask_html,
    **dict.fromkeys((".cff", ".cfg", ".example", ".sh", ".yaml", ".yml"), _mask_hash),
    **dict.fromkeys(("Dockerfile", "Makefile", "run"), _mask_hash),
}


def _kind(path: Path) -> str:
    """The key of MASKS for a file: its suffix, or its name where it has none."""
    return path.suffix or path.name


def _mask_of(path: Path) -> Callable[[str], str]:
    """The mask for a file. Strings in tests and in the demo campaign are data."""
    if path.suffix == ".py" and "tests" in path.parts:
        return functools.partial(mask_python, has_messages=False)
    if path.suffix == ".toml" and "demo" in path.parts:
        return _mask_hash
    return MASKS[_kind(path)]


# -- rules on a text --


PHRASES = [
    Phrase(
        rule["name"],
        re.compile("|".join(rule["patterns"]).replace(" ", r"\s+"), re.IGNORECASE),
        tuple(rule["stems"]),
        rule["suggestion"],
        rule["reason"],
    )
    for rule in RULES["phrase"]
]
# What a mask may turn into a space. A text without hits after this has none when it is masked.
ROUGH = str.maketrans("#_*/\"'`", "       ")


def phrases(prose: str) -> Iterator[Hit]:
    """Banned phrases in a masked text."""
    lowered = prose.lower()
    for phrase in PHRASES:
        if any(stem in lowered for stem in phrase.stems):
            for match in phrase.regex.finditer(prose):
                yield Hit(match.start(), " ".join(match.group().split()), phrase.suggestion, phrase.name)


BRITISH: list[tuple[re.Pattern[str], str]] = [
    (re.compile(pattern), replacement) for pattern, replacement in RULES["british"].items()
]
ISE = re.compile(r"(\w{2,})is(e|ed|es|er|ers|ing|able|ation|ations)")
# The beginnings of words in -ise that have no form in -ize.
NOT_IZE = re.compile(
    r"advert|adv|\w*(?:ra|wa|no|po|ma|w)|ar|bru|chast|circumc|compr|comprom|conc|cru|dem|desp|dev|disgu|enterpr|exc|exerc"
    r"|expert|franch|gu|imprec|improv|inc|lia|merchand|parad|prec|prem|prom|repr|rev|sunr|superv|surm|surpr|telev|treat"
    r"|unprom"
)
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@functools.cache
def american(word: str) -> str:
    """The American spelling of a word, in lower case; empty if it is spelled well already."""
    lowered = word.lower()
    for pattern, replacement in BRITISH:
        if pattern.search(lowered):
            return pattern.sub(replacement, lowered)
    match = ISE.fullmatch(lowered)
    return f"{match[1]}iz{match[2]}" if match and not NOT_IZE.fullmatch(match[1]) else ""


ALLOWED = "|".join(RULES["allowed"])


def spellings(text: str) -> Iterator[Hit]:
    """British spellings, in parts of names too."""
    if any(american(word) for word in set(WORD.findall(text))):
        for match in WORD.finditer(_mask_matches(ALLOWED, text)):
            if better := american(match.group()):
                yield Hit(match.start(), match.group(), better, "spelling")


EMPTY_NAMES: dict[str, str] = RULES["empty_names"]
JARGON_NAMES: dict[str, str] = RULES["jargon_names"]
# A cheap test that a file must pass before it is parsed.
MAY_BE_NAMED = re.compile(
    rf"(?m:^\s*|\b(?:for|as|lambda|import)\s+|[(,*]\s*)(?:{'|'.join(EMPTY_NAMES)})\s*(?:[:=,)\n]|in\b|as\b)"
    rf"|(?<![A-Za-z])(?i:{'|'.join(JARGON_NAMES)})(?![a-z])"
)


# A declared variable, or a parameter, of JavaScript.
BOUND_IN_SCRIPT = re.compile(
    rf"\b(?:const|let|var)\s+({'|'.join(EMPTY_NAMES)})\b"
    rf"|\b({'|'.join(EMPTY_NAMES)})\s*=>"
    rf"|\((?:[\w\s,]*,\s*)?({'|'.join(EMPTY_NAMES)})\b[\w\s,]*\)\s*(?:=>|\{{)"
)


def names_in_script(text: str) -> Iterator[Hit]:
    """Variables and parameters of a script whose name does not say what they hold."""
    for match in BOUND_IN_SCRIPT.finditer(text):
        name = match[match.lastindex or 0]
        yield Hit(match.start(match.lastindex or 0), name, EMPTY_NAMES[name], "empty name")


def names(text: str) -> Iterator[Hit]:
    """Jargon in names of Python, each name once, and variables whose name does not say what they hold."""
    if not MAY_BE_NAMED.search(text):
        return
    seen = {token.source: token.start for token in reversed(_tokens(text)) if token.kind == tokenize.NAME}
    for name, start in seen.items():
        lowered = name.lower().strip("_")
        if lowered.startswith("test_"):  # a sentence, for which there are phrases
            continue
        if jargon := next((word for word in (lowered, *lowered.split("_")) if word in JARGON_NAMES), ""):
            yield Hit(start, name, JARGON_NAMES[jargon], "jargon name")
    if seen.keys() & EMPTY_NAMES.keys():
        yield from _empty_names(text)


def _empty_names(text: str) -> Iterator[Hit]:
    """The variables that are bound to a name that does not say what they hold."""
    starts = _line_starts(text)
    for node in ast.walk(ast.parse(text)):
        match node:
            case (
                ast.Name(id=name, ctx=ast.Store())
                | ast.arg(arg=name)
                | ast.alias(asname=str(name))
                | ast.ExceptHandler(name=str(name))
            ) if name in EMPTY_NAMES:
                offset = starts[node.lineno - 1] + node.col_offset
                yield Hit(offset, name, EMPTY_NAMES[name], "empty name")


LONG_LINE = re.compile(r"^(?! *\||!\[)(?=.*\w).{121,}$", re.MULTILINE)


def long_lines(text: str) -> Iterator[Hit]:
    """Lines of Markdown with more than 120 characters, outside tables and code."""
    for match in LONG_LINE.finditer(mask_markdown(text)):
        yield Hit(match.start(), f"{len(match.group())} characters", "wrap at 120", "line length")


DOCSTRING_OF_QUESTION = re.compile(
    r'^ *r?"""(What|Whether|Who|Whom|Whose|How|Why|Where|When|Which)\b', re.MULTILINE
)


def questions(text: str) -> Iterator[Hit]:
    """Docstrings of Python that begin with a question word."""
    for match in DOCSTRING_OF_QUESTION.finditer(text):
        yield Hit(match.start(1), match[1], "begin with a noun or a verb", "docstring")


# -- files --

NAMES: dict[str, Callable[[str], Iterator[Hit]]] = {".py": names, ".js": names_in_script, ".md": long_lines}
ALLOW = re.compile(r"(?:#|//|/\*|<!--) prose: allow\b[ :]*([^\n]*)")


def check_text(text: str, path: Path) -> list[Finding]:
    """Findings in a text that is stored at `path`, relative to the checkout."""
    hits = list(spellings(text))
    if path.suffix in NAMES:
        hits += NAMES[path.suffix](text)
    if path.suffix == ".py":
        hits += questions(text)
    if next(phrases(text.translate(ROUGH)), None):
        hits += phrases(_mask_of(path)(text))
    findings = [Finding(path, text.count("\n", 0, hit.offset) + 1, *hit[1:]) for hit in sorted(hits)]
    allowed = {n: match[1] for n, line in enumerate(text.split("\n"), 1) if (match := ALLOW.search(line))}
    used = {finding.line for finding in findings}
    kept = [finding for finding in findings if finding.line not in allowed]
    for line, reason in allowed.items():
        if line not in used:
            kept.append(Finding(path, line, "prose: allow", "allows nothing; remove it", "allow"))
        elif not re.search(r"\w{3}", reason):
            kept.append(Finding(path, line, "prose: allow", "add the reason", "allow"))
    return list(dict.fromkeys(kept))


def check_name(path: Path) -> list[Finding]:
    """Findings in the name of a file, which count as those of its first line."""
    wrong = {word: american(word) or JARGON_NAMES.get(word.lower()) for word in WORD.findall(path.name)}
    return [
        Finding(path, 1, word, f"rename: {better}", "file name") for word, better in wrong.items() if better
    ]


def check_file(path: Path) -> list[Finding]:
    """Findings in a file and in its name."""
    path = path.resolve()
    relative = path.relative_to(ROOT) if path.is_relative_to(ROOT) else Path(path.name)
    if relative in EXEMPT_FILES or _kind(relative) not in MASKS:
        return []
    return check_name(relative) + check_text(path.read_text(encoding="utf-8"), relative)


def files_in(paths: Iterable[Path]) -> Iterator[Path]:
    """The files that are named, and those in the folders that are named."""
    for path in paths:
        if path.is_file():
            yield path
            continue
        for entry in sorted(path.iterdir()):
            is_left_out = entry.name in EXEMPT_FOLDERS or entry.name.startswith(".")
            if entry.is_file() or entry.name in HIDDEN_FOLDERS or not is_left_out:
                yield from files_in([entry])


def rules() -> str:
    """Every rule with its suggestion and reason."""
    lines = [f"{phrase.name}: {phrase.suggestion}\n    {phrase.reason}" for phrase in PHRASES]
    lines += [f"variable {name}: {better}" for name, better in EMPTY_NAMES.items()]
    lines += [f"in names, {name}: {better}" for name, better in JARGON_NAMES.items()]
    lines += [
        "spelling: American, also in names",
        "docstring: begins with a noun or a verb, not a question word",
    ]
    return "".join(f"{line}\n" for line in lines)


def main(arguments: list[str] | None = None) -> int:
    """Print the findings; 1 if there are any."""
    parser = argparse.ArgumentParser(description="Find words that the project does not use.")
    parser.add_argument(
        "paths", nargs="*", type=Path, default=[ROOT], help="files and folders; by default all"
    )
    parser.add_argument("--rules", action="store_true", help="list the rules and stop")
    options = parser.parse_args(arguments)
    if options.rules:
        sys.stdout.write(rules())
        return 0
    findings = [finding for path in files_in(options.paths) for finding in check_file(path)]
    sys.stdout.writelines(f"{finding}\n" for finding in findings)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
