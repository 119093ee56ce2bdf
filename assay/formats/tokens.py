"""Reads the words of a text as arrays: eight bytes at a time in 64-bit integers, without a loop over characters.

The first byte of a word is the lowest byte of its integer (little-endian); the bytes after its end are zero. Eight
digits become a number with a few multiplications (Lemire & Langdale, doi:10.1007/s00778-019-00578-5), and scores are
rounded exactly as Python's float() rounds them.
"""

import re
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

PARTS = 100  # that become one block
NARROW = 64  # bytes; `Table` declines wider words
# No-break space, soft hyphen, zero-width and direction marks, word joiner, a byte-order mark inside the text.
INVISIBLE = re.compile(rb"\xc2[\xa0\xad]|\xe2\x80[\x8b-\x8f\xa8-\xaf]|\xe2\x81\xa0|\xef\xbb\xbf")
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")

PADDING = b"\0" * 64  # after a text, so that eight bytes can be loaded near its end
BYTES = 8
BITS = 64
DIGITS = 19  # every number of so many digits fits an unsigned 64-bit integer

Integers = NDArray[np.uint64]
Places = NDArray[np.intp]

_ONES = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)
_ZEROS = np.uint64(0x3030303030303030)
_POINTS = np.uint64(0x2E2E2E2E2E2E2E2E)
_ABOVE_NINE = np.uint64(0x7676767676767676)
_PLACE_OF = np.uint64(0x0001020304050607)  # times 1 << 8 p has p in its highest byte
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(BYTES + 1)], dtype=np.uint64)
_TENS = np.array([10**n for n in range(DIGITS + 1)], dtype=np.uint64)
_EXACT_TENS = np.array([10.0**n for n in range(DIGITS + 1)])  # exact as doubles up to 10^22
_SPLITTER = 134217729.0  # 2^27 + 1: cuts a double into two halves whose products are exact
_CLOSE = 2.0**-40
_CHARACTERS = b"0123456789+-.eE"


def is_word(text: str, most: int) -> bool:
    """Return True if a text is an id: no white space, no control character, at most some bytes."""
    try:
        data = text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return (
        0 < len(data) <= most and len(text.split()) == 1 and text == text.strip() and not CONTROL.search(data)
    )


class Text:
    """A text from which words are loaded."""

    def __init__(self, text: bytes) -> None:
        self.bytes = text
        padded = np.frombuffer(text + PADDING, dtype=np.uint8)
        self.codes = padded[: len(text)]
        # Strings of eight bytes may start at any byte, and are gathered faster than integers.
        self._loads = np.ndarray((len(padded) - BYTES + 1,), dtype="S8", buffer=padded, strides=(1,))

    def load(self, start: Places) -> Integers:
        """The eight bytes from each start on."""
        loaded: Integers = self._loads[start].view("<u8")
        return loaded

    def words(self, start: Places, length: Places) -> list[Integers]:
        """Each word in pieces of eight bytes, as many pieces as the longest word needs."""
        width = int(length.max(initial=1))
        if width <= BYTES:
            return [self.load(start) & _MASKS[length]]
        # A short word near the end of the text has no second piece; do not load past the end.
        last = len(self.codes)
        pieces = range(0, width, BYTES)
        return [
            self.load(np.minimum(start + skip, last)) & _MASKS[np.clip(length - skip, 0, BYTES)]
            for skip in pieces
        ]

    def slices(self, start: Places, length: Places) -> list[bytes]:
        """The words as separate bytes objects; slow, for a few words only."""
        return [self.bytes[a : a + n] for a, n in zip(start.tolist(), length.tolist(), strict=True)]


class Table:
    """The words of a text by column. Only the columns that are asked for are read.

    Args:
        starts, lengths: (lines, columns) of the words in the text.
    """

    def __init__(self, text: Text, starts: Places, lengths: Places) -> None:
        self._text = text
        self._starts = starts
        self._lengths = lengths

    @classmethod
    def read(cls, lines: bytes, width: int) -> Self | None:
        """The words of complete lines; None unless each line has `width` of them, in plain UTF-8 and narrow."""
        if not _is_plain(lines):
            return None
        text = Text(lines)
        word_spans = spans(text.codes, width)
        if word_spans is None or int(word_spans[1].max()) > NARROW:
            return None
        return cls(text, *word_spans)

    def __len__(self) -> int:
        return len(self._starts)

    def _column(self, column: int) -> tuple[Places, Places]:
        """(lines,) start and length of the words of a column."""
        return np.ascontiguousarray(self._starts[:, column]), np.ascontiguousarray(self._lengths[:, column])

    def words(self, column: int) -> NDArray[np.bytes_]:
        """(lines,) the words of a column."""
        return as_bytes(self._text.words(*self._column(column)))

    def codes(self, column: int) -> tuple[list[bytes], NDArray[np.int32]]:
        """The distinct words of a column, and each line's index into them; cheap if they rarely change."""
        start, length = self._column(column)
        is_new = np.zeros(len(start), dtype=np.bool_)
        is_new[0] = True
        for piece in self._text.words(start, length):
            is_new[1:] |= piece[1:] != piece[:-1]
        codes: dict[bytes, int] = {}
        words = self._text.slices(start[is_new], length[is_new])
        blocks = [codes.setdefault(code, len(codes)) for code in words]
        return list(codes), np.array(blocks, dtype=np.int32)[np.cumsum(is_new) - 1]

    def ranks(self, column: int) -> NDArray[np.int32] | None:
        """(lines,) a column of unsigned numbers of at most eight digits; None if a word is anything else."""
        return whole_numbers(self._text, *self._column(column))

    def scores(self, column: int) -> NDArray[np.float64] | None:
        """(lines,) a column of finite decimal numbers; None if a word is anything else."""
        return decimals(self._text, *self._column(column))

    def grades(self, column: int) -> NDArray[np.int32] | None:
        """(lines,) a column of whole numbers, also negative ones and ones written as 3.0; None if a word is not one."""
        codes, (start, length) = self._text.codes, self._column(column)
        is_negative = codes[start] == ord("-")
        start, length = start + is_negative, length - is_negative
        has_zero = (
            (length > 2) & (codes[start + length - 2] == ord(".")) & (codes[start + length - 1] == ord("0"))
        )
        length = length - 2 * has_zero
        grade = whole_numbers(self._text, start, length) if length.min() > 0 else None
        return None if grade is None else np.where(is_negative, -grade, grade)


class Parts:
    """Columns that are read in parts. Many parts become one block, so that the next ones use their memory again."""

    def __init__(self) -> None:
        self._parts: list[dict[str, NDArray[Any]]] = []
        self._blocks: list[dict[str, NDArray[Any]]] = []

    def add(self, **columns: NDArray[Any] | None) -> None:
        """Add a part. All parts have the same columns, some of which may be None."""
        self._parts.append({name: column for name, column in columns.items() if column is not None})
        if len(self._parts) == PARTS:
            self._blocks.append(_joined(self._parts))

    def joined(self) -> dict[str, NDArray[Any]]:
        """The whole columns, which are forgotten; empty if there are no parts."""
        self._blocks += self._parts
        self._parts = []
        return _joined(self._blocks)


def _joined(parts: list[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """The columns of parts, each of which loses a column when it is joined."""
    names = list(parts[0]) if parts else []
    columns = {name: np.concatenate([part.pop(name) for part in parts]) for name in names}
    parts.clear()
    return columns


def _is_plain(lines: bytes) -> bool:
    """Return whether lines are UTF-8 without invisible characters. `spans` declines other control characters."""
    if b"\x7f" in lines:
        return False
    if lines.isascii():
        return True
    try:
        lines.decode()
    except UnicodeDecodeError:
        return False
    return INVISIBLE.search(lines) is None


def as_bytes(words: Sequence[Integers]) -> NDArray[np.bytes_]:
    """Words as an array of bytes; its width is a multiple of eight."""
    if len(words) == 1:
        return words[0].view("S8")
    return np.stack(words, axis=1).view(f"S{BYTES * len(words)}")[:, 0]


def spans(codes: NDArray[np.uint8], width: int) -> tuple[Places, Places] | None:
    """(lines, width) start and length of every word; None unless each line has exactly `width` of them.

    The text consists of whole lines; ASCII white space separates the words.
    """
    regular = _regular_spans(codes, np.flatnonzero(codes <= 32), width)
    return regular if regular is not None else _any_spans(codes, width)


def _regular_spans(codes: NDArray[np.uint8], blank: Places, width: int) -> tuple[Places, Places] | None:
    """The spans if one tab or space separates words, the same ones in all lines, and all lines end with LF or CRLF."""
    has_return = len(blank) > width and codes[blank[width - 1]] == 13
    n_blanks = width + int(has_return)
    if len(blank) % n_blanks:
        return None
    kind = codes[blank].reshape(-1, n_blanks)
    first = kind[0].tolist()
    is_usual = first[-1] == 10 and not set(first[: width - 1]) - {9, 32} and (kind == kind[0]).all()
    if not is_usual:
        return None
    starts = np.empty(len(blank), dtype=np.intp)
    starts[0] = 0
    np.add(blank[:-1], 1, out=starts[1:])
    lengths = (blank - starts).reshape(kind.shape)
    starts = starts.reshape(kind.shape)
    if has_return and lengths[:, width].any():
        return None
    starts, lengths = starts[:, :width], lengths[:, :width]
    return (starts, lengths) if lengths.all() else None


_BLANK = np.zeros(256, dtype=np.bool_)
_BLANK[list(b"\t\n\v\f\r ")] = True


def _any_spans(codes: NDArray[np.uint8], width: int) -> tuple[Places, Places] | None:
    in_word = codes > 32
    if not _BLANK[codes[~in_word]].all():
        return None
    edges = np.flatnonzero(in_word[1:] != in_word[:-1]) + 1
    if in_word[0]:
        edges = np.concatenate(([0], edges))
    newlines = np.flatnonzero(codes == 10)
    if len(edges) != 2 * width * len(newlines):
        return None
    starts, ends = edges[0::2].reshape(-1, width), edges[1::2].reshape(-1, width)
    if (ends[:, -1] > newlines).any() or (starts[1:, 0] < newlines[:-1]).any():
        return None
    return starts, ends - starts


def _eight_digits(loaded: Integers, n: Places) -> tuple[Integers, Integers]:
    """The number in the first n of eight loaded characters, 0 if n is 0; and zero where all n are digits.

    It works in place, one array after another, so that the arrays stay in the processor's cache.
    """
    digits = loaded ^ _ZEROS
    digits <<= (BITS - (n << 3)).view(np.uint64)
    doubt = digits + _ABOVE_NINE
    doubt |= digits
    doubt &= _HIGH
    digits *= np.uint64(2561)
    digits >>= np.uint64(8)
    digits &= np.uint64(0x00FF00FF00FF00FF)
    digits *= np.uint64(6553601)
    digits >>= np.uint64(16)
    digits &= np.uint64(0x0000FFFF0000FFFF)
    digits *= np.uint64(42949672960001)
    digits >>= np.uint64(32)
    return digits, doubt


def whole_numbers(text: Text, start: Places, length: Places) -> NDArray[np.int32] | None:
    """Unsigned numbers of at most eight digits; None if a word is anything else."""
    if length.max() > BYTES:
        return None
    value, doubt = _eight_digits(text.load(start), length)
    return None if doubt.any() else value.astype(np.int32)


def decimals(text: Text, start: Places, length: Places) -> NDArray[np.float64] | None:
    """Finite decimal numbers, rounded as Python's float() rounds; None if a word is anything else."""
    is_negative = text.codes[start] == ord("-")
    first, size = start + is_negative, length - is_negative
    digits, places, is_plain = _digits_of(text, first, size)
    value, is_sure = _quotient(digits, places)
    np.negative(value, out=value, where=is_negative)
    rest = np.flatnonzero(~(is_plain & is_sure))
    if len(rest):
        values = floats(text.slices(start[rest], length[rest]))
        if values is None:
            return None
        value[rest] = values
    return value


def _digits_of(text: Text, start: Places, length: Places) -> tuple[Integers, Places, NDArray[np.bool_]]:
    """All digits of a number as an integer, the number of digits after its point, and whether it has nothing else."""
    head = text.load(start)
    n_ahead, is_pointed = _ahead_of_point(head, length)
    digits, doubt = _eight_digits(head, np.minimum(n_ahead, BYTES))
    is_zero = (digits == 0) & is_pointed  # the zero of 0.5 is no digit of the integer
    n_behind = length - n_ahead
    n_behind -= is_pointed
    behind = start + n_ahead
    behind += 1
    for skip in range(0, DIGITS, BYTES):
        is_longer = n_behind > skip
        if not is_longer.any():
            break
        rows = slice(None) if is_longer.all() else np.flatnonzero(is_longer)
        n = np.minimum(n_behind[rows] - skip, BYTES)
        value, more = _eight_digits(text.load(np.minimum(behind[rows] + skip, len(text.codes))), n)
        doubt[rows] |= more
        digits[rows] *= _TENS[n]
        digits[rows] += value
    n_digits = np.where(is_zero, 0, n_ahead) + n_behind
    is_plain = (doubt == 0) & (n_digits >= 1) & (n_digits <= DIGITS) & (n_ahead <= BYTES)
    return digits, np.minimum(n_behind, DIGITS), is_plain


def _ahead_of_point(head: Integers, length: Places) -> tuple[Places, NDArray[np.bool_]]:
    """The number of characters before the point of a word (all if it has no point), and whether it has one."""
    other = head ^ _POINTS
    points = other - _ONES
    points &= ~other
    points &= _HIGH
    lowest = points & (~points + np.uint64(1))
    lowest >>= np.uint64(7)
    lowest *= _PLACE_OF
    lowest >>= np.uint64(56)
    place = lowest.view(np.intp)
    is_pointed = (points != 0) & (place < length)
    return np.where(is_pointed, place, length), is_pointed


def _quotient(digits: Integers, places: Places) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """digits / 10^places rounded once, and whether that is certain.

    Up to 2^53 both are exact, and the division rounds correctly. Above, the exact remainder of the division (Dekker's
    product) is added. The result is uncertain only very near the middle between two doubles.
    """
    tens = _EXACT_TENS[places]
    high = digits.astype(np.float64)
    quotient = high / tens
    large = np.flatnonzero(digits >= np.uint64(1 << 53))
    is_sure = np.ones(len(digits), dtype=np.bool_)
    if len(large):
        rest = (digits[large] - high[large].astype(np.uint64)).view(np.int64).astype(np.float64)
        quotient[large], is_sure[large] = _corrected(quotient[large], tens[large], high[large], rest)
    return quotient, is_sure


def _corrected(
    quotient: NDArray[np.float64],
    tens: NDArray[np.float64],
    high: NDArray[np.float64],
    rest: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    product = quotient * tens
    q_high, q_low = _halves(quotient)
    t_high, t_low = _halves(tens)
    error = ((q_high * t_high - product) + q_high * t_low + q_low * t_high) + q_low * t_low
    missing = (((high - product) - error) + rest) / tens
    corrected = quotient + missing
    is_sure = (quotient + missing * (1 + _CLOSE)) == (quotient + missing * (1 - _CLOSE))
    return corrected, is_sure


def _halves(value: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    scaled = value * _SPLITTER
    high = scaled - (scaled - value)
    return high, value - high


def floats(words: Sequence[bytes]) -> NDArray[np.float64] | None:
    """Finite decimal numbers, one after the other; None if a word is anything else. `decimals` accepts the same."""
    if b"".join(words).translate(None, _CHARACTERS):
        return None
    try:
        value = np.array(list(map(float, words)), dtype=np.float64)
    except ValueError:
        return None
    return value if np.isfinite(value).all() else None
