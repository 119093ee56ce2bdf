"""Opening the files that are imported: plain, gz, xz or zip; and telling by their content what they hold."""

import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

from assay.errors import Refused
from assay.formats.documents.batch import Unusable
from assay.formats.formulas import indexes

BOM = b"\xef\xbb\xbf"
DUMPS = ("posts", "users", "tags", "comments", "postlinks", "votes")  # in the order in which they go in
HEAD = 65_536
MAX_RATIO = 200  # of unpacked to packed bytes; the densest real dumps reach about 12
FREE = 64 * 2**20  # bytes that may be unpacked whatever the ratio

_SPACE = b" \t\r\n"
# Possessive: what it has taken it keeps. A hostile head would else hold the process for minutes.
_PROLOG = re.compile(
    rb"\s*+(?:<\?xml\b([^>]*)\?>)?+\s*+(?:<!--.*?-->\s*+)*+<([A-Za-z][\w.-]*+)[^<>]*?(/?)>", re.DOTALL
)
_ENCODING = re.compile(rb"""encoding\s*=\s*["']([^"']*)["']""")


class BadFile(Refused):
    """A file that cannot be imported as it is."""

    title = "This file cannot be imported"


class Form(NamedTuple):
    """What a file holds. `start` is the byte behind a root tag or header line; `is_empty` says that the root is all."""

    name: str
    start: int = 0
    is_empty: bool = False


def files_of(paths: Iterable[Path]) -> Iterator[Path]:
    """The files that some paths name, in their order; a folder stands for the files in it, by name."""
    for path in paths:
        yield from sorted(one for one in path.iterdir() if one.is_file()) if path.is_dir() else [path]


def unpacked(file: BinaryIO, name: str) -> "BinaryIO | Unpacked":
    """The content of a file, whether packed or not. Never more than a reader asks for stands in memory.

    Raises
    ------
    BadFile
        It is packed in a way that is not taken, or a zip with other than one file.
    """
    magic = file.read(6)
    file.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return Unpacked(gzip.GzipFile(fileobj=file), file, name)
    if magic == b"\xfd7zXZ\x00":
        return Unpacked(lzma.LZMAFile(file), file, name)
    if magic.startswith(b"PK\x03\x04"):
        return Unpacked(_only_member(file, name), file, name)
    if magic == b"7z\xbc\xaf\x27\x1c":
        raise BadFile(f"{name} is a 7z archive. Unpack it first, and import the files or the folder.")
    return file


def _only_member(file: BinaryIO, name: str) -> io.BufferedIOBase:
    try:
        archive = zipfile.ZipFile(file)
        members = [member for member in archive.infolist() if not member.is_dir()]
        if len(members) != 1:
            raise BadFile(f"{name} is a zip of {len(members)} files; a zip must hold one. Unpack it first.")
        return archive.open(members[0])  # type: ignore[return-value]
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise BadFile(f"{name} cannot be unpacked: {error}.") from None


@dataclass
class Unpacked:
    """Reads a packed file; refuses what is broken, and what unpacks to out of all proportion."""

    content: io.BufferedIOBase
    packed: BinaryIO
    name: str
    position: int = 0

    def read(self, size: int) -> bytes:
        try:
            data = self.content.read(size)
        except (OSError, EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile) as error:
            raise BadFile(f"{self.name} cannot be unpacked behind byte {self.position}: {error}.") from None
        self.position += len(data)
        if self.position > FREE + MAX_RATIO * self.packed.tell():
            raise BadFile(
                f"{self.name} unpacks to more than {MAX_RATIO} times its size, as no dump does. "
                "If it is right, unpack it first."
            )
        return data


def form_of(head: bytes, name: str) -> Form:
    """What a file holds, told from its first 64 kB: a dump's root element, `topics`, `jsonl` or a formula index.

    Raises
    ------
    BadFile
        It is none of these.
    """
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in head[:4]:
        raise BadFile(f"{name} is in UTF-16 or UTF-32; files must be in UTF-8.")
    offset = len(BOM) if head.startswith(BOM) else 0
    text = head[offset:]
    if text.lstrip(_SPACE).startswith(b"{"):
        return Form("jsonl", offset)
    index = _index_of(text, name)
    if index is not None:
        return Form(index[0].form, offset + index[1])
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise BadFile(f"{name} has a DOCTYPE; none is taken, for entities are never expanded.")
    prolog = _PROLOG.match(text)
    if prolog is None:
        begin = text[:40].decode(errors="replace")
        raise BadFile(
            f"{name} is neither XML nor one JSON object a line nor a formula index; it begins with {begin!r}."
        )
    encoding = _ENCODING.search(prolog[1] or b"")
    if encoding and encoding[1].lower() not in {b"utf-8", b"utf8", b"us-ascii", b"ascii"}:
        raise BadFile(
            f"{name} says that it is in {encoding[1].decode(errors='replace')}; files must be in UTF-8."
        )
    return Form(prolog[2].decode().lower(), offset + prolog.end(), bool(prolog[3]))


def _index_of(text: bytes, name: str) -> tuple[indexes.Index, int] | None:
    try:
        return indexes.recognized(text, name)
    except Unusable as fault:
        raise BadFile(f"{name}, line 1: {fault}.") from None
