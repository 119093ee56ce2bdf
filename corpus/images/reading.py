"""Read the images of an import: those of a folder with its subfolders, those of a zip archive, or a single file."""

import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple

from assay.errors import BadFile
from assay.formats.compression import check_directory, files_in
from corpus.images.encoding import MAX_BYTES, BadImage
from corpus.locations import files_below, open_raw, path_of

FORM = "images"  # of an import
# Also those that are refused, so that an import names them.
SUFFIXES = {
    *(".png", ".jpg", ".jpeg", ".gif", ".webp"),
    *(".svg", ".bmp", ".tif", ".tiff", ".avif", ".heic", ".ico"),
}
ZIP_DIRECTORY = 64 << 20  # bytes of the list of files of an archive


class ImageFile(NamedTuple):
    """A file, by its path below the folder that all files of the import have in common."""

    name: str
    size: int
    read: Callable[[], bytes]


def is_image(name: str) -> bool:
    """Return whether a file is imported as an image, by its name."""
    path = PurePosixPath(name)
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and "__MACOSX" not in path.parts


def has_images(folder: Path) -> bool:
    """Return whether there are images in a folder or its subfolders."""
    return any(is_image(name) for _, _, names in os.walk(folder) for name in names)


def is_archive_of_images(file: BinaryIO) -> bool:
    """Return whether a file is a zip archive with images."""
    try:
        if not zipfile.is_zipfile(file):
            return False
        check_directory(file, ZIP_DIRECTORY)
        with zipfile.ZipFile(file) as archive:
            return any(is_image(info.filename) for info in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, BadFile):
        return False
    finally:
        file.seek(0)


@contextmanager
def opened_images(location: str, name: str) -> Iterator[Sequence[ImageFile]]:
    """The image files at the location of an import, in the order of their names.

    Raises:
        BadFile: The folder or file cannot be opened.
    """
    folder = path_of(location)
    if folder is not None and folder.is_dir():
        yield _below_common(
            ImageFile(relative, path.stat().st_size, partial(_read_path, path))
            for path, relative in files_below(folder, is_image)
        )
        return
    with open_raw(location, name) as file:
        if not zipfile.is_zipfile(file):
            yield [ImageFile(PurePosixPath(name).name, file.seek(0, 2), partial(_whole, file))]
            return
        try:
            check_directory(file, ZIP_DIRECTORY)
            with zipfile.ZipFile(file) as archive:
                yield _below_common(
                    ImageFile(info.filename, info.file_size, partial(_unpacked, archive, info))
                    for info in files_in(archive)
                    if is_image(info.filename)
                )
        except zipfile.BadZipFile as error:
            raise BadFile(f"{name} is a damaged zip archive: {error}.") from None


def _below_common(files: Iterable[ImageFile]) -> list[ImageFile]:
    """The files by name, without the folders that all of them are in."""
    ordered = sorted(files, key=lambda file: file.name)
    folders = [file.name.split("/")[:-1] for file in ordered]
    pairs = zip(min(folders, default=[]), max(folders, default=[]), strict=False)
    n = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return [file._replace(name="/".join(file.name.split("/")[n:])) for file in ordered]


def _read_path(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadImage(f"not readable: {error.strerror}") from None


def _whole(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read(MAX_BYTES + 1)


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    try:
        with archive.open(info) as file:
            return file.read(MAX_BYTES + 1)
    except RuntimeError:
        raise BadImage("encrypted in the archive") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError):
        raise BadImage("damaged in the archive") from None
