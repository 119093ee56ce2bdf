"""Turns lines whose columns are separated by commas, semicolons or only tabs into lines of words, for their readers.

Between commas or semicolons, a column may be in quotation marks, as in RFC 4180: then it may contain the separator,
line ends, and quotation marks, which are doubled. With tabs, quotation marks have no meaning. White space around a
column does not count. A line keeps its number: one that ends inside quotation marks is joined with the next ones, which
stay as empty lines.
"""

import re
from collections.abc import Callable, Sequence

MOST_HELD = 1_000_000  # bytes between a quotation mark and the end of its column
EMPTY = b"-"  # in place of a column that has no meaning, or that nothing reads because its line is wrong
SKIP = "skip"
TAB = b"\t"

Complain = Callable[[int, str, str], None]  # number of the line, what is wrong, what is accepted


def quoted(word: bytes, separator: bytes) -> bytes:
    """A word as a column of a file: in quotation marks if it contains one or the separator."""
    if separator == b"\t" or (separator not in word and b'"' not in word):
        return word
    return b'"' + word.replace(b'"', b'""') + b'"'


def n_columns(line: bytes, separator: bytes) -> int:
    """The number of columns of a line; 0 for an empty line."""
    if not line.strip():
        return 0
    matches = _pattern(separator).finditer(line + b"\n")
    return next(n for n, match in enumerate(matches, 1) if match["end"] == b"\n")


def cells(line: bytes, separator: bytes | None) -> list[str]:
    """The columns of a line that names them. Without a separator, any white space separates them."""
    if separator is None:
        return line.decode().split()
    words = []
    for match in _pattern(separator).finditer(line.rstrip(b"\n") + b"\n"):
        quoted_word = match["word"]
        word = match["bare"] if quoted_word is None else quoted_word.replace(b'""', b'"')
        words.append(word.decode().strip())
        if match["end"] == b"\n":
            break
    return words


def columns_named(
    names: Sequence[str], header: Sequence[str], order: Sequence[str]
) -> tuple[tuple[str, ...], str]:
    """Return what each column of a file is, and what is wrong with the line of their names.

    `header` has the names of the columns of `order`. Capitals do not matter, and other columns have no meaning.
    """
    folded = [name.casefold() for name in names]
    for name, column in zip(header, order, strict=True):
        if column != SKIP and (n := folded.count(name.casefold())) != 1:
            problem = f"names the column {name} twice" if n else f"does not name the column {name}"
            return (), f"the first line {problem}"
    meanings = {name.casefold(): column for name, column in zip(header, order, strict=True)}
    return tuple(meanings.get(name, SKIP) for name in folded), ""


class SeparatedLines:
    """Converts the chunks of a file, one after the other. `columns` are the names of the columns of a line."""

    def __init__(self, separator: bytes, columns: Sequence[str], complain: Complain) -> None:
        self._separator = separator
        self._columns = columns
        self._complain = complain
        self._pattern = _pattern(separator)
        # If a separator is not simply the end of a word: white space, empty columns, quotation marks.
        parts = rb'[" \t\v\f]|\r(?!\n)|(?:^|[SEP])(?=[SEP])|[SEP]\r?$|^[SEP]'.replace(b"SEP", separator)
        if separator == TAB:
            parts = parts.replace(rb'[" \t\v\f]', rb"[ \v\f]")
        self._special = re.compile(parts, re.MULTILINE)
        self._held = b""
        self._held_number = 1

    def take(self, number: int, chunk: bytes, *, is_last: bool = False) -> tuple[int, bytes]:
        """Lines with tabs, and the number of the first, of complete lines whose first has this number.

        A line that ends inside quotation marks is held back until its end comes with the next chunk.
        """
        if self._held:
            number, chunk, self._held = self._held_number, self._held + chunk, b""
        if not self._special.search(chunk):
            return number, chunk.replace(self._separator, b"\t")
        return number, self._converted(number, chunk, is_last=is_last)

    def finish(self) -> tuple[int, bytes]:
        """The lines that were held back, at the end of the file."""
        return self.take(self._held_number, b"", is_last=True) if self._held else (1, b"")

    def _converted(self, number: int, chunk: bytes, *, is_last: bool) -> bytes:
        lines: list[bytes] = []
        columns: list[re.Match[bytes]] = []
        start = 0
        for match in self._pattern.finditer(chunk):
            columns.append(match)
            is_open = match["open"] is not None and match["word"] is None
            if is_open and not is_last and len(chunk) - start <= MOST_HELD:
                self._held, self._held_number = chunk[start:], number
                break
            if match["end"] == b"\n":
                n_ends = chunk.count(b"\n", start, match.end())
                lines.append(self._line(number, columns) + b"\n" * n_ends)
                number, start, columns = number + n_ends, match.end(), []
            if match.end() == len(chunk):
                break
        return b"".join(lines)

    def _line(self, number: int, columns: Sequence[re.Match[bytes]]) -> bytes:
        """The words of a line with tabs between them; empty if it is empty or has an error of its own."""
        if len(columns) == 1 and not columns[0][0].strip():
            return b""
        names = self._columns if len(columns) == len(self._columns) else [SKIP] * len(columns)
        words = []
        for name, match in zip(names, columns, strict=True):
            word, problem = _word(match, name)
            if problem:
                self._complain(number, problem, ACCEPTED)
                return b""
            words.append(word)
        line = b"\t".join(words)
        # A line of qrels that begins with # is a comment
        return b" " + line if line.startswith(b"#") else line


ACCEPTED = "Columns without white space; those with separators in quotation marks, and quotation marks in them doubled."


def _word(match: re.Match[bytes], name: str) -> tuple[bytes, str]:
    """The word of a column, and what is wrong with it."""
    if match["open"] is None:
        word = match["bare"].strip()
    elif match["word"] is None:
        return b"", "a quotation mark is not closed"
    elif match["bare"].strip():
        return b"", "text follows a closing quotation mark"
    else:
        word = match["word"].replace(b'""', b'"').strip()
    if name == SKIP:
        return EMPTY, ""
    if not word:
        return b"", f"the column {name} is empty"
    if len(word.split()) > 1:
        return b"", f"the column {name} contains white space"
    return word, ""


def _pattern(separator: bytes) -> re.Pattern[bytes]:
    """A column with what ends it. Nothing is read twice, so the time is proportional to the length.

    No possessive group contains alternatives: Python before 3.11.5 matches such groups wrongly (gh-106052).
    """
    parts = (
        rb'[ \t]*+(?:(?P<open>")(?:(?P<word>[^"]*+(?:""[^"]*+)*+)"(?!"))?)?'
        rb"(?P<bare>[^SEP\n]*+)(?P<end>[SEP]|\n|\Z)"
    )
    if separator == TAB:
        parts = rb" *+(?P<open>(?!))?(?P<word>(?!))?(?P<bare>[^\t\n]*+)(?P<end>\t|\n|\Z)"
    return re.compile(parts.replace(b"SEP", separator))
