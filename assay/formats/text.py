"""Decodes whole text files and cuts them into lines. Every reader begins here, so that all obey the same rules.

UTF-8 with or without a byte-order mark, UTF-16 with or without one, UTF-32 with one, and the encoding that XML declares
are decoded as a whole. In any other file, a line that is not UTF-8 is Windows-1252, and the other lines stay UTF-8.
U+FEFF at the start of a line, which `cat a b` makes, and Ctrl-Z at the end of the file are removed. A line ends with
LF, CR LF or CR, and with no other character: `str.splitlines` would also cut at U+0085, U+2028 and form feeds. Line
numbers are those of an editor.
"""

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from assay.errors import InputError, InputWarning
from assay.formats.compression import Unreadable, read_file, utf16_of

BOM = b"\xef\xbb\xbf"
FALLBACK = "windows-1252"  # Latin-1 with more letters
ACCEPTED = "Text in UTF-8."
SHOWN = 5  # lines that a note names

_UTF32 = (b"\xff\xfe\0\0", b"\0\0\xfe\xff")
_DECLARATION = re.compile(rb"""\s*+<\?xml\b[^<>]*?encoding\s*=\s*["']([\w.:-]{1,20})["'][^<>]*\?>""")
_DECLARED = re.compile(rb"""\sencoding\s*+=\s*+["'][\w.:-]++["']""")
# The codecs that XML may declare. Others of Python need more than linear time, or decode no text.
_KNOWN = re.compile(
    r"(?:iso-?8859-\d{1,2}|latin-?1|windows-\d{4}|cp\d{4}|koi8-[ru]|gb2312|gbk|gb18030|big5|euc-jp|euc-kr|shift_jis)"
)
_kept: ContextVar[list[str] | None] = ContextVar("notes", default=None)
_INNER_MARK = re.compile(rb"(?<=[\r\n])(?:\xef\xbb\xbf)+")
_LINE_END = re.compile(rb"\r\n?|\n")


class Undecodable(Unreadable, InputError):
    """A file, or a line of it, is in no encoding that is read."""


class Decoded(NamedTuple):
    """A file in UTF-8, and notes for its reader: phrases without the file's name."""

    data: bytes
    notes: Sequence[str] = ()

    @property
    def text(self) -> str:
        """The file as a string."""
        return self.data.decode()


def decoded(data: bytes, name: str = "") -> Decoded:
    """A file in UTF-8, without byte-order marks and without the encoding that XML declares.

    Raises `Undecodable` if it is not in the encoding that it declares, or a line is neither UTF-8 nor Windows-1252. The
    message cites `name`.
    """
    notes: list[str] = []
    encoding = "utf-32" if data.startswith(_UTF32) else utf16_of(data)
    if encoding:
        data = _from(encoding, data, name)
    data = _as_declared(data.removeprefix(BOM), name, is_decoded=bool(encoding))
    if b"\x1a" in data and (end := data.find(b"\x1a", len(data.rstrip(b"\x1a\r\n\t \0")))) >= 0:
        data = data[:end]
    if data.isascii():
        return Decoded(data)
    try:
        data.decode()
    except UnicodeDecodeError:
        data, numbers = _by_line(data, name)
        verb = "is" if len(numbers) == 1 else "are"
        notes.append(f"{named_lines(numbers)} {verb} not UTF-8 and {verb} read as Windows-1252")
    data = data.removeprefix(BOM)
    if starts := [match.start() for match in _INNER_MARK.finditer(data)]:
        numbers = [1 + len(_LINE_END.findall(data, 0, start)) for start in starts[: SHOWN + 1]]
        numbers += numbers[:1] * (len(starts) - len(numbers))
        notes.append(f"U+FEFF, a byte-order mark, was removed at the start of {named_lines(numbers)}")
        data = _INNER_MARK.sub(b"", data)
    keep_notes(notes)
    return Decoded(data, notes)


def keep_notes(notes: Sequence[str]) -> None:
    """Keep phrases about a file for those who ask for them with `notes_kept`."""
    if (kept := _kept.get()) is not None:
        kept += notes


@contextmanager
def notes_kept() -> Iterator[list[str]]:
    """Keep the notes of all files that are decoded meanwhile, also by readers that return none; as sentences."""
    notes: list[str] = []
    token = _kept.set(notes)
    try:
        yield notes
    finally:
        _kept.reset(token)
        notes[:] = [f"{note[0].upper()}{note[1:]}." for note in dict.fromkeys(notes)]


def read_text(path: str) -> str:
    """The text of a file of the user, as `read_data` reads it."""
    return read_data(path).decode()


def read_data(path: str) -> bytes:
    """A file of the user in UTF-8, decompressed and decoded; `-` is standard input. Notes become warnings.

    Raises `InputError` or `Unreadable` if it cannot be read.
    """
    data, notes = decoded(read_file(path), path)
    for note in notes:
        warnings.warn(f"{path}: {note}", InputWarning, stacklevel=2)
    return data


def lines_of(text: str) -> list[str]:
    """The lines of a text, without their ends.

    >>> lines_of("a\\r\\nb\\rc\\x85d\\n")
    ['a', 'b', 'c\\x85d']
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def without_marks(data: bytes) -> bytes:
    """Data without the byte-order marks at the start of its lines; for readers that keep bytes as they are."""
    has_mark = not data.isascii() and BOM in data  # most files are ASCII, which is faster to find out
    return _INNER_MARK.sub(b"", b"\n" + data)[1:] if has_mark else data


def visible(text: str) -> str:
    """A text for a message: invisible characters and all spaces but the usual one and the tab are escaped.

    >>> visible("T1\\ufeff")
    'T1\\\\ufeff'
    """
    escapes = ((c, f"\\x{ord(c):02x}" if ord(c) < 256 else f"\\u{ord(c):04x}") for c in text)
    return "".join(c if c.isprintable() or c == "\t" else escape for c, escape in escapes)


def listed(names: Sequence[str], most: int = 5) -> str:
    """Return the first names of a list in quotation marks, and how many follow.

    >>> listed(["1", "2", "3"], most=2)
    '“1”, “2” and 1 more'
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(f"“{visible(name)}”" for name in names[:most]) + more


def named_lines(numbers: Sequence[int]) -> str:
    """Lines for a note: the first by number.

    >>> named_lines([3]), named_lines(range(3, 12))
    ('line 3', 'lines 3, 4, 5, 6, 7 and 4 more')
    """
    return f"line{'s' * (len(numbers) > 1)} {named(list(map(str, numbers)))}"


def first_messages(
    complaints: Iterable[tuple[int, str]], n_complaints: int, most: int = SHOWN
) -> tuple[list[str], int]:
    """The first messages, each with the lines that it is about, and the number of the complaints not among them."""
    lines: dict[str, list[int]] = {}
    for number, message in complaints:
        lines.setdefault(message, []).append(number)
    first = list(lines.items())[:most]
    shown = [f"{named_lines(sorted(set(n)))}: {message}" if n[0] else message for message, n in first]
    return shown, n_complaints - sum(len(numbers) for _, numbers in first)


def named(words: Sequence[str]) -> str:
    """The first words of some, and the number of the others."""
    more = f" and {len(words) - SHOWN:,} more" if len(words) > SHOWN else ""
    return f"{', '.join(words[:SHOWN])}{more}"


def _as_declared(data: bytes, name: str, *, is_decoded: bool) -> bytes:
    """XML in UTF-8 without a declared encoding; anything else as it is."""
    declaration = _DECLARATION.match(data, 0, 1000)
    if declaration is None:
        return data
    encoding = declaration[1].decode().lower()
    if not is_decoded and _KNOWN.fullmatch(encoding):
        data = _from(encoding, data, name)
    head, end = declaration[0], declaration.end()  # in ASCII, and so as long in UTF-8
    return _DECLARED.sub(b"", head) + data[end:]


def _from(encoding: str, data: bytes, name: str) -> bytes:
    """Data of another encoding in UTF-8."""
    try:
        return data.decode(encoding).encode()
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
        reason = f"Line {line} is not {encoding.upper()}, which the file begins with or declares."
    except LookupError:
        reason = f"It declares the encoding {encoding}, which is not known."
    raise Undecodable("encoding", reason, ACCEPTED, name=name)


def _by_line(data: bytes, name: str) -> tuple[bytes, list[int]]:
    """Data whose lines that are not UTF-8 are decoded as Windows-1252, and the numbers of those lines."""
    lines, numbers = data.splitlines(keepends=True), []  # of bytes: at LF, CR LF and CR only
    for n, line in enumerate(lines):
        try:
            line.decode()
        except UnicodeDecodeError:
            try:
                lines[n] = line.decode(FALLBACK).encode()
            except UnicodeDecodeError as fault:
                reason = f"Line {n + 1} is neither UTF-8 nor Windows-1252 (byte 0x{line[fault.start]:02x})."
                raise Undecodable("encoding", reason, ACCEPTED, name=name) from None
            numbers.append(n + 1)
    return b"".join(lines), numbers
