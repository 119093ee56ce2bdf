"""The storage in a folder: of one machine, or of a file system that all machines share."""

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from django.core.files import File
from django.core.files.storage import FileSystemStorage

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
