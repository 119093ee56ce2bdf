"""The columns of a file of lines, as trec_eval takes them, found with whole arrays.

Columns are parted by any ASCII white space, lines by LF (or by CR, in a file without any LF). A byte order mark, CRLF,
leading blanks, blank lines and a last line without its end are normal; a line whose first character is # is a comment.
Nothing is quoted; ids are bytes.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from assay.formats.tokens import Places, Text, as_bytes, decimals, spans, whole_numbers

HASH, NEWLINE, RETURN = 35, 10, 13
# What C's isspace takes for white space; other control characters are parts of words.
IS_WORD = np.ones(256, dtype=np.bool_)
IS_WORD[[9, 10, 11, 12, 13, 32]] = False


class LineError(ValueError):
    """A line that is not of the form: its number in the file, from 1, and what is wrong."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}")


class Lines(NamedTuple):
    """The words of each line. Comments and blank lines are left out.

    start, length : (lines, columns) of the words in the text.
    number : (lines,) of each line in the file, from 1.
    """

    text: Text
    start: Places
    length: Places
    number: Places

    @classmethod
    def of(cls, data: bytes, *, n_columns: int, what: str, is_more_taken: bool = False) -> Self:
        """Find the words of every line.

        Parameters
        ----------
        n_columns : words that a line has; more are taken, and not looked at, if `is_more_taken`.
        what : the form, for the message.

        Raises
        ------
        LineError
            A line has another number of columns.
        """
        text = Text(_plain(data))
        found = spans(text.codes, n_columns)
        if found is not None and not (text.codes[found[0][:, 0]] == HASH).any():
            return cls(text, *found, np.arange(1, len(found[0]) + 1))
        start, end = _words(text.codes)
        first, n_words, number = _lines(text.codes, start)
        wrong = np.flatnonzero((n_words < n_columns) | (n_words > n_columns) & (not is_more_taken))
        if len(wrong):
            said = f"expected {n_columns} columns ({what}), got {n_words[wrong[0]]}"
            raise LineError(int(number[wrong[0]]), said)
        place = first[:, None] + np.arange(n_columns)
        return cls(text, start[place], end[place] - start[place], number)

    def column(self, n: int) -> NDArray[np.bytes_]:
        """The nth words of the lines."""
        return as_bytes(self.text.words(self.start[:, n], self.length[:, n]))

    def numbers(self, n: int, what: str) -> NDArray[np.float64]:
        """The nth words of the lines as finite decimal numbers.

        Raises
        ------
        LineError
            One is not.
        """
        start, length = np.ascontiguousarray(self.start[:, n]), np.ascontiguousarray(self.length[:, n])
        numbers = decimals(self.text, start, length)
        if numbers is None:
            low, high = 0, len(start)  # the first wrong line is in between
            while high - low > 1:
                middle = (low + high) // 2
                is_right = decimals(self.text, start[low:middle], length[low:middle]) is not None
                low, high = (middle, high) if is_right else (low, middle)
            shown = self.word(low, n)[:40].decode(errors="replace")
            raise LineError(int(self.number[low]), f"{what} {shown!r} is no finite number")
        return numbers

    def whole_numbers(self, n: int) -> NDArray[np.int32] | None:
        """The nth words of the lines as unsigned whole numbers; None if one is anything else."""
        start, length = np.ascontiguousarray(self.start[:, n]), np.ascontiguousarray(self.length[:, n])
        return whole_numbers(self.text, start, length)

    def word(self, row: int, n: int) -> bytes:
        """The nth word of one line."""
        start = int(self.start[row, n])
        return self.text.bytes[start : start + int(self.length[row, n])]


def _plain(data: bytes) -> bytes:
    """Without a byte order mark, and with LF at the end of every line."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    data = data if b"\n" in data else data.replace(b"\r", b"\n")
    data = data if data.endswith(b"\n") else data + b"\n"
    return _without_returns(data) if b"\r" in data else data


def _without_returns(data: bytes) -> bytes:
    """LF for CRLF; a CR that stands elsewhere is white space, and stays. Five times as fast as bytes.replace."""
    codes = np.frombuffer(data, dtype=np.uint8)
    is_at_end = codes[np.flatnonzero(codes == RETURN) + 1] == NEWLINE
    return data.replace(b"\r", b"") if is_at_end.all() else data


def _words(codes: NDArray[np.uint8]) -> tuple[Places, Places]:
    """Where words start, and where they end."""
    edges = np.flatnonzero(np.diff(IS_WORD[codes].astype(np.int8), prepend=0, append=0))
    return edges[0::2], edges[1::2]


def _lines(codes: NDArray[np.uint8], start: Places) -> tuple[Places, Places, Places]:
    """Of each line that has words and is no comment: the place of its first word, how many it has, its number."""
    line_start = np.append(0, np.flatnonzero(codes == NEWLINE) + 1)
    first = np.searchsorted(start, line_start)
    n_words = np.diff(first, append=len(start))
    row = np.flatnonzero(n_words > 0)
    row = row[codes[start[first[row]]] != HASH]
    return first[row], n_words[row], row + 1
