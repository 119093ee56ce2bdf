"""Reads and writes sealed ZIP files: archives of tracks, and backups. The same contents give the same bytes.

All files are in one folder. `SHA256SUMS`, the last of them, has the digest of every other file. The directory of a ZIP
file is at its end, so a file that was cut off cannot be opened.
"""

import errno
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Self, cast

from assay.digests import RunningSha256
from assay.errors import BadFile
from assay.formats.compression import RATIO_FROM, Unreadable, check_directory, files_in

CHECKSUMS = "SHA256SUMS"
NO_DATE = (1980, 1, 1, 0, 0, 0)
MAX_DIRECTORY = 1 << 26  # bytes of the list of files
MAX_CONTENT = 200 << 30  # bytes of all files
MAX_LINE = 1 << 24
PIECE = 1 << 20
SUM = re.compile(r"([0-9a-f]{64})  (\S.*)")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
# What the reader of ZIP files raises if bytes are wrong; `_checked_members` leaves it stored and deflated files.
BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, ValueError)
METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
IS_ENCRYPTED = 1  # the bit of its flags

Advance = Callable[[int], object]  # called with the number of further bytes


class BadArchive(BadFile):
    """A file is not an archive, or is damaged."""

    title = "This archive cannot be used"


@contextmanager
def refusing(part: str, *errors: type[Exception]) -> Iterator[None]:
    """Name the part of an archive that is wrong.

    Raises `BadArchive` instead of these errors.
    """
    try:
        yield
    except errors as error:
        raise BadArchive(f"{part}: {error}.") from None


def nothing(_n: int) -> None:
    """No progress is shown."""


class Writer:
    """Writes files into a folder of a ZIP file, and their digests at the end. `level` is that of the compression."""

    def __init__(self, file: BinaryIO, folder: str, *, level: int | None = None) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)
        self._folder, self._level = folder, level
        self.sums: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def add(self, name: str, parts: Iterable[bytes]) -> str:
        """Write a file and return its SHA-256."""
        for _ in self.adding(name, parts):
            pass
        return self.sums[name]

    def adding(self, name: str, parts: Iterable[bytes]) -> Iterator[None]:
        """Write a file part by part. After each, what is written so far can be sent."""
        info = zipfile.ZipInfo(f"{self._folder}/{name}", NO_DATE)
        info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
        info._compresslevel = self._level  # type: ignore[attr-defined]  # public in Python 3.13
        digest = RunningSha256()
        with self._zip.open(info, "w", force_zip64=True) as member:
            for part in parts:
                digest.update(part)
                member.write(part)
                yield
        self.sums[name] = digest.value

    def close(self) -> None:
        """Write the digests, and finish the file."""
        sums = "".join(f"{self.sums[name]}  {name}\n" for name in sorted(self.sums))
        self.add(CHECKSUMS, [sums.encode()])
        self._zip.close()


class SealedZip:
    """Reads a sealed ZIP file. Every name and size is checked before anything is read.

    `index` is the name of a file that describes the others, and `noun` names the content of the ZIP file. Only files
    of at most `max_whole` bytes are held in memory, and no file may decompress to more than `max_ratio` times its
    size. Nothing reads more of a file than the size that the directory of the ZIP file states.

    Raises:
        BadArchive: The file is not such an archive, or is damaged.
    """

    max_whole = 1 << 28
    max_ratio = math.inf

    def __init__(self, file: BinaryIO, name: str, *, index: str, noun: str) -> None:
        self.name = name
        try:
            check_directory(file, MAX_DIRECTORY)
        except Unreadable as error:
            raise BadArchive(f"{name}: {error.reason}") from None
        with self._reporting("it is not a complete ZIP file"):
            self._zip = zipfile.ZipFile(file)
        self._members = self._checked_members(index, noun)
        self._check_size(CHECKSUMS)
        self.sums: dict[str, str] = {}
        for number, line in enumerate(self._lines(CHECKSUMS, self._parts(CHECKSUMS)), 1):
            match = SUM.fullmatch(line)
            if match is None:
                raise BadArchive(f"{name}: {CHECKSUMS}, line {number}: expected a SHA-256 and a name.")
            self.sums[match[2]] = match[1]

    @classmethod
    @contextmanager
    def of(cls, path: Path) -> Iterator[Self]:
        with path.open("rb") as file:
            yield cls(file, path.name)  # type: ignore[call-arg]  # of the classes below

    @property
    def n_bytes(self) -> int:
        return sum(info.file_size for info in self._members.values())

    @property
    def names(self) -> set[str]:
        return set(self._members)

    def read(self, name: str) -> bytes:
        """The content of a small file."""
        self._check_size(name)
        return b"".join(self.parts(name))

    @contextmanager
    def opened(self, name: str) -> Iterator[BinaryIO]:
        """A file of any size, copied to the disk."""
        with TemporaryFile() as file:
            for part in self.parts(name):
                file.write(part)
            file.seek(0)
            yield cast("BinaryIO", file)

    def lines(self, name: str) -> Iterator[str]:
        """The lines of a file of any size, one after another."""
        return self._lines(name, self.parts(name))

    def parts(self, name: str, advance: Advance = nothing) -> Iterator[bytes]:
        """The content of a file, which must be listed in the checksums and have its digest at the end."""
        digest = RunningSha256()
        for part in self._parts(name):
            digest.update(part)
            advance(len(part))
            yield part
        if digest.value != self.sums.get(name):
            raise BadArchive(f"{self.name}: {name} does not have the digest of {CHECKSUMS}.")

    def problems(self, advance: Advance = nothing) -> list[str]:
        """The differences between all files and the checksums: one is missing, is too many, or has another digest."""
        names, listed = self.names - {CHECKSUMS}, set(self.sums)
        problems = [f"{name} is missing" for name in sorted(listed - names)]
        problems += [f"{name} is not in {CHECKSUMS}" for name in sorted(names - listed)]
        for name in sorted(names & listed):
            digest = RunningSha256()
            for part in self._parts(name):
                digest.update(part)
                advance(len(part))
            if digest.value != self.sums[name]:
                problems.append(f"{name} does not have its digest")
        return problems

    def _check_size(self, name: str) -> None:
        if name in self._members and self._members[name].file_size > self.max_whole:
            raise BadArchive(f"{self.name}: {name} has more than {self.max_whole >> 20} MB.")

    def _lines(self, name: str, parts: Iterator[bytes]) -> Iterator[str]:
        rest, number = b"", 0
        for part in chain(parts, [b""]):
            *lines, rest = (rest + part).split(b"\n")
            lines += [rest] * (not part and rest != b"")
            for line in lines:
                number += 1
                try:
                    yield line.decode()
                except UnicodeDecodeError:
                    raise BadArchive(f"{self.name}: {name}, line {number}: not UTF-8.") from None
            if len(rest) > MAX_LINE:
                raise BadArchive(f"{self.name}: {name} has a line of more than {MAX_LINE >> 20} MB.")

    def _parts(self, name: str) -> Iterator[bytes]:
        if name not in self._members:
            raise BadArchive(f"{self.name}: {name} is missing.")
        with self._reporting(f"{name} cannot be read"), self._zip.open(self._members[name]) as member:
            while part := member.read(PIECE):
                yield part

    def _checked_members(self, index: str, noun: str) -> dict[str, zipfile.ZipInfo]:
        with self._reporting("its list of files cannot be read"):
            infos = files_in(self._zip)
        path = next((info.filename for info in infos if info.filename.endswith(f"/{index}")), "")
        folder = path.removesuffix(f"/{index}")
        if not path or not NAME.fullmatch(folder) or "/" in folder:
            raise BadArchive(f"{self.name} is not {noun}: it has no {index} in one folder.")
        members = {info.filename.removeprefix(f"{folder}/"): info for info in infos}
        for name, info in members.items():
            if not info.filename.startswith(f"{folder}/") or not NAME.fullmatch(name) or ".." in name:
                raise BadArchive(
                    f"{self.name}: the name {info.filename[:100]!r} does not belong in an archive."
                )
            if info.compress_type not in METHODS or info.flag_bits & IS_ENCRYPTED:
                raise BadArchive(f"{self.name}: {name} is encrypted, or not compressed by deflate.")
            if info.file_size > max(RATIO_FROM, self.max_ratio * info.compress_size):
                raise BadArchive(
                    f"{self.name}: {name} decompresses to more than {self.max_ratio} times its size, "
                    f"as no real data does."
                )
        if len(members) < len(infos):
            raise BadArchive(f"{self.name}: a file occurs twice.")
        if sum(info.file_size for info in infos) > MAX_CONTENT:
            raise BadArchive(f"{self.name}: its files have more than {MAX_CONTENT >> 30} GB together.")
        return members

    @contextmanager
    def _reporting(self, problem: str) -> Iterator[None]:
        try:
            yield
        except (*BROKEN, OSError) as error:
            if isinstance(error, OSError) and error.errno != errno.EINVAL:  # of a place before the file
                raise
            raise BadArchive(f"{self.name} is damaged: {problem} ({error}).") from error
