"""Cuts a file into chunks of complete rows, lines or threads, so that several processes can parse them.

In a dump file all content is in attributes of `<row ... />`, where XML allows no `<`, so every `<row` begins a row. A
chunk ends before a `<row`. Anything else (a comment, a CDATA section) is refused, because it might contain `<row`. Rows
that are too long are left out, so the longest accepted row limits the memory.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, Protocol

from assay.digests import RunningSha256
from assay.errors import BadFile
from assay.formats.documents import indexes, tables
from assay.formats.documents.batch import Malformed
from assay.formats.documents.sources import FORUM, HEAD, THREAD, TREC, Form, form_of

CHUNK = 1_500_000  # bytes
INDEX_CHUNK = 4_000_000  # bytes of a formula index, whose rows are short and fast to convert
MAX_ROW = 10_000_000  # bytes: the limit of libxml2 for one attribute
TOO_LONG = f"a row longer than {MAX_ROW:,} bytes"


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Chunk(NamedTuple):
    """Complete rows. `start` and `end` are bytes of the file; `line` is the number of the first line."""

    data: bytes
    start: int
    end: int
    line: int
    n_too_long: int = 0


class Broken(BadFile):
    """A file violates its format; the message names the place."""

    def __init__(self, name: str, line: int, byte: int, message: str) -> None:
        super().__init__(f"{name}, line {line:,} (byte {byte:,}): {message}.")


class Reader:
    """A file as chunks from `position` on. It is always read from its first byte, for the sake of its SHA-256."""

    def __init__(self, file: Readable, name: str, *, position: int = 0, size: int = 0) -> None:
        self.name = name
        self._file = file
        self._position = position
        self._sha256 = RunningSha256()
        self._buffer = self._read(HEAD)
        self.form: Form = form_of(self._buffer, name)
        self._size = size or (INDEX_CHUNK if self.form.name in indexes.FORMS else CHUNK)

    @property
    def sha256(self) -> str:
        """Of the bytes read so far; of the file after the last chunk."""
        return self._sha256.value

    def _read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._sha256.update(data)
        return data

    def __iter__(self) -> Iterator[Chunk]:
        self._line, start = 1, max(self.form.start, self._position)
        try:
            for piece in _pieces_of(self.form)(self._content(start), self.form):
                end = start + piece.length
                yield Chunk(piece.data, start, end, self._line, piece.n_too_long)
                self._line += piece.n_lines
                start = end
        except Malformed as fault:
            raise Broken(self.name, self._line + fault.n_lines, start + fault.offset, fault.message) from None

    def _content(self, first: int) -> Iterator[bytes]:
        """Blocks of the file from byte `first` on. They end at the same bytes whatever `first` is."""
        at, block = 0, self._buffer
        while block:
            skipped = max(0, min(first - at, len(block)))
            self._line += block.count(b"\n", 0, skipped)
            if skipped < len(block):
                yield block[skipped:]
            at += len(block)
            block = self._read(self._size)


class Piece(NamedTuple):
    """A chunk without its position. `data` is empty if a row was too long."""

    data: bytes
    length: int
    n_lines: int
    n_too_long: int = 0


def _piece(data: bytes) -> Piece:
    return Piece(data, len(data), data.count(b"\n"))


def _pieces_of(form: Form) -> "Callable[[Iterator[bytes], Form], Iterator[Piece]]":
    is_table = tables.is_table(form.name)
    if form.name in indexes.FORMS:
        return _cut_at(indexes.cut)
    if form.name == FORUM:
        return _cut_at(lambda buffer: max(0, buffer.rfind(THREAD)), THREAD)
    if form.name == TREC:
        ends = (b"</DOC>", b"</doc>")
        return _cut_at(
            lambda buffer: max([0, *(buffer.rfind(end) + len(end) for end in ends if end in buffer)]), ends[0]
        )
    kind = form.name.partition(" ")[0]
    if is_table and kind != tables.TAB:
        return _cut_at(partial(tables.cut, kind=kind))
    if form.name == "jsonl" or is_table:
        return _cut_at(lambda buffer: buffer.rfind(b"\n") + 1)
    return _row_pieces


def _row_pieces(blocks: Iterator[bytes], form: Form) -> Iterator[Piece]:
    buffer = next(blocks, b"")
    if not buffer and not form.is_empty:
        return  # the import continues after the last row: nothing is left
    while True:
        cut = buffer.rfind(b"<row")
        if cut > 0:
            yield _piece(buffer[:cut])
            buffer = buffer[cut:]
        elif len(buffer) > MAX_ROW:
            dropped, buffer = _drop(buffer, blocks, b"<")
            yield dropped
        block = next(blocks, b"")
        if not block:
            break
        buffer += block
    # The last rows of a dump, before the end tag. Without that tag the file is cut off.
    cut = buffer.rfind(b"</") if not form.is_empty else 0
    wanted = rb"</%s\s*>\s*" % form.name.encode() if not form.is_empty else rb"\s*"
    if cut < 0 or not re.fullmatch(wanted, buffer[cut:], re.IGNORECASE):
        last = len(buffer.rstrip())
        raise Malformed.at(buffer, last, f"the file ends without </{form.name}>: it is cut off")
    yield Piece(buffer[:cut], len(buffer), buffer.count(b"\n"))


def _cut_at(
    last_cut: Callable[[bytes], int], end: bytes = b"\n"
) -> "Callable[[Iterator[bytes], Form], Iterator[Piece]]":
    """A function that cuts blocks where `last_cut` finds the last place; a row that is too long goes on to `end`."""

    def pieces(blocks: Iterator[bytes], _form: Form) -> Iterator[Piece]:
        buffer = b""
        for block in blocks:
            buffer += block
            cut = last_cut(buffer)
            if cut:
                yield _piece(buffer[:cut])
                buffer = buffer[cut:]
            elif len(buffer) > MAX_ROW:
                dropped, buffer = _drop(buffer, blocks, end)
                yield dropped
        if buffer:
            yield _piece(buffer)

    return pieces


def _drop(buffer: bytes, blocks: Iterator[bytes], end: bytes) -> tuple[Piece, bytes]:
    """Leave out the row that fills the buffer, up to the place where the next row may begin."""
    length = n_lines = 0
    at = buffer.find(end, 1)
    while at < 0:
        length += len(buffer)
        n_lines += buffer.count(b"\n")
        buffer = next(blocks, b"")
        if not buffer:
            return Piece(b"", length, n_lines, 1), b""
        at = buffer.find(end)
    dropped = buffer[:at]
    return Piece(b"", length + at, n_lines + dropped.count(b"\n"), 1), buffer[at:]
