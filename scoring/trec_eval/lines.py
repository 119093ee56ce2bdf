"""The columns of a file of lines, found with whole arrays: a run of 100,000 lines in some hundredths of a second.

Columns are parted by any ASCII white space, lines by LF (or by CR, in a file without any LF). A byte order mark, CRLF,
leading blanks, blank lines and a last line without its end are normal. Nothing is quoted; ids are bytes.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

BLANK, HASH, NEWLINE = 32, 35, 10
# What C's isspace takes for white space; other control characters are parts of words.
IS_WORD = np.ones(256, dtype=np.bool_)
IS_WORD[[9, 10, 11, 12, 13, 32]] = False


class LineError(ValueError):
    """A line that is not of the form: its number in the file, from 1, and what is wrong."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}")


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Where the words of the lines are. Comments and blank lines are left out.

    data : the bytes of the file, padded.
    start, end : (words,) offsets.
    first : (lines,) number of each line's first word.
    number : (lines,) of each line in the file, from 1.
    """

    data: bytes
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    first: NDArray[np.int64]
    number: NDArray[np.int64]

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
        data = _plain(data)
        letters = np.frombuffer(data, dtype=np.uint8)
        start, end = _words(letters)
        line_start = np.append(0, np.flatnonzero(letters == NEWLINE) + 1)
        first = np.searchsorted(start, line_start)
        n_words = np.diff(np.append(first, len(start)))
        row = np.flatnonzero(n_words > 0)
        row = row[letters[start[first[row]]] != HASH]
        lines = cls(data, start, end, first[row], row + 1)
        wrong = np.flatnonzero((n_words[row] < n_columns) | (n_words[row] > n_columns) & (not is_more_taken))
        if len(wrong):
            got = int(n_words[row[wrong[0]]])
            raise LineError(int(lines.number[wrong[0]]), f"expected {n_columns} columns ({what}), got {got}")
        return lines

    def __len__(self) -> int:
        return len(self.first)

    def column(self, n: int) -> NDArray[np.bytes_]:
        """The nth words of the lines, as an array as wide as the longest."""
        start, end = self.start[self.first + n], self.end[self.first + n]
        length = end - start
        width = int(length.max(initial=1))
        padded = self.data + b"\0" * width
        # Every offset seen as a word of that width: picking the starts copies each word, and what follows it.
        everywhere: NDArray[np.bytes_] = np.ndarray(
            shape=(len(self.data) + 1,), dtype=f"S{width}", buffer=padded, strides=(1,)
        )
        words = everywhere[start]
        if int(length.min(initial=width)) < width:
            letters = words.view(np.uint8).reshape(len(words), width)
            letters *= np.arange(width) < length[:, None]
        return words

    def word(self, row: int, n: int) -> bytes:
        """The nth word of one line."""
        at = self.first[row] + n
        return self.data[self.start[at] : self.end[at]]


def _plain(data: bytes) -> bytes:
    """Without a byte order mark, and with LF at the ends of lines."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    return data if b"\n" in data else data.replace(b"\r", b"\n")


def _words(letters: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where words start, and where they end."""
    is_word = letters > BLANK
    if bool((letters < 9).any()) or bool(((letters > 13) & (letters < BLANK)).any()):
        is_word = IS_WORD[letters]
    padded = np.zeros(len(letters) + 2, dtype=np.bool_)
    padded[1:-1] = is_word
    edges = np.flatnonzero(padded[1:] != padded[:-1])
    return edges[0::2], edges[1::2]
