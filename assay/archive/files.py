"""Reads and writes the ZIP file of an archive. The same contents give the same bytes."""

import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Self

from assay.archive.errors import BadArchive
from assay.archive.records import CHECKSUMS, INDEX, Index, parsed
from assay.digests import RunningSha256
from assay.formats.compression import Unreadable
from assay.formats.zip_files import check_directory

NO_DATE = (1980, 1, 1, 0, 0, 0)
MAX_DIRECTORY = 1 << 26  # bytes of the list of files
MAX_CONTENT = 200 << 30  # bytes of all files
MAX_INDEX = 1 << 28
PIECE = 1 << 20
SUM = re.compile(r"([0-9a-f]{64})  (\S.*)")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)

Advance = Callable[[int], None]  # called with the number of further bytes


def nothing(_n: int) -> None:
    """No progress is shown."""


class Writer:
    """Writes the files of an archive into a folder of a ZIP file, and their digests at the end."""

    def __init__(self, file: BinaryIO, folder: str) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)
        self._folder = folder
        self.sums: dict[str, str] = {}

    def add(self, name: str, parts: Iterable[bytes]) -> str:
        """Write a file and return its SHA-256."""
        info = zipfile.ZipInfo(f"{self._folder}/{name}", NO_DATE)
        info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
        digest = RunningSha256()
        with self._zip.open(info, "w", force_zip64=True) as member:
            for part in parts:
                digest.update(part)
                member.write(part)
        self.sums[name] = digest.value
        return digest.value

    def close(self) -> None:
        """Write the digests, and finish the file."""
        sums = "".join(f"{self.sums[name]}  {name}\n" for name in sorted(self.sums))
        self.add(CHECKSUMS, [sums.encode()])
        self._zip.close()


class Reader:
    """Reads an archive. Every name and size is checked before anything is read.

    Raises
    ------
    BadArchive
        The file is not an archive of a track, or is damaged.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.name = name
        with self._reporting("it is not a complete ZIP file"):
            try:
                check_directory(file, MAX_DIRECTORY)
            except Unreadable as error:
                raise BadArchive(f"{name}: {error.reason}") from None
            self._zip = zipfile.ZipFile(file)
        self.folder, self._members = self._checked_members()
        self.sums = self._read_sums()
        self.index: Index = self._read_index()

    @classmethod
    @contextmanager
    def of(cls, path: Path) -> Iterator[Self]:
        with path.open("rb") as file:
            yield cls(file, path.name)

    @property
    def n_bytes(self) -> int:
        """The bytes of all files together."""
        return sum(info.file_size for info in self._members.values())

    @property
    def names(self) -> set[str]:
        return set(self._members)

    def read(self, name: str) -> bytes:
        """The content of a file, which must be listed in the checksums and have its digest."""
        digest, parts = RunningSha256(), []
        for part in self.parts(name):
            digest.update(part)
            parts.append(part)
        if digest.value != self.sums.get(name):
            raise BadArchive(f"{self.name}: {name} does not have the digest of {CHECKSUMS}.")
        return b"".join(parts)

    def digest(self, name: str, advance: Advance = nothing) -> str:
        digest = RunningSha256()
        for part in self.parts(name):
            digest.update(part)
            advance(len(part))
        return digest.value

    def parts(self, name: str) -> Iterator[bytes]:
        if name not in self._members:
            raise BadArchive(f"{self.name}: {name} is missing.")
        with self._reporting(f"{name} cannot be read"), self._zip.open(self._members[name]) as member:
            while part := member.read(PIECE):
                yield part

    def _checked_members(self) -> tuple[str, dict[str, zipfile.ZipInfo]]:
        infos = [info for info in self._zip.infolist() if not info.is_dir()]
        index = next((info.filename for info in infos if info.filename.endswith(f"/{INDEX}")), "")
        folder = index.removesuffix(f"/{INDEX}")
        if not index or not NAME.fullmatch(folder) or "/" in folder:
            raise BadArchive(f"{self.name} is not an archive of a track: it has no {INDEX} in one folder.")
        members = {info.filename.removeprefix(f"{folder}/"): info for info in infos}
        for name, info in members.items():
            if not info.filename.startswith(f"{folder}/") or not NAME.fullmatch(name) or ".." in name:
                raise BadArchive(
                    f"{self.name}: the name {info.filename[:100]!r} does not belong in an archive."
                )
        if len(members) < len(infos):
            raise BadArchive(f"{self.name}: a file occurs twice.")
        if sum(info.file_size for info in infos) > MAX_CONTENT:
            raise BadArchive(f"{self.name}: its files have more than {MAX_CONTENT >> 30} GB together.")
        return folder, members

    def _read_sums(self) -> dict[str, str]:
        self._check_size(CHECKSUMS)
        text = b"".join(self.parts(CHECKSUMS)).decode(errors="replace")
        sums = {}
        for number, line in enumerate(text.splitlines(), 1):
            match = SUM.fullmatch(line)
            if match is None:
                raise BadArchive(f"{self.name}: {CHECKSUMS}, line {number}: expected a SHA-256 and a name.")
            sums[match[2]] = match[1]
        return sums

    def _read_index(self) -> Index:
        self._check_size(INDEX)
        index: Index = parsed(Index, self.read(INDEX), INDEX)
        return index

    def _check_size(self, name: str) -> None:
        if name in self._members and self._members[name].file_size > MAX_INDEX:
            raise BadArchive(f"{self.name}: {name} has more than {MAX_INDEX >> 20} MB.")

    @contextmanager
    def _reporting(self, problem: str) -> Iterator[None]:
        try:
            yield
        except BROKEN as error:
            raise BadArchive(f"{self.name} is damaged: {problem} ({error}).") from error
