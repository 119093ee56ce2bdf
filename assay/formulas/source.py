r"""Prepares LaTeX for a converter: repairs what authors left open, and refuses what a converter must not execute.

A formula is text of a stranger, and TeX is a programming language: a formula could read files of the machine, define
commands that change the formulas after it, or run without an end. So formulas that define commands or read files are
refused, as ARQMath did with `\def` and `\newcommand`, and so are very long ones.

Braces, environments and dollars that have no counterpart are closed or left out. Displayed environments such as
`align*` become those that are used inside a formula: a converter writes a separate formula for each cell of `align*`.
"""

import re
from collections import Counter
from typing import Final

LONGEST: Final = 20_000  # characters
# fmt: off
_COMMANDS: Final = (
    "batchmode", "catcode", "csname", "def", "documentclass", "edef", "endinput", "errhelp", "everymath", "everypar",
    "expandafter", "futurelet", "gdef", "globaldefs", "immediate", "include", "includegraphics", "input", "let", "loop",
    "lstinputlisting", "lowercase", "mathcode", "DeclareMathOperator", "DeclareMathSymbol", "DeclareRobustCommand",
    "InputIfFileExists", "makeatletter",
    "newcommand", "newcount", "newenvironment", "newread", "newtheorem", "newwrite", "openin", "openout",
    "providecommand", "read", "renewcommand", "renewenvironment", "RequirePackage", "scantokens", "special",
    "uppercase", "usepackage", "verbatiminput", "write", "xdef",
)
# fmt: on
# \begin{input} executes \input
_REFUSED: Final = re.compile(rf"\\(?:begin\s*\{{\s*)?({'|'.join(_COMMANDS)})(?![A-Za-z])|(\^\^)")
_ENTITY: Final = re.compile("&(lt|gt|amp);")
_CHARACTERS: Final = {"lt": "<", "gt": ">", "amp": "&"}
_COMMENT: Final = re.compile(r"(?<!\\)%[^\n]*+")
_TOKEN: Final = re.compile(r"\\(begin|end)\s*\{([A-Za-z]{1,30}\*?)\}|\\.|[{}$]")
_INNER: Final = {
    "align": "aligned",
    "alignat": "alignedat",
    "eqnarray": "array",
    "flalign": "aligned",
    "gather": "gathered",
    "multline": "gathered",
}
_WRAPPERS: Final = frozenset({"displaymath", "document", "equation", "math", "subequations"})
_LEXEME: Final = re.compile(r"\\(?:[A-Za-z]+|.)|[0-9]+|[^\s\\]", re.DOTALL)


def prepared(latex: str) -> str:
    r"""LaTeX that a converter can read, on one line.

    Raises `ValueError`, with the reason, if the formula is empty, too long, or uses a command that is refused.

    >>> prepared(r"\begin{align*} \frac{1}{2 &= x % half")
    '\\begin{aligned} \\frac{1}{2 &= x}\\end{aligned}'
    """
    if len(latex) > LONGEST:
        raise ValueError(f"{len(latex):,} characters; at most {LONGEST:,} are converted")
    _check_commands(latex)
    text = _ENTITY.sub(lambda entity: _CHARACTERS[entity[1]], latex)
    text = " ".join(_COMMENT.sub("", text).split())
    repaired = _Repair().run(text).strip()
    if not repaired:
        raise ValueError("the formula is empty")
    _check_commands(repaired)  # what is left out, as the brace in \in}put, can join a command
    return repaired


def _check_commands(latex: str) -> None:
    if match := _REFUSED.search(latex):
        raise ValueError(f"{match[0]} is refused: a formula must not define commands or read files")


class _Repair:
    """One pass over LaTeX that closes what is open, and leaves out what closes nothing."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.closing: list[str] = []  # what closes the open groups, the innermost last
        self.n_open: Counter[str] = Counter()

    def run(self, text: str) -> str:
        position = 0
        for token in _TOKEN.finditer(text):
            self.out.append(text[position : token.start()])
            position = token.end()
            self.token(token)
        self.out.append(text[position:])
        self.close_all()
        return "".join(self.out)

    def token(self, token: re.Match[str]) -> None:
        if token[1]:
            self.environment(token[1] == "begin", token[2].removesuffix("*"), token[2])
        elif token[0] == "{":
            self.open("{", "}")
        elif token[0] == "}":
            self.close("}")
        elif token[0] == "$":
            self.dollar()
        else:
            self.out.append(token[0])

    def environment(self, is_begin: bool, plain: str, name: str) -> None:
        if plain in _WRAPPERS:
            return
        inner = _INNER.get(plain, name)
        if is_begin:
            self.open(f"\\begin{{{inner}}}" + "{rcl}" * (plain == "eqnarray"), f"\\end{{{inner}}}")
        else:
            self.close(f"\\end{{{inner}}}")

    def dollar(self) -> None:
        """A dollar changes to text and back in a group such as that of `\\text`; elsewhere it is left out."""
        if self.closing[-1:] == ["$"]:
            self.close("$")
        elif "}" in self.closing[-1:]:
            self.open("$", "$")

    def open(self, start: str, end: str) -> None:
        self.out.append(start)
        self.closing.append(end)
        self.n_open[end] += 1

    def close(self, end: str) -> None:
        if not self.n_open[end]:
            return
        while self.closing:
            last = self.closing.pop()
            self.n_open[last] -= 1
            self.out.append(last)
            if last == end:
                return

    def close_all(self) -> None:
        self.out += reversed(self.closing)


def latex_tokens(text: str) -> list[str]:
    """The tokens of LaTeX. A line end is a space, also after a backslash: XML of a dump has each text on one line."""
    return _LEXEME.findall(" ".join(text.split()))
