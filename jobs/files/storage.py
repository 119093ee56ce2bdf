"""Store and delete files, so that a process that is killed at any moment leaves none behind.

A file is stored once, whole or not at all, under a random name, and never changes. So a copy of it stays valid.
Decision: ADR 22.
"""

import logging
import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path, PurePosixPath

from django.core.files import File
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import transaction
from django.db.models.functions import Now

from assay.errors import Refused
from jobs.models import UnclaimedFile

logger = logging.getLogger(__name__)

TIME_TO_CLAIM = timedelta(days=1)

Store = Callable[[str, "File[bytes]"], str]  # (folder, content) -> name


@contextmanager
def storing() -> Iterator[Store]:
    """A function that stores files. They are deleted if the block raises an exception.

    Enter it outside a transaction: the names must be committed before the files are stored. The transaction that stores
    the names in other rows calls `claim`.

    Raises:
        Refused: The storage did not take a file.
    """
    names: list[str] = []
    is_done = False

    def store(folder: str, content: "File[bytes]") -> str:
        names.append(f"{folder}/{uuid.uuid4().hex}")
        UnclaimedFile.objects.create(name=names[-1], delete_after=Now() + TIME_TO_CLAIM)
        try:
            return default_storage.save(names[-1], content)
        except OSError as error:
            logger.exception("%s could not be stored", names[-1])
            raise _not_stored(f"{error.strerror or error}. Nothing was kept. Try again later.") from error

    try:
        yield store
        is_done = True
    finally:
        if not is_done:
            _delete(names)


def claim(*names: str) -> None:
    """The files belong to rows that this transaction stores.

    Raises:
        Refused: The files were stored so long ago that they may be deleted.
    """
    n, _ = UnclaimedFile.objects.filter(name__in=names).delete()
    if n < len(names):
        raise _not_stored(f"This took longer than {TIME_TO_CLAIM.days} day. Nothing was kept. Try again.")


def _not_stored(message: str) -> Refused:
    return Refused(message, code="not-stored", title="The file could not be stored")


def discard(names: Iterable[str]) -> None:
    """Delete files when this transaction commits, which removes the last row that names them."""
    names = list(names)
    UnclaimedFile.objects.bulk_create([UnclaimedFile(name=name) for name in names], ignore_conflicts=True)
    transaction.on_commit(partial(_delete, names), robust=True)


def _delete(names: Iterable[str]) -> None:
    for name in names:
        try:
            default_storage.delete(name)
        except OSError:
            logger.exception("%s could not be deleted; Celery beat will delete it", name)
        else:
            UnclaimedFile.objects.filter(name=name).delete()


def delete_unclaimed() -> int:
    """Delete the files whose process was killed before it claimed or deleted them. Returns their number."""
    overdue = UnclaimedFile.objects.filter(delete_after__lt=Now())
    return sum(map(_delete_overdue, list(overdue.values_list("pk", flat=True))))


def _delete_overdue(pk: int) -> bool:
    """Delete one file under the lock of its row, so that no process claims it meanwhile."""
    with transaction.atomic():
        file = UnclaimedFile.objects.select_for_update(skip_locked=True).filter(pk=pk).first()
        if file is None:
            return False
        try:
            default_storage.delete(file.name)
        except OSError:
            logger.exception("%s could not be deleted; it is tried again later", file.name)
            return False
        file.delete()
        return True


PIECE = 256 * 1024  # bytes


class FolderStorage(FileSystemStorage):
    """Django's storage in a folder. A file gets its name when it is complete and on the disk."""

    def _save(self, name: str, content: "File[bytes]") -> str:
        part = _part(name)
        try:
            part = super()._save(part, content)  # type: ignore[misc]  # missing in the stubs
            path = Path(self.path(part))
            with path.open("rb") as file:
                os.fsync(file.fileno())
            path.rename(self.path(name))
        except BaseException:
            super().delete(part)
            raise
        return name

    def read_range(self, name: str, start: int, stop: int) -> Iterator[bytes]:
        """Some bytes of a file, in pieces."""
        with Path(self.path(name)).open("rb") as file:
            file.seek(start)
            while start < stop and (piece := file.read(min(PIECE, stop - start))):
                start += len(piece)
                yield piece

    def delete(self, name: str) -> None:
        """Delete a file, or what a killed process stored of it."""
        super().delete(_part(name))
        super().delete(name)


def _part(name: str) -> str:
    """The name of a file while it is not complete."""
    path = PurePosixPath(name)
    return str(path.with_name(f".{path.name}.part"))
