"""The places of the files of an import: in Django's storage or on the disk of the worker."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from django.conf import settings
from django.core.files.storage import default_storage

from assay.errors import BadFile
from assay.formats.compression import UnpackedFile
from jobs.files import storage
from jobs.selectors import IMPORT_FOLDER, this_host

# Prefixes of locations. Any other location is a path on the disk of one machine.
UPLOAD = "upload:"  # a name in Django's storage
FOLDER = "folder:"  # a path in the import folder of the worker


@contextmanager
def open_file(location: str, name: str) -> Iterator[tuple[UnpackedFile, BinaryIO]]:
    """The decompressed content of a file, and the file itself.

    Raises:
        BadFile: The file cannot be opened.
    """
    with open_raw(location, name) as file:
        yield UnpackedFile(file, name), file


def open_raw(location: str, name: str) -> BinaryIO:
    """A file as it is.

    Raises:
        BadFile: It cannot be opened, or leads out of the import folder.
    """
    path = path_of(location)
    if (
        path
        and location.startswith(FOLDER)
        and not path.resolve().is_relative_to(Path(settings.IMPORT_DIR).resolve())
    ):
        raise BadFile(f"{name} is not in the import folder.")
    try:
        if path is None:
            return cast("BinaryIO", default_storage.open(location.removeprefix(UPLOAD), "rb"))
        return path.open("rb")
    except OSError as error:
        raise BadFile(f"{name} cannot be opened: {error.strerror}.") from None


def path_of(location: str) -> Path | None:
    """The path on the disk of this machine; None for a file in Django's storage."""
    if location.startswith(UPLOAD):
        return None
    if location.startswith(FOLDER):
        return Path(settings.IMPORT_DIR, location.removeprefix(FOLDER))
    return Path(location)


def files_below(folder: Path, is_wanted: Callable[[str], bool]) -> Iterator[tuple[Path, str]]:
    """The wanted files of a folder and its subfolders in a fixed order, each with its path below the folder.

    Links that lead out of it are left out.
    """
    root = folder.resolve()
    for place, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = Path(place, name)
            if is_wanted(name) and path.is_file() and path.resolve().is_relative_to(root):
                yield path, path.relative_to(root).as_posix()


def place_of(locations: Iterable[str]) -> str:
    """The place at which a job can read all of these files."""
    prefixes = {
        next((prefix for prefix in (UPLOAD, FOLDER) if name.startswith(prefix)), "") for name in locations
    }
    if "" in prefixes:
        return this_host()
    return IMPORT_FOLDER if FOLDER in prefixes else ""


def claim_uploads(locations: Iterable[str]) -> None:
    """The files that were uploaded belong to imports that this transaction stores."""
    storage.claim(*_uploads(locations))


def discard_uploads(locations: Iterable[str]) -> None:
    """Delete the files that were uploaded when this transaction commits. Files on the disk stay."""
    storage.discard(_uploads(locations))


def _uploads(locations: Iterable[str]) -> list[str]:
    names = [location.removeprefix(UPLOAD) for location in locations if location.startswith(UPLOAD)]
    return list(dict.fromkeys(names))  # an archive of images and articles is imported twice
