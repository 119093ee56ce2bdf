"""Turns a stream of blocks into chunks of complete lines in UTF-8, and notes what it had to normalize.

A line ends with LF, CR LF or a lone CR. Chunks end with LF. The CR of a CR LF stays (it is white space to the
parser); a lone CR becomes LF. Lines are numbered as in an editor.
"""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from assay.formats.compression import Limits, Unreadable

UTF32 = (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")
UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
CUT = 160


@dataclass(slots=True)
class LineNotes:
    """How a text differs from plain UTF-8 with LF. Counts are numbers of lines."""

    has_bom: bool = False
    encoding: str = ""
    n_crlf: int = 0
    n_cr: int = 0
    has_final_newline: bool = True
    too_long: list[int] = field(default_factory=list)  # numbers of the first lines that were left out
    n_too_long: int = 0


class Lines:
    """Iterates over chunks of complete lines, each with the number of its first line."""

    def __init__(self, blocks: Iterator[bytes], limits: Limits) -> None:
        self.notes = LineNotes()
        self._blocks = blocks
        self._limits = limits

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield (number of the first line, chunk). An empty line replaces a line that is too long."""
        number = 1
        for chunk in self._ended(self._decoded()):
            chunk = self._with_short_lines(number, self._with_line_feeds(chunk))
            yield number, chunk
            number += n_lines(chunk)

    def _decoded(self) -> Iterator[bytes]:
        first = next(self._blocks, b"")
        if first.startswith(UTF32):
            raise Unreadable("encoding", "The text is in UTF-32.", "Text in UTF-8.")
        if first[:2] in UTF16:
            self.notes.encoding = "UTF-16"
            yield from self._from_utf16(UTF16[first[:2]], first[2:])
            return
        if first.startswith(codecs.BOM_UTF8):
            self.notes.has_bom = True
            first = first[len(codecs.BOM_UTF8) :]
        yield first
        yield from self._blocks

    def _from_utf16(self, encoding: str, first: bytes) -> Iterator[bytes]:
        decoder = codecs.getincrementaldecoder(encoding)()
        try:
            yield decoder.decode(first).encode()
            for block in self._blocks:
                yield decoder.decode(block).encode()
            yield decoder.decode(b"", final=True).encode()
        except UnicodeDecodeError as error:
            raise Unreadable(
                "encoding", f"The text is not valid UTF-16 ({error.reason}).", "Text in UTF-8."
            ) from None

    def _ended(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Blocks cut at line ends. The kept part of an endless line is shorter than two blocks and the limit."""
        rest: list[bytes] = []
        held = 0
        for block in blocks:
            end = _last_end(block)
            if end:
                yield b"".join(rest) + block[:end]
                rest, held = [], 0
                block = block[end:]
            if block and held <= self._limits.max_line + 2:
                rest.append(block)
            held += len(block)
        last = b"".join(rest)
        if last:
            self.notes.has_final_newline = last.endswith((b"\n", b"\r"))
            yield last if self.notes.has_final_newline else last + b"\n"

    def _with_line_feeds(self, chunk: bytes) -> bytes:
        if b"\r" not in chunk:
            return chunk
        n_cr = chunk.count(b"\r")
        n_crlf = chunk.count(b"\r\n")
        self.notes.n_crlf += n_crlf
        if n_crlf == n_cr:
            return chunk
        self.notes.n_cr += n_cr - n_crlf
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _with_short_lines(self, number: int, chunk: bytes) -> bytes:
        limit = self._limits.max_line
        if len(chunk) <= limit or not _may_be_long(chunk, limit):
            return chunk
        lines = chunk.split(b"\n")
        for i, line in enumerate(lines):
            if len(line) > limit:
                lines[i] = b""
                self.notes.n_too_long += 1
                self.notes.too_long = [*self.notes.too_long, number + i][:10]
        return b"\n".join(lines)


def n_lines(chunk: bytes) -> int:
    """The number of lines of a chunk of complete lines. (bytes.count is slow if there are many.)"""
    return int(np.count_nonzero(np.frombuffer(chunk, dtype=np.uint8) == 10))


def _last_end(block: bytes) -> int:
    """The length of the complete lines in a block; a CR at its end may be half of a CR LF."""
    end = block.rfind(b"\n") + 1
    lone = block.rfind(b"\r", end, len(block) - 1) + 1
    return max(end, lone)


def _may_be_long(chunk: bytes, limit: int) -> bool:
    """Whether a line exceeds the limit. It goes from line end to line end, at most `limit` bytes at a time."""
    position = 0
    while len(chunk) - position > limit:
        end = chunk.rfind(b"\n", position, position + limit + 1)
        if end < 0:
            return True
        position = end + 1
    return False


def shown(line: bytes) -> str:
    """A line as a report shows it: cut, with invisible and undecodable bytes escaped."""
    text = line.rstrip(b"\r\n")[: 4 * CUT].decode("utf-8", "backslashreplace")
    visible = "".join(c if c.isprintable() or c == "\t" else _escaped(c) for c in text)
    return visible if len(visible) <= CUT else visible[: CUT - 1] + "…"


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
