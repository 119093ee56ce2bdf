"""Decompresses zip files, for `compression`: a zip may have one file, and its directory cannot fill the memory."""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from assay.formats.compression import BLOCK, EMPTY_ZIP, Unreadable, damaged

ZIP_DIRECTORY = 1 << 16  # bytes; the directory of a zip with one file is never longer
ZIP_END, ZIP64_LOCATOR, ZIP64_END = 22, 20, 56  # bytes of the records at the end of a zip


def unpack_zip(source: BinaryIO) -> Iterator[bytes]:
    """The text of the only file of a zip, in blocks."""
    check_directory(source, ZIP_DIRECTORY)
    try:
        with zipfile.ZipFile(source) as archive:
            info = _only_file(archive)
            with archive.open(info) as file:
                while block := file.read(BLOCK):
                    yield block
    except (zipfile.BadZipFile, zlib.error, EOFError, struct.error, NotImplementedError, ValueError) as error:
        raise damaged("zip", error) from None


def _only_file(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    files = [
        info for info in archive.infolist() if not info.is_dir() and not info.filename.startswith("__MACOSX/")
    ]
    if len(files) != 1:
        raise Unreadable("zip-files", f"The zip contains {len(files)} files.", "A zip of exactly one file.")
    if files[0].flag_bits & 1:
        raise Unreadable("encrypted", "The zip is encrypted.", "A zip without a password.")
    if files[0].compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise Unreadable("zip-method", "The zip uses an unusual method.", "Deflate, the usual method.")
    return files[0]


def check_directory(source: BinaryIO, limit: int) -> None:
    """Refuse a zip whose list of files has more than `limit` bytes, before anything reads that list.

    Raises
    ------
    Unreadable
        The list is longer, or the zip is damaged.
    """
    size = source.seek(0, 2)
    source.seek(max(0, size - 65_557 - ZIP64_LOCATOR - ZIP64_END))
    tail = source.read()
    end = tail.rfind(EMPTY_ZIP)
    if end < 0 or len(tail) < end + ZIP_END:
        raise damaged("zip", "it has no directory")
    if _directory_size(tail, end, len(tail) - size) > limit:
        raise Unreadable(
            "zip-files", "The zip contains many files.", "A zip of exactly one file; gz is safest."
        )
    source.seek(0)


def _directory_size(tail: bytes, end: int, shift: int) -> int:
    """The bytes of a zip's directory, by the records at its end. `shift`: what to add to a place of the file."""
    locator = end - ZIP64_LOCATOR
    if locator >= ZIP64_END and tail.startswith(
        b"PK\x06\x07", locator
    ):  # larger than 4 GB, or written by a stream
        (place,) = struct.unpack_from("<Q", tail, locator + 8)
        if place + shift != locator - ZIP64_END or not tail.startswith(b"PK\x06\x06", locator - ZIP64_END):
            raise damaged("zip", "its zip64 record is not where it should be")
        return int(struct.unpack_from("<Q", tail, locator - ZIP64_END + 40)[0])
    return int(struct.unpack_from("<L", tail, end + 12)[0])
