"""Copies of remote files on the disk of this machine."""

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

ABANDONED_SECONDS = 24 * 3600  # after which a copy that is not complete belongs to a killed process


class FileCache:
    """A folder with at most `max_bytes` of files, which never change. Processes share it without locks.

    A copy gets its name when it is complete. Copies that were not used for the longest time are removed first; a
    process that is reading one keeps it open.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.folder = folder
        self.max_bytes = max_bytes

    def open(self, key: str, size: int, fetch: Callable[[BinaryIO], object]) -> BinaryIO:
        """The file of a key, which `fetch` writes if there is no copy.

        Raises:
            OSError: `fetch` wrote another number of bytes than `size`, or the disk is full.
        """
        path = self.folder / hashlib.sha256(key.encode()).hexdigest()
        with contextlib.suppress(FileNotFoundError):
            file = path.open("rb")
            with contextlib.suppress(FileNotFoundError):
                os.utime(path)
            return file
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if size > self.max_bytes:
            return _fetched(tempfile.TemporaryFile(dir=self.folder), size, fetch)
        self._make_room(size)
        handle, part = tempfile.mkstemp(dir=self.folder, suffix=".part")
        try:
            copy = _fetched(os.fdopen(handle, "w+b"), size, fetch)
            Path(part).rename(path)
        except BaseException:
            Path(part).unlink(missing_ok=True)
            raise
        return copy

    def _make_room(self, size: int) -> None:
        """Remove copies until another one of some size fits."""
        copies = []
        for path in self.folder.iterdir():
            with contextlib.suppress(FileNotFoundError):
                state = path.stat()
                copies.append((state.st_mtime, state.st_size, path))
        total = size + sum(n_bytes for _, n_bytes, _ in copies)
        for used_at, n_bytes, path in sorted(copies):
            is_abandoned = path.suffix == ".part" and used_at < time.time() - ABANDONED_SECONDS
            if is_abandoned or (total > self.max_bytes and path.suffix != ".part"):
                path.unlink(missing_ok=True)
                total -= n_bytes


def _fetched(file: BinaryIO, size: int, fetch: Callable[[BinaryIO], object]) -> BinaryIO:
    try:
        fetch(file)
        if (n_bytes := file.seek(0, os.SEEK_END)) != size:
            raise OSError(f"{n_bytes:,} of {size:,} bytes arrived")
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file
