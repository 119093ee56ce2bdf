"""Decompression: the text of a file that is plain, or compressed with gz, xz or zip.

The first bytes decide how a file is compressed, not its name. Everything streams, and every limit is checked while it
streams, so that no file can fill the memory or keep a process busy for hours. Runs, qrels, imports and trec_eval all
use this module, with the same limits on packing; only the allowed size differs.
"""

import lzma
import math
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple

from assay.errors import BadFile, InputError

STDIN = "-"
BLOCK = 1 << 18
XZ_MEMORY = 128 << 20
RATIO_FROM = 16 << 20  # bytes of text from which the ratio is checked; small files of ties compress very well
HEAD = 4096  # bytes that are inspected before a file counts as text
MEMBERS = 10_000  # of one gz or xz file; parallel packers make one for each block

MAGIC = (
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"BZh", "a bzip2 archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"Rar!", "a RAR archive"),
    (b"\xd0\xcf\x11\xe0", "an Office document"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3", "a database"),
    (b"{\\rtf", "an RTF document"),
    (b"<!DOCTYPE html", "a web page"),
    (b"<html", "a web page"),
)
GZIP, XZ, ZIP, EMPTY_ZIP = b"\x1f\x8b", b"\xfd7zXZ\x00", b"PK\x03\x04", b"PK\x05\x06"
ARCHIVES = ((GZIP, "gz"), (XZ, "xz"), (ZIP, "zip"), (EMPTY_ZIP, "zip"))
TEXT = "A plain text file in UTF-8, or one such file compressed with gz, xz or zip."


class Limits(NamedTuple):
    """How large a file may be, compressed and decompressed, in bytes, and how many lines are accepted."""

    max_file: float = 256 << 20
    max_text: float = 512 << 20
    max_ratio: int = 100  # of decompressed to compressed bytes; the densest real dumps reach about 12
    max_line: int = 4096
    max_lines: int = 5_000_000


IMPORT_LIMITS = Limits(max_file=math.inf, max_text=math.inf)  # an import streams: its size costs no memory


class Unreadable(BadFile):
    """A file that cannot be read, or not to its end.

    Attributes
    ----------
    code : names the kind of problem.
    reason : what is wrong with the file, a sentence without the file's name.
    accepted : what is accepted instead, a phrase with a full stop.
    message : all of it in one line, with the name.
    """

    def __init__(self, code: str, reason: str, accepted: str, *, name: str = "") -> None:
        super().__init__(f"{f'{name}: ' if name else ''}{reason} Accepted: {accepted}")
        self.code = code
        self.reason = reason
        self.accepted = accepted

    def of(self, name: str) -> "Unreadable":
        """The same problem, with the name of the file in the message."""
        return Unreadable(self.code, self.reason, self.accepted, name=name)


@contextmanager
def opened(path: Path | str, limits: Limits) -> Iterator[BinaryIO]:
    """A file that can be read from its start more than once, also if it is a pipe; `-` is standard input."""
    if path == STDIN:
        yield BytesIO(_up_to(sys.stdin.buffer, limits.max_file))
        return
    path = Path(path) if isinstance(path, str) else path
    with path.open("rb") as file:
        yield file if file.seekable() else BytesIO(_up_to(file, limits.max_file))


def read_file(path: str) -> bytes:
    """The text of a file, decompressed; `-` is standard input.

    Raises
    ------
    InputError
        It cannot be read.
    """
    limits = Limits()
    try:
        with opened(path, limits) as file:
            return b"".join(unpack(file, limits))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except Unreadable as error:
        raise InputError(f"{path}: {error}") from None


def _up_to(file: BinaryIO, size: float) -> bytes:
    return file.read() if math.isinf(size) else file.read(int(size) + 1)


def is_packed(data: bytes) -> bool:
    """Whether the bytes begin as a gz, xz or zip file does."""
    return any(data.startswith(magic) for magic, _ in ARCHIVES)


def unpack(source: BinaryIO, limits: Limits, *, name: str = "") -> Iterator[bytes]:
    """The text of a seekable file in blocks, from its start, decompressed if it is compressed.

    Raises
    ------
    Unreadable
        The file is not text, is a damaged or encrypted archive or one of several files, or exceeds a limit. The
        message cites `name`.
    """
    try:
        yield from _unpack(source, limits)
    except Unreadable as error:
        raise error.of(name) from None


def _unpack(source: BinaryIO, limits: Limits) -> Iterator[bytes]:
    size = source.seek(0, 2)
    if size > limits.max_file:
        raise too_large(size, limits)
    source.seek(0)
    head = source.read(512)
    source.seek(0)
    packing = next((packing for magic, packing in ARCHIVES if head.startswith(magic)), "")
    if packing == "zip":  # few files are, and the module zipfile is slow to import
        blocks: Iterator[bytes] = import_module("assay.formats.zip_files").unpack_zip(source)
    else:
        blocks = {"gz": _gz, "xz": _xz, "": _plain}[packing](source)
    yield from _text_only(_limited(blocks, source if packing else None, limits), packing)


def read_text(path: str) -> str:
    """The text of a file in UTF-8, decompressed; `-` is standard input.

    Raises
    ------
    InputError
        It cannot be read, or it is not UTF-8.
    """
    try:
        return read_file(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 (byte {error.start + 1})") from None


class UnpackedFile:
    """The text of a file, read by the number of bytes; for imports, which may be larger than the memory."""

    def __init__(self, source: BinaryIO, name: str) -> None:
        self._blocks = unpack(source, IMPORT_LIMITS, name=name)
        self._rest = b""

    def read(self, size: int) -> bytes:
        """The next bytes: `size` of them, or fewer at the end of the text.

        Raises
        ------
        Unreadable
            As `unpack`.
        """
        parts, length = [self._rest], len(self._rest)
        while length < size and (block := next(self._blocks, None)) is not None:
            parts.append(block)
            length += len(block)
        data = b"".join(parts)
        self._rest = data[size:]
        return data[:size]


def too_large(size: int, limits: Limits) -> Unreadable:
    """The error for a file above the limit, also for callers that know the size before they have the bytes."""
    return Unreadable(
        "file-too-large",
        f"The file has {_megabytes(size)}.",
        f"At most {_megabytes(limits.max_file)}; gz and xz make runs five to ten times smaller.",
    )


def _megabytes(size: float) -> str:
    return f"{size / (1 << 20):,.0f} MB"


def _plain(source: BinaryIO) -> Iterator[bytes]:
    while block := source.read(BLOCK):
        yield block


def _limited(blocks: Iterator[bytes], packed: BinaryIO | None, limits: Limits) -> Iterator[bytes]:
    """Pass the blocks on until a limit is exceeded. `packed` is the compressed file that they come from."""
    total = 0
    for block in blocks:
        total += len(block)
        if total > limits.max_text:
            raise Unreadable(
                "text-too-large",
                f"Decompressed, the file has more than {_megabytes(limits.max_text)}.",
                f"At most {_megabytes(limits.max_text)} of text.",
            )
        if packed is not None and total > RATIO_FROM:
            n_read = packed.tell()  # prose: allow a method of files
            if total > limits.max_ratio * n_read:
                raise Unreadable(
                    "ratio",
                    f"The file decompresses to more than {limits.max_ratio} times its size, as no real data does.",
                    "The file compressed once, or the plain text file.",
                )
        yield block


def _text_only(blocks: Iterator[bytes], packing: str) -> Iterator[bytes]:
    """Pass the blocks on if the first of them can be text."""
    first = b""
    for block in blocks:
        first += block
        if len(first) >= HEAD:
            break
    content = _other_content(first)
    if content:
        subject = f"The {packing} file contains" if packing else "The file is"
        raise Unreadable("not-text", f"{subject} {content}.", TEXT)
    yield first
    yield from blocks


def _other_content(head: bytes) -> str:
    """What a file that is not text contains, by its first bytes; an empty string for text."""
    start = head[:64].lstrip()
    for magic, content in MAGIC:
        if start[: len(magic)].lower() == magic.lower():
            return content
    for magic, packing in ARCHIVES:
        if head.startswith(magic):
            return f"a {packing} archive"
    if head[257:262] == b"ustar":
        return "a tar archive"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ""
    head = head[:HEAD]
    if len(head) >= 8 and _looks_like_utf16(head):
        return "UTF-16 text without a byte-order mark (save it as UTF-8)"
    controls = len(head) - len(head.translate(None, bytes(set(range(32)) - set(b"\t\n\v\f\r"))))
    return "binary data" if controls > len(head) / 10 else ""


def _looks_like_utf16(head: bytes) -> bool:
    zeros = max(head[0::2].count(0), head[1::2].count(0))
    return zeros > 0.4 * len(head) / 2 and min(head[0::2].count(0), head[1::2].count(0)) < zeros / 4


def damaged(packing: str, reason: object) -> Unreadable:
    return Unreadable("damaged", f"The {packing} file is damaged or cut off ({reason}).", "A complete file.")


def _gz(source: BinaryIO) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(wbits=31)
    members = 1
    data = source.read(BLOCK)
    while data:
        try:
            yield unpacker.decompress(data, BLOCK)
        except zlib.error as error:
            raise damaged("gz", error) from None
        data = unpacker.unconsumed_tail or unpacker.unused_data or source.read(BLOCK)
        if unpacker.eof:
            data = data.lstrip(b"\0") or source.read(BLOCK)  # padding after a member is allowed
            if not data:
                return
            members = _next_member("gz", members)
            unpacker = zlib.decompressobj(wbits=31)
    yield unpacker.flush(BLOCK)
    if not unpacker.eof:
        raise damaged("gz", "it ends too early")


def _next_member(packing: str, members: int) -> int:
    if members >= MEMBERS:
        reason = f"The {packing} file has more than {MEMBERS:,} members."
        raise Unreadable("members", reason, "The file compressed once, as a whole.")
    return members + 1


def _xz(source: BinaryIO) -> Iterator[bytes]:
    unpacker = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=XZ_MEMORY)
    members = 1
    data = source.read(BLOCK)
    while data or not unpacker.needs_input:
        try:
            yield unpacker.decompress(data, BLOCK)
        except lzma.LZMAError as error:
            raise damaged("xz", error) from None
        if unpacker.eof:
            data = (unpacker.unused_data or source.read(BLOCK)).lstrip(b"\0")
            if not data:
                return
            members = _next_member("xz", members)
            unpacker = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=XZ_MEMORY)
        else:
            data = source.read(BLOCK) if unpacker.needs_input else b""
    raise damaged("xz", "it ends too early")
