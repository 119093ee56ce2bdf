"""Read a file and split its lines into columns like trec_eval, with array operations.

ASCII white space separates columns; LF separates lines (CR in a file without any LF). A byte order mark, CRLF, leading
spaces, empty lines and a last line without LF are accepted; a line that begins with # is a comment. Nothing is quoted;
ids are bytes.
"""

import sys
from io import BytesIO
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from assay.formats.compression import Limits, Unreadable, is_packed, unpack
from assay.formats.tokens import Places, Text, as_bytes, decimals, spans, whole_numbers
from assay.trec_eval.errors import FileError

STDIN = "-"
HASH, NEWLINE, RETURN = 35, 10, 13
# White space as in C's isspace; other control characters are parts of words.
IS_WORD = np.ones(256, dtype=np.bool_)
IS_WORD[[9, 10, 11, 12, 13, 32]] = False


class Lines(NamedTuple):
    """The words of each line, without comments and empty lines.

    path : name of the file, for messages.
    start, length : (lines, columns) positions and lengths of the words in the text.
    number : (lines,) number of each line in the file, from 1.
    """

    path: str
    text: Text
    start: Places
    length: Places
    number: Places

    @classmethod
    def read(cls, path: str, n_columns: int, header: str, *, allows_more: bool = False) -> Self:
        """Read a file and split every line into words.

        Parameters
        ----------
        path : of a file, which may be compressed; `-` is standard input.
        n_columns : number of words in a line; further words are ignored if `allows_more`.
        header : names of the columns, for the message.

        Raises
        ------
        FileError
            The file cannot be read, has no lines, or a line has the wrong number of columns.
        """
        data = read_file(path)
        text = Text(_plain(data))
        word_spans = spans(text.codes, n_columns)
        if word_spans is not None and not (text.codes[word_spans[0][:, 0]] == HASH).any():
            return cls(path, text, *word_spans, np.arange(1, len(word_spans[0]) + 1))
        start, end = _words(text.codes)
        first, n_words, number = _lines(text.codes, start)
        wrong = np.flatnonzero((n_words < n_columns) | (n_words > n_columns) & (not allows_more))
        if len(wrong):
            line, n_found = number[wrong[0]], n_words[wrong[0]]
            raise FileError(path, f"line {line}: expected {n_columns} columns ({header}), got {n_found}")
        if not len(number):
            raise FileError(path, f"the file contains no lines; expected {header}")
        place = first[:, None] + np.arange(n_columns)
        return cls(path, text, start[place], end[place] - start[place], number)

    def column(self, n: int) -> NDArray[np.bytes_]:
        """Word n of each line, from 0."""
        return as_bytes(self.text.words(self.start[:, n], self.length[:, n]))

    def numbers(self, n: int, column: str) -> NDArray[np.float64]:
        """Word n of each line as a finite decimal number. `column` names it in the message.

        Raises
        ------
        FileError
            A word is not a finite number.
        """
        start, length = np.ascontiguousarray(self.start[:, n]), np.ascontiguousarray(self.length[:, n])
        numbers = decimals(self.text, start, length)
        if numbers is None:
            low, high = 0, len(start)  # the first wrong line is between them
            while high - low > 1:
                middle = (low + high) // 2
                is_right = decimals(self.text, start[low:middle], length[low:middle]) is not None
                low, high = (middle, high) if is_right else (low, middle)
            shown = self.word(low, n)[:40].decode(errors="replace")
            raise FileError(self.path, f"line {self.number[low]}: {column} {shown!r} is not a finite number")
        return numbers

    def whole_numbers(self, n: int) -> NDArray[np.int32] | None:
        """Word n of each line as an unsigned whole number; None if any word is not one."""
        start, length = np.ascontiguousarray(self.start[:, n]), np.ascontiguousarray(self.length[:, n])
        return whole_numbers(self.text, start, length)

    def word(self, row: int, n: int) -> bytes:
        """Word n of a row."""
        start = int(self.start[row, n])
        return self.text.bytes[start : start + int(self.length[row, n])]


def read_file(path: str) -> bytes:
    """The bytes of a file, or of standard input for `-`, decompressed if they are compressed."""
    try:
        data = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    except OSError as error:
        raise FileError(path, error.strerror or str(error)) from None
    if is_packed(data):
        data = _unpacked(path, data)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileError(path, "the file is UTF-16; UTF-8 is accepted")
    if b"\0" in data:
        raise FileError(path, "the file contains NUL bytes; text is accepted")
    return data


def _unpacked(path: str, data: bytes) -> bytes:
    try:
        return b"".join(unpack(BytesIO(data), Limits()))
    except Unreadable as error:
        raise FileError(path, f"cannot be decompressed: {error.reason}") from None


def _plain(data: bytes) -> bytes:
    """The text without a byte order mark, and with LF at the end of every line."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    data = data if b"\n" in data else data.replace(b"\r", b"\n")
    data = data if data.endswith(b"\n") else data + b"\n"
    return _without_returns(data) if b"\r" in data else data


def _without_returns(data: bytes) -> bytes:
    """The text with LF instead of CRLF. Another CR is white space and is kept. Five times as fast as bytes.replace."""
    codes = np.frombuffer(data, dtype=np.uint8)
    is_at_end = codes[np.flatnonzero(codes == RETURN) + 1] == NEWLINE
    return data.replace(b"\r", b"") if is_at_end.all() else data


def _words(codes: NDArray[np.uint8]) -> tuple[Places, Places]:
    """Positions where words start, and where they end."""
    edges = np.flatnonzero(np.diff(IS_WORD[codes].astype(np.int8), prepend=0, append=0))
    return edges[0::2], edges[1::2]


def _lines(codes: NDArray[np.uint8], start: Places) -> tuple[Places, Places, Places]:
    """For each line with words that is not a comment: index of its first word, number of words, number of the line."""
    line_start = np.append(0, np.flatnonzero(codes == NEWLINE) + 1)
    first = np.searchsorted(start, line_start)
    n_words = np.diff(first, append=len(start))
    row = np.flatnonzero(n_words > 0)
    row = row[codes[start[first[row]]] != HASH]
    return first[row], n_words[row], row + 1
