"""Where the files of an import stand: in Django's storage, or on the worker's disk."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from django.core.files.storage import default_storage

from assay.errors import BadFile, Refused
from assay.formats.compression import UnpackedFile

UPLOAD = "upload:"  # a location in Django's storage; any other is a path on the worker's disk


class ImportRefused(Refused):
    """An import that cannot begin."""

    title = "This cannot be imported"


@contextmanager
def opened(location: str, name: str) -> Iterator[tuple[UnpackedFile, BinaryIO]]:
    """A file's content, unpacked, and the file itself."""
    try:
        if location.startswith(UPLOAD):
            file = cast("BinaryIO", default_storage.open(location.removeprefix(UPLOAD), "rb"))
        else:
            file = Path(location).open("rb")  # noqa: SIM115 - closed by the `with` below
    except OSError as error:
        raise BadFile(f"{name} cannot be opened: {error.strerror}.") from None
    with file:
        yield UnpackedFile(file, name), file


def discard(locations: Iterable[str]) -> None:
    """Uploaded files have done their part."""
    for location in locations:
        if location.startswith(UPLOAD):
            default_storage.delete(location.removeprefix(UPLOAD))
