"""Writes a tar archive, compressed with gz, as a stream. The same files give the same bytes."""

import gzip
import tarfile
from collections.abc import Iterable
from typing import BinaryIO, NamedTuple

LEVEL = 6


class ArchivedFile(NamedTuple):
    """A file for an archive: its path in it, its size in bytes, and its content."""

    path: str
    n_bytes: int
    content: BinaryIO


def write_tar_gz(target: BinaryIO, files: Iterable[ArchivedFile]) -> None:
    """Write files in their order. Times, owners and modes are fixed.

    Raises `OSError` if a content is shorter than its size, or the target cannot be written.
    """
    with (
        gzip.GzipFile(filename="", fileobj=target, mode="wb", compresslevel=LEVEL, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for file in files:
            info = tarfile.TarInfo(file.path)
            info.size, info.mode, info.mtime = file.n_bytes, 0o644, 0
            archive.addfile(info, file.content)
