"""Reads archives of several files: zip, and tar compressed with gz or xz. No name in an archive becomes a path on disk.

The number of files, the length of a zip's directory, the unpacked size and its ratio to the packed size are limited
before anything is unpacked, or while it is.
"""

import lzma
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from tempfile import SpooledTemporaryFile, TemporaryFile
from typing import BinaryIO, cast

from assay.formats.compression import (
    EMPTY_ZIP,
    RATIO_FROM,
    ZIP,
    Limits,
    Unreadable,
    damaged,
    too_large,
    unpack_blocks,
)
from assay.formats.zip_files import check_directory

ACCEPTED = "A zip, or a tar compressed with gz or xz, of at most 10,000 plain files."
MAX_FILES = 10_000
MAX_DIRECTORY = 4 << 20  # bytes of a zip's list of files
IN_MEMORY = 8 << 20
LIMITS = Limits(max_file=4 << 30, max_text=16 << 30)
METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


@dataclass(frozen=True)
class Archive:
    """The files of an archive: path -> bytes. `open` gives the content of one, from its start and seekable."""

    files: dict[str, int]
    open: Callable[[str], BinaryIO]


@contextmanager
def opened_archive(source: BinaryIO, *, limits: Limits = LIMITS) -> Iterator[Archive]:
    """The files of an archive, as long as the block runs. Folders and what systems add to archives are left out.

    Raises
    ------
    Unreadable
        The file is no such archive, is damaged, exceeds a limit, or has links or paths that lead out of it.
    """
    size = source.seek(0, 2)
    if size > limits.max_file:
        raise too_large(size, limits)
    source.seek(0)
    is_zip = source.read(4) in {ZIP, EMPTY_ZIP}
    source.seek(0)
    try:
        if is_zip:
            check_directory(source, MAX_DIRECTORY)
            with zipfile.ZipFile(source) as zipped:
                yield _of_zip(zipped, limits)
            return
        with TemporaryFile() as plain:
            for block in unpack_blocks(source, limits):
                plain.write(block)
            plain.seek(0)
            with tarfile.open(fileobj=plain, mode="r:") as tar:
                yield _of_tar(tar)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError) as error:
        raise damaged("archive", error) from None


def _of_zip(zipped: zipfile.ZipFile, limits: Limits) -> Archive:
    infos = {
        _safe(info.filename): info for info in zipped.infolist() if _is_wanted(info.filename, info.is_dir())
    }
    _check_number(len(zipped.infolist()))
    for info in infos.values():
        if info.flag_bits & 1 or info.compress_type not in METHODS:
            raise Unreadable(
                "zip-method", f"{info.filename} is encrypted or packed in an unusual way.", ACCEPTED
            )
        if info.file_size > RATIO_FROM and info.file_size > limits.max_ratio * info.compress_size:
            raise Unreadable(
                "ratio",
                f"{info.filename} decompresses to more than {limits.max_ratio} times its size.",
                ACCEPTED,
            )
    if sum(info.file_size for info in infos.values()) > limits.max_text:
        raise Unreadable("text-too-large", "Decompressed, the archive is too large.", ACCEPTED)

    def opened(path: str) -> BinaryIO:
        content = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - the caller closes it
        with zipped.open(infos[path]) as packed:
            shutil.copyfileobj(packed, content)
        content.seek(0)
        return cast("BinaryIO", content)

    return Archive({path: info.file_size for path, info in infos.items()}, opened)


def _of_tar(tar: tarfile.TarFile) -> Archive:
    infos: dict[str, tarfile.TarInfo] = {}
    for n, info in enumerate(tar):
        _check_number(n)
        if not _is_wanted(info.name, info.isdir()):
            continue
        if not info.isreg() or info.issparse():
            raise Unreadable("links", f"{info.name} is a link or a device.", ACCEPTED)
        infos[_safe(info.name)] = info
    return Archive(
        {path: info.size for path, info in infos.items()},
        lambda path: cast("BinaryIO", tar.extractfile(infos[path])),
    )


def _is_wanted(name: str, is_folder: bool) -> bool:
    last = name.rpartition("/")[2]
    return not (is_folder or name.startswith("__MACOSX/") or last == ".DS_Store" or last.startswith("._"))


def _safe(name: str) -> str:
    """A path inside the archive, without `./`."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or not name.isprintable():
        raise Unreadable("path", f"The path {name[:100]!r} leads out of the archive.", ACCEPTED)
    return str(path)


def _check_number(n: int) -> None:
    if n > MAX_FILES:
        raise Unreadable("files", f"The archive has more than {MAX_FILES:,} files.", ACCEPTED)
