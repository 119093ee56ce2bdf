"""Files of the storage, out of it into an archive and back."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from tempfile import TemporaryFile
from typing import BinaryIO

from django.core.files import File
from django.core.files.storage import Storage, default_storage

from assay.digests import sha256_of_file
from backups import tables
from backups.archive import PIECE, Advance, Reader, Writer, file_member
from backups.tables import StoredName


@dataclass
class Restored:
    """The files that a restore has put into the storage: those that it saved, and those that have another name now.

    Until the restored tables replace those in a schema, the files are recorded there as unclaimed.
    """

    schema: str
    saved: list[tuple[Storage, str]] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)

    def save(self, storage: Storage, name: str, content: BinaryIO) -> str:
        tables.record_unclaimed(self.schema, name)
        self.saved.append((storage, name))
        return storage.save(name, File(content))

    def undo(self) -> None:
        """Delete what was saved."""
        for storage, name in self.saved:
            storage.delete(name)
            tables.remove_unclaimed(self.schema, name)


def copy_out(stored: StoredName, archive: Writer) -> bool:
    """Write a file into an archive; False if the storage does not have it."""
    try:
        file = stored.column.storage.open(stored.name, "rb")
    except FileNotFoundError:
        return False
    with file, archive.member(file_member(stored.name)) as member:
        _copy(file, member)
    return True


def copy_in(stored: StoredName, archive: Reader, restored: Restored, *, advance: Advance) -> None:
    """Save a file of an archive. A file that is there already is kept; one with other content keeps its name."""
    storage = stored.column.storage
    expected = archive.manifest.members[file_member(stored.name)]
    is_taken = storage.exists(stored.name)
    if is_taken and _digest(storage, stored.name) == expected.sha256:
        advance(expected.size)
        return
    name = _free_name(stored.name) if is_taken else stored.name
    with TemporaryFile() as copy:  # complete and checked before the storage gets it
        with archive.member(file_member(stored.name), advance=advance) as member:
            _copy(member, copy)
        copy.seek(0)
        saved = restored.save(storage, name, copy)
    if saved != stored.name:
        restored.renamed[stored.name] = saved


def delete(names: Iterable[StoredName], unclaimed: Iterable[str], *, keep: Iterable[str]) -> None:
    """Delete files that no row names anymore, except those to keep."""
    stored = [(each.column.storage, each.name) for each in names] + [
        (default_storage, name) for name in unclaimed
    ]
    kept = set(keep)
    for storage, name in stored:
        if name not in kept:
            storage.delete(name)


def _digest(storage: Storage, name: str) -> str:
    with storage.open(name, "rb") as file:
        return sha256_of_file(file)  # type: ignore[arg-type]


def _free_name(name: str) -> str:
    return str(PurePosixPath(name).with_name(uuid.uuid4().hex))


def _copy(source: "BinaryIO | File[bytes]", target: BinaryIO) -> None:
    while piece := source.read(PIECE):
        target.write(piece)
