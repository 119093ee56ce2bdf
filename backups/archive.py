"""The file of a backup: a ZIP archive of members, with a manifest as its last member.

    manifest.json          what is in the archive, with size and SHA-256 of each member
    tables/NAME.tsv        the rows of a table, in the text format of PostgreSQL's COPY
    files/NAME             a file of the storage

Members are written and read in pieces. The directory of a ZIP archive is at its end, so an archive that was cut off
cannot be opened.
"""

import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

from assay.digests import RunningSha256
from backups.errors import DamagedArchive

FORMAT = 1
MANIFEST = "manifest.json"
MANIFEST_BYTES = 256 * 1024 * 1024  # of a million files
LEVEL = 1  # of compression: rows shrink to a fifth, and a higher level takes several times as long
PIECE = 1024 * 1024
# What the reader of ZIP archives raises if bytes are wrong.
BROKEN = (
    AttributeError,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    KeyError,
    MemoryError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    TypeError,
    ValueError,
)

Advance = Callable[[int], None]


@dataclass(frozen=True)
class Member:
    """Size in bytes and digest of the content of a member."""

    size: int
    sha256: str


@dataclass(frozen=True)
class SequenceState:
    """The last value that a column of numbers was given, and whether a row has it."""

    column: str
    last: int
    is_called: bool


@dataclass(frozen=True)
class TableContent:
    """What the archive contains of a table."""

    name: str
    columns: list[str]
    n_rows: int
    sequences: list[SequenceState]

    @property
    def member(self) -> str:
        return f"tables/{self.name}.tsv"

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        sequences = [SequenceState(**each) for each in values["sequences"]]
        return cls(**{**values, "sequences": sequences})


@dataclass(frozen=True)
class Manifest:
    """What is in an archive.

    `migrations` are pairs of app and name. `missing` are files that rows name and that the storage did not have.
    """

    format: int
    version: str
    created_at: str
    migrations: list[list[str]]
    tables: list[TableContent]
    files: list[str]
    missing: list[str]
    members: dict[str, Member]

    def __str__(self) -> str:
        n_rows = sum(table.n_rows for table in self.tables)
        return f"{n_rows:,} rows of {len(self.tables)} tables and {len(self.files):,} files"

    @property
    def n_bytes(self) -> int:
        return sum(member.size for member in self.members.values())

    def expected(self) -> list[str]:
        """The names of all members."""
        return [MANIFEST, *(table.member for table in self.tables), *map(file_member, self.files)]

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        tables = [TableContent.from_json(each) for each in values["tables"]]
        members = {name: Member(**each) for name, each in values["members"].items()}
        return cls(**{**values, "tables": tables, "members": members})


def file_member(name: str) -> str:
    """The member that contains a file of the storage."""
    return f"files/{name}"


class _Counted:
    """Reads or writes a member, and computes its size and digest."""

    def __init__(self, stream: BinaryIO, advance: Advance) -> None:
        self._stream = stream
        self._digest = RunningSha256()
        self._size = 0
        self._advance = advance

    @property
    def member(self) -> Member:
        return Member(self._size, self._digest.value)

    def write(self, data: bytes) -> int:
        self._count(data)
        return self._stream.write(data)

    def read(self, size: int = PIECE) -> bytes:
        data = self._stream.read(size)
        self._count(data)
        return data

    def _count(self, data: bytes) -> None:
        self._size += len(data)
        self._digest.update(data)
        self._advance(len(data))


class _Checked(_Counted):
    """Reads a member of an archive that may be damaged."""

    def __init__(self, stream: BinaryIO, advance: Advance, problem: str) -> None:
        super().__init__(stream, advance)
        self._problem = problem

    def read(self, size: int = PIECE) -> bytes:
        with _reporting(self._problem):
            return super().read(size)


@contextmanager
def _reporting(problem: str) -> Iterator[None]:
    """Raise DamagedArchive in place of what the reader of ZIP archives raises."""
    try:
        yield
    except BROKEN as error:
        raise DamagedArchive(f"{problem} ({error}).") from error


class Writer:
    """Writes an archive to a file."""

    def __init__(self, file: BinaryIO, *, advance: Advance) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL)
        self._advance = advance
        self.members: dict[str, Member] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    @contextmanager
    def member(self, name: str) -> Iterator[BinaryIO]:
        """A member to write to."""
        with self._zip.open(name, "w", force_zip64=True) as stream:
            counted = _Counted(cast("BinaryIO", stream), self._advance)
            yield cast("BinaryIO", counted)
        self.members[name] = counted.member

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest."""
        self._zip.writestr(MANIFEST, json.dumps(asdict(manifest), ensure_ascii=False))


class Reader:
    """Reads an archive.

    Raises
    ------
    DamagedArchive
        The file is not a complete archive, or what was read does not have its digest.
    """

    def __init__(self, path: Path) -> None:
        self._damaged = f"{path.name} is damaged"
        with _reporting(f"{self._damaged}: it is not a complete archive"):
            self._zip = zipfile.ZipFile(path)
        try:
            with _reporting(f"{self._damaged}: its manifest cannot be read"):
                self.manifest = self._read_manifest()
        except DamagedArchive:
            self._zip.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def check(self, *, advance: Advance) -> None:
        """Read everything, and compare each member with its digest."""
        names, expected = sorted(self._zip.namelist()), sorted(self.manifest.expected())
        if names != expected or expected != sorted([MANIFEST, *self.manifest.members]):
            raise DamagedArchive(f"{self._damaged}: its members are not those of its manifest.")
        for name in self.manifest.members:
            with self.member(name, advance=advance) as stream:
                while stream.read(PIECE):
                    pass

    @contextmanager
    def member(self, name: str, *, advance: Advance) -> Iterator[BinaryIO]:
        """The content of a member. Its digest is compared at the end, so the block must read everything."""
        problem = f"{self._damaged}: {name} cannot be read"
        with _reporting(problem):
            opened = self._zip.open(name)
        with opened:
            checked = _Checked(cast("BinaryIO", opened), advance, problem)
            yield cast("BinaryIO", checked)
        if checked.member != self.manifest.members[name]:
            raise DamagedArchive(f"{self._damaged}: {name} does not have the digest of the manifest.")

    def _read_manifest(self) -> Manifest:
        if self._zip.getinfo(MANIFEST).file_size > MANIFEST_BYTES:
            raise ValueError(f"{MANIFEST} is too large")
        return Manifest.from_json(json.loads(self._zip.read(MANIFEST)))
