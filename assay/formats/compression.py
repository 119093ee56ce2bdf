"""Decompression: the text of a file that is plain, or compressed with gz, xz, bz2 or zip.

The first bytes decide how a file is compressed, not its name. Everything streams, and every limit is checked while it
streams, so that no file can fill the memory or keep a process busy for hours. Runs, qrels, imports and trec_eval all
use this module, with the same limits on packing; only the allowed size differs.
"""

import bz2
import lzma
import math
import struct
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, NamedTuple

from assay.errors import BadFile, InputError

if TYPE_CHECKING:
    import zipfile

STDIN = "-"
# Endings that are not part of a name
SUFFIXES = (".gz", ".xz", ".bz2", ".zip", ".tsv", ".txt", ".trec", ".run", ".res", ".json", ".jsonl")
BLOCK = 1 << 18
XZ_MEMORY = 128 << 20
RATIO_FROM = 16 << 20  # bytes of text from which the ratio is checked; small files of ties compress very well
HEAD = 4096  # bytes that are inspected before a file counts as text
MEMBERS = 10_000  # of one gz, xz or bz2 file; parallel packers make one for each block
ZIP_DIRECTORY = 1 << 16  # bytes; the directory of a zip with one file is never longer
ZIP_END, ZIP64_LOCATOR, ZIP64_END = 22, 20, 56  # bytes of the records at the end of a zip

MAGIC = (
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"Rar!", "a RAR archive"),
    (b"\xd0\xcf\x11\xe0", "an Office document, such as a workbook, which can be saved as CSV"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3", "a database"),
    (b"{\\rtf", "an RTF document"),
    (b"<!DOCTYPE html", "a web page"),
    (b"<html", "a web page"),
)
CONTENTS = {  # of a zip that is a document, by a file in it
    "xl/workbook.xml": "an Excel workbook",
    "xl/workbook.bin": "an Excel workbook",
    "word/document.xml": "a Word document",
    "ppt/presentation.xml": "a PowerPoint presentation",
    "META-INF/manifest.xml": "an OpenDocument file",
    "Index/Document.iwa": "a Numbers or Pages document",
}
DESKTOP = frozenset({".ds_store", "desktop.ini", "thumbs.db", "ehthumbs.db", ".directory"})
# A word such as BZh1 is not enough: the first block, or the end of an empty file, follows.
BZIP2 = tuple((b"BZh%d%s" % (n, mark), "bz2") for n in range(1, 10) for mark in (b"1AY&SY", b"\x17rE8P\x90"))
GZIP, XZ, ZIP, EMPTY_ZIP = b"\x1f\x8b", b"\xfd7zXZ\x00", b"PK\x03\x04", b"PK\x05\x06"
ARCHIVES = ((GZIP, "gz"), (XZ, "xz"), *BZIP2, (ZIP, "zip"), (EMPTY_ZIP, "zip"))
TEXT = "A plain text file in UTF-8, or one such file compressed with gz, xz, bz2 or zip."


class Limits(NamedTuple):
    """The largest size of a file, compressed and decompressed, in bytes, and the number of lines that are accepted.

    The defaults are those of uploads; `docs/reference/formats.md` states them.
    """

    max_file: float = 256 << 20
    max_text: float = 512 << 20
    max_ratio: int = 100  # of decompressed to compressed bytes; the densest real dumps reach about 12
    max_line: int = 4096
    max_lines: float = 5_000_000


# For the files of the user of a command, and for imports, which stream. A packed one must not expand beyond reason.
ANY_SIZE = Limits(max_file=math.inf, max_text=math.inf, max_lines=math.inf)


class Unreadable(BadFile):
    """A file that cannot be read, or not to its end.

    Args:
        code: names the kind of problem.
        reason: what is wrong with the file, a sentence without the file's name.
        accepted: what is accepted instead, a phrase with a full stop.
        message: all of it in one line, with the name.
    """

    def __init__(self, code: str, reason: str, accepted: str, *, name: str = "") -> None:
        super().__init__(f"{f'{name}: ' if name else ''}{reason} Accepted: {accepted}")
        self.code = code
        self.reason = reason
        self.accepted = accepted

    def named(self, name: str) -> "Unreadable":
        """The same problem, with the name of the file in the message."""
        return Unreadable(self.code, self.reason, self.accepted, name=name)


@contextmanager
def opened(path: Path | str, limits: Limits) -> Iterator[BinaryIO]:
    """A file that can be read from its start more than once, also if it is a pipe; `-` is standard input."""
    size = -1 if math.isinf(limits.max_file) else int(limits.max_file) + 1
    if path == STDIN:
        yield BytesIO(sys.stdin.buffer.read(size))
        return
    path = Path(path) if isinstance(path, str) else path
    with path.open("rb") as file:
        yield file if file.seekable() else BytesIO(file.read(size))


def read_file(path: str) -> bytes:
    """The text of a file, decompressed; `-` is standard input.

    Raises `InputError` if it cannot be read.
    """
    try:
        with opened(path, ANY_SIZE) as file:
            return text_of(file, limits=ANY_SIZE)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except Unreadable as error:
        raise InputError(f"{path}: {error}") from None


def names_of_files(paths: Sequence[str]) -> dict[str, str]:
    """The name of each file in the output: without folder and suffixes, or its path if two names would be equal."""
    stems: dict[str, str] = {}
    for path in paths:
        name = Path(path)
        while name.suffix.lower() in SUFFIXES and name.stem:
            name = name.with_suffix("")
        stems[path] = name.name if path != STDIN else "stdin"
    n_runs = Counter(stems.values())
    return {path: path if n_runs[stem] > 1 else stem for path, stem in stems.items()}


def text_of(source: BinaryIO, name: str = "", limits: Limits | None = None) -> bytes:
    """The text of a seekable file, decompressed, in memory; the arguments and errors are those of `unpack`."""
    return b"".join(unpack(source, limits or Limits(), name=name))


def is_packed(data: bytes) -> bool:
    """Return whether the bytes begin as a gz, xz, bz2 or zip file does."""
    return any(data.startswith(magic) for magic, _ in ARCHIVES)


def unpack(source: BinaryIO, limits: Limits, *, name: str = "") -> Iterator[bytes]:
    """The text of a seekable file in blocks, from its start, decompressed if it is compressed.

    Raises `Unreadable` if the file is not text, is a damaged or encrypted archive or one of several files, or exceeds
    a limit. The message cites `name`.
    """
    try:
        size = source.seek(0, 2)
        if size > limits.max_file:
            raise too_large(size, limits)
        source.seek(0)
        head = source.read(512)
        source.seek(0)
        packing = next((packing for magic, packing in ARCHIVES if head.startswith(magic)), "")
        texts = {"gz": _gz, "xz": _xz, "bz2": _bz2, "zip": _zip, "": _blocks}[packing](source)
        blocks = _limited(texts, source if packing else None, limits)
        first = b""
        for block in blocks:
            first += block
            if len(first) >= HEAD:
                break
        if content := _other_content(first):
            subject = f"The {packing} file contains" if packing else "The file is"
            raise Unreadable("not-text", f"{subject} {content}.", TEXT)
        yield first
        yield from blocks
    except Unreadable as error:
        raise error.named(name) from None


class UnpackedFile:
    """The text of a file, read by the number of bytes; for imports, which may be larger than the memory."""

    def __init__(self, source: BinaryIO, name: str) -> None:
        self._blocks = unpack(source, ANY_SIZE, name=name)
        self._rest = b""

    def read(self, size: int) -> bytes:
        """The next bytes: `size` of them, or fewer at the end of the text.

        Raises `Unreadable` as `unpack` does.
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


def _blocks(source: IO[bytes]) -> Iterator[bytes]:
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


def _other_content(head: bytes) -> str:
    """Name the content of a file that is not text, by its first bytes; an empty string for text."""
    start = head[:64].lstrip()
    for magic, content in MAGIC:
        if start[: len(magic)].lower() == magic.lower():
            return content
    for magic, packing in ARCHIVES:
        if head.startswith(magic):
            return f"a {packing} archive"
    if head[257:262] == b"ustar":
        return "a tar archive"
    if utf16_of(head):
        return ""
    head = head[:HEAD]
    controls = len(head) - len(head.translate(None, bytes(set(range(32)) - set(b"\t\n\v\f\r"))))
    return "binary data" if controls > len(head) / 10 else ""


def utf16_of(head: bytes) -> str:
    """The codec of text that begins with a byte-order mark of UTF-16, or whose every second byte is mostly zero."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16-le" if head.startswith(b"\xff") else "utf-16-be"
    head = head[:HEAD]
    even, odd = head[0::2].count(0), head[1::2].count(0)
    is_text = len(head) >= 8 and max(even, odd) > 0.4 * len(head) / 2 and min(even, odd) < max(even, odd) / 4
    return ("utf-16-le" if odd > even else "utf-16-be") if is_text else ""


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
    return _members(
        source, "xz", lambda: lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=XZ_MEMORY), lzma.LZMAError
    )


def _bz2(source: BinaryIO) -> Iterator[bytes]:
    return _members(source, "bz2", bz2.BZ2Decompressor, OSError)


def _members(
    source: BinaryIO,
    packing: str,
    new: Callable[[], lzma.LZMADecompressor | bz2.BZ2Decompressor],
    failure: type[Exception],
) -> Iterator[bytes]:
    """The text of the members of a file, each with a decompressor of its own."""
    unpacker, members = new(), 1
    data = source.read(BLOCK)
    while data or not unpacker.needs_input:
        try:
            yield unpacker.decompress(data, BLOCK)
        except failure as error:
            raise damaged(packing, error) from None
        if unpacker.eof:
            data = (unpacker.unused_data or source.read(BLOCK)).lstrip(b"\0")
            if not data:
                return
            members = _next_member(packing, members)
            unpacker = new()
        else:
            data = source.read(BLOCK) if unpacker.needs_input else b""
    raise damaged(packing, "it ends too early")


def _zip(source: BinaryIO) -> Iterator[bytes]:
    """The text of the only file of a zip, in blocks."""
    import zipfile  # noqa: PLC0415 -- slow to import, and few files are zips

    check_directory(source, ZIP_DIRECTORY)
    try:
        with zipfile.ZipFile(source) as archive:
            refuse_document(archive.namelist())
            files = [info for info in files_in(archive) if not is_of_desktop(info.filename)]
            if len(files) != 1:
                raise Unreadable(
                    "zip-files", f"The zip contains {len(files)} files.", "A zip of exactly one file."
                )
            if files[0].flag_bits & 1:
                raise Unreadable("encrypted", "The zip is encrypted.", "A zip without a password.")
            if files[0].compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                raise Unreadable(
                    "zip-method", "The zip uses an unusual method.", "Deflate, the usual method."
                )
            with archive.open(files[0]) as file:
                yield from _blocks(file)
    except (zipfile.BadZipFile, zlib.error, EOFError, struct.error, NotImplementedError, ValueError) as error:
        raise damaged("zip", error) from None


def files_in(archive: "zipfile.ZipFile") -> list["zipfile.ZipInfo"]:
    """The entries of a zip except folders. Python fails at a file without a name, or at a place outside of the zip.

    Raises `BadZipFile` if an entry cannot be in the zip.
    """
    import zipfile  # noqa: PLC0415 -- slow to import, and few files are zips

    entries = archive.infolist()
    if not all(entry.filename and 0 <= entry.header_offset <= sys.maxsize for entry in entries):
        raise zipfile.BadZipFile("an entry has no name, or begins outside of the file")
    return [entry for entry in entries if not entry.filename.endswith("/")]


def refuse_document(members: Sequence[str], name: str = "") -> None:
    """Raise `Unreadable` if a zip with these members is an office document. The message cites `name`."""
    if content := next((CONTENTS[member] for member in CONTENTS if member in members), ""):
        raise Unreadable("workbook", f"This is {content}; save it as CSV.", TEXT, name=name)


def is_of_desktop(path: str) -> bool:
    """Return whether Finder or Windows added a file to a folder, and so to its zip."""
    name = path.replace("\\", "/").rpartition("/")[2]
    return "__MACOSX/" in path or name.startswith("._") or name.lower() in DESKTOP


def check_directory(source: BinaryIO, limit: int) -> None:
    """Refuse a zip whose list of files has more than `limit` bytes, before anything reads that list.

    Raises `Unreadable` if the list is longer, the zip is damaged, or the file is not a zip.
    """
    size = source.seek(0, 2)
    source.seek(max(0, size - 65_557 - ZIP64_LOCATOR - ZIP64_END))
    tail = source.read()
    end = tail.rfind(EMPTY_ZIP)
    if end < 0 or len(tail) < end + ZIP_END:
        source.seek(0)
        if source.read(2) != b"PK":
            raise Unreadable("no-zip", "The file is not a zip archive.", "A zip archive.")
        raise damaged("zip", "it has no directory")
    (length,) = struct.unpack_from("<L", tail, end + 12)
    locator = end - ZIP64_LOCATOR
    if locator >= ZIP64_END and tail.startswith(b"PK\x06\x07", locator):  # above 4 GB, or written by a stream
        (place,) = struct.unpack_from("<Q", tail, locator + 8)
        record = locator - ZIP64_END
        if place + len(tail) - size != record or not tail.startswith(b"PK\x06\x06", record):
            raise damaged("zip", "its zip64 record is not where it should be")
        (length,) = struct.unpack_from("<Q", tail, record + 40)
    if length > limit:
        accepted = "A zip of exactly one file; gz is safest."
        raise Unreadable("zip-files", "The zip contains many files.", accepted)
    source.seek(0)
