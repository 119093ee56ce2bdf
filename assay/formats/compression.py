"""What a file is wrapped in: plain, gz, xz, or a zip of one file, told apart by its first bytes and never by its name.

Everything streams, and every cap is checked while it streams, so that no file can take the memory or the day.
"""

import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

BLOCK = 1 << 18
XZ_MEMORY = 128 << 20
RATIO_FROM = 16 << 20  # small files of ties compress very well; the ratio is looked at from here on
HEAD = 4096  # bytes that are looked at before anything is taken for text
MEMBERS = 10_000  # of one gz or xz file; parallel packers make one for each block
ZIP_DIRECTORY = 1 << 16  # bytes that the directory of a zip with one file never needs

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


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a file may be, wrapped and unwrapped, in bytes, and how many lines are taken."""

    max_file: int = 256 << 20
    max_text: int = 512 << 20
    max_ratio: int = 100
    max_line: int = 4096
    max_lines: int = 5_000_000


class Unreadable(Exception):
    """A file that cannot be read at all, or not to its end."""

    def __init__(self, code: str, message: str, accepted: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.accepted = accepted


TEXT = "A plain text file in UTF-8, or such a file packed with gz, xz or zip."


@contextmanager
def opened(path: Path, limits: Limits) -> Iterator[BinaryIO]:
    """A file that can be read from its start more than once, also where the path is that of a pipe."""
    with path.open("rb") as file:
        yield file if file.seekable() else BytesIO(file.read(limits.max_file + 1))


def unwrap(source: BinaryIO, size: int, limits: Limits) -> Iterator[bytes]:
    """The text of a file in blocks, unpacked if it is packed.

    Raises
    ------
    Unreadable
        It is no text, a damaged or encrypted archive, an archive of several files, or larger than allowed.
    """
    if size > limits.max_file:
        raise too_large(size, limits)
    source.seek(0)
    head = source.read(512)
    source.seek(0)
    kind = next((kind for magic, kind in ARCHIVES if head.startswith(magic)), "")
    blocks = {"gz": _gz, "xz": _xz, "zip": _zip, "": _plain}[kind](source)
    yield from _checked(_capped(blocks, size if kind else 0, limits), kind)


def too_large(size: int, limits: Limits) -> Unreadable:
    """The complaint about a file above the cap, also for doors that see the size before the bytes."""
    return Unreadable(
        "file-too-large",
        f"The file has {_megabytes(size)}.",
        f"At most {_megabytes(limits.max_file)}; gz and xz make runs five to ten times smaller.",
    )


def _megabytes(size: int) -> str:
    return f"{size / (1 << 20):,.0f} MB"


def _plain(source: BinaryIO) -> Iterator[bytes]:
    while block := source.read(BLOCK):
        yield block


def _capped(blocks: Iterator[bytes], packed: int, limits: Limits) -> Iterator[bytes]:
    total = 0
    for block in blocks:
        total += len(block)
        if total > limits.max_text:
            raise Unreadable(
                "text-too-large",
                f"Unpacked, the file has more than {_megabytes(limits.max_text)}.",
                f"At most {_megabytes(limits.max_text)} of text.",
            )
        if packed and total > RATIO_FROM and total > limits.max_ratio * packed:
            raise Unreadable(
                "ratio",
                f"The file unpacks to more than {limits.max_ratio} times its size, as no run does.",
                "The run itself, packed once; or the plain text file.",
            )
        yield block


def _checked(blocks: Iterator[bytes], kind: str) -> Iterator[bytes]:
    """Pass the blocks on if the first of them can be text."""
    first = b""
    for block in blocks:
        first += block
        if len(first) >= HEAD:
            break
    what = _what(first)
    if what:
        where = f"Inside the {kind} is" if kind else "This is"
        raise Unreadable("not-text", f"{where} {what}, not a run.", TEXT)
    yield first
    yield from blocks


def _what(head: bytes) -> str:
    """What a file is by its first bytes, if it is not text; else an empty string."""
    lowered = head[:64].lstrip()
    for magic, what in MAGIC:
        if lowered[: len(magic)].lower() == magic.lower():
            return what
    for magic, what in ARCHIVES:
        if head.startswith(magic):
            return f"a {what} archive"
    if head[257:262] == b"ustar":
        return "a tar archive"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ""
    start = head[:4096]
    if len(start) >= 8 and _looks_like_utf16(start):
        return "UTF-16 text without a byte-order mark (save it as UTF-8)"
    controls = len(start) - len(start.translate(None, bytes(set(range(32)) - set(b"\t\n\v\f\r"))))
    return "binary data" if controls > len(start) / 10 else ""


def _looks_like_utf16(start: bytes) -> bool:
    zeros = max(start[0::2].count(0), start[1::2].count(0))
    return zeros > 0.4 * len(start) / 2 and min(start[0::2].count(0), start[1::2].count(0)) < zeros / 4


def _damaged(kind: str, why: object) -> Unreadable:
    return Unreadable("damaged", f"The {kind} file is damaged or cut off ({why}).", "A complete file.")


def _gz(source: BinaryIO) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(wbits=31)
    members = 1
    data = source.read(BLOCK)
    while data:
        try:
            yield unpacker.decompress(data, BLOCK)
        except zlib.error as error:
            raise _damaged("gz", error) from None
        data = unpacker.unconsumed_tail or unpacker.unused_data or source.read(BLOCK)
        if unpacker.eof:
            data = data.lstrip(b"\0") or source.read(BLOCK)  # padding behind a member is allowed
            if not data:
                return
            members = _next_member("gz", members)
            unpacker = zlib.decompressobj(wbits=31)
    yield unpacker.flush(BLOCK)
    if not unpacker.eof:
        raise _damaged("gz", "it ends too early")


def _next_member(kind: str, members: int) -> int:
    if members >= MEMBERS:
        message = f"The {kind} file has more than {MEMBERS:,} members."
        raise Unreadable("members", message, "The run packed once, as a whole.")
    return members + 1


def _xz(source: BinaryIO) -> Iterator[bytes]:
    unpacker = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=XZ_MEMORY)
    members = 1
    data = source.read(BLOCK)
    while data or not unpacker.needs_input:
        try:
            yield unpacker.decompress(data, BLOCK)
        except lzma.LZMAError as error:
            raise _damaged("xz", error) from None
        if unpacker.eof:
            data = (unpacker.unused_data or source.read(BLOCK)).lstrip(b"\0")
            if not data:
                return
            members = _next_member("xz", members)
            unpacker = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=XZ_MEMORY)
        else:
            data = source.read(BLOCK) if unpacker.needs_input else b""
    raise _damaged("xz", "it ends too early")


def _zip(source: BinaryIO) -> Iterator[bytes]:
    _check_zip_directory(source)
    try:
        with zipfile.ZipFile(source) as archive:
            info = _only_file(archive)
            with archive.open(info) as file:
                while block := file.read(BLOCK):
                    yield block
    except (zipfile.BadZipFile, zlib.error, EOFError, struct.error, NotImplementedError) as error:
        raise _damaged("zip", error) from None


def _only_file(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    files = [
        info for info in archive.infolist() if not info.is_dir() and not info.filename.startswith("__MACOSX/")
    ]
    if len(files) != 1:
        raise Unreadable("zip-files", f"The zip holds {len(files)} files.", "A zip of exactly one run.")
    if files[0].flag_bits & 1:
        raise Unreadable("encrypted", "The zip is encrypted.", "A zip without a password.")
    if files[0].compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise Unreadable("zip-method", "The zip is packed by an unusual method.", "Deflate, the usual one.")
    return files[0]


def _check_zip_directory(source: BinaryIO) -> None:
    """Refuse a zip whose list of files alone would fill the memory, before anything reads that list."""
    source.seek(0, 2)
    source.seek(max(0, source.tell() - 65_557))
    tail = source.read()
    end = tail.rfind(EMPTY_ZIP)
    if end < 0 or len(tail) < end + 22:
        raise _damaged("zip", "it has no directory")
    (size,) = struct.unpack_from("<L", tail, end + 12)
    if size > ZIP_DIRECTORY or tail[max(0, end - 20) : end].startswith(b"PK\x06\x07"):
        raise Unreadable(
            "zip-files",
            "The zip holds many files or is of the zip64 kind.",
            "A zip of exactly one run; gz is safest.",
        )
    source.seek(0)
