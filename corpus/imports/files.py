"""The files of an import, in Django's storage or on the disk of the worker."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from django.core.files.storage import default_storage

from assay.errors import BadFile, Refused
from assay.formats.compression import UnpackedFile
from files import services as file_services

UPLOAD = "upload:"  # prefix of a location in Django's storage; any other location is a path on the disk


class ImportRefused(Refused):
    """An import cannot start."""

    title = "This cannot be imported"


@contextmanager
def open_file(location: str, name: str) -> Iterator[tuple[UnpackedFile, BinaryIO]]:
    """The decompressed content of a file, and the file itself.

    Raises
    ------
    BadFile
        The file cannot be opened.
    """
    try:
        if location.startswith(UPLOAD):
            file = cast("BinaryIO", default_storage.open(location.removeprefix(UPLOAD), "rb"))
        else:
            file = Path(location).open("rb")  # noqa: SIM115 - closed by the `with` below
    except OSError as error:
        raise BadFile(f"{name} cannot be opened: {error.strerror}.") from None
    with file:
        yield UnpackedFile(file, name), file


def claim_uploads(locations: Iterable[str]) -> None:
    """The files that were uploaded belong to imports that this transaction stores."""
    file_services.claim(*_uploads(locations))


def discard_uploads(locations: Iterable[str]) -> None:
    """Delete the files that were uploaded when this transaction commits. Files on the disk stay."""
    file_services.discard(_uploads(locations))


def _uploads(locations: Iterable[str]) -> list[str]:
    return [location.removeprefix(UPLOAD) for location in locations if location.startswith(UPLOAD)]
