"""The places of backups: files of this machine, or objects in a bucket of the S3-compatible service.

A place is a path, or `s3://BUCKET/NAME`; the service and the key are those of the S3_ settings. With BACKUP_RECIPIENT,
backups are encrypted in the format of age. Copies on the way are files without a name, so a killed process leaves none.

Decision: ADR 20.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, BinaryIO, cast

from django.conf import settings
from django.core.files import File

from assay.errors import Refused
from server.environment import S3

if TYPE_CHECKING:
    from jobs.files.s3 import ObjectStorage

ENCRYPTED = ".age"
MAGIC = b"age-encryption.org/"


def join(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}"


def make_folder(folder: str) -> None:
    """Make a folder of this machine. A bucket must exist."""
    if not folder.startswith(S3):
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)


def names(folder: str) -> list[str]:
    """The names of the files in a folder, which need not exist."""
    if folder.startswith(S3):
        storage, prefix = _object(join(folder, ""))
        return storage.listdir(prefix)[1]
    return [path.name for path in Path(folder).iterdir()] if Path(folder).is_dir() else []


def delete(place: str) -> None:
    if place.startswith(S3):
        storage, name = _object(place)
        storage.delete(name)
    else:
        Path(place).unlink()


def size(place: str) -> int:
    if place.startswith(S3):
        storage, name = _object(place)
        return storage.size(name)
    return Path(place).stat().st_size


@contextmanager
def written(place: str) -> Iterator[BinaryIO]:
    """A file whose content is at the place when the block ends, encrypted if the settings say so.

    Raises:
        Refused: There is such a backup already, or its name does not say what the settings do.
    """
    recipients = settings.BACKUP_RECIPIENT
    if place.endswith(ENCRYPTED) and not recipients:
        raise Refused(f"{place} would not be encrypted: BACKUP_RECIPIENT is not set.")
    if recipients and not place.endswith(ENCRYPTED):
        raise Refused(f"Backups are encrypted (BACKUP_RECIPIENT): choose a name such as {place}{ENCRYPTED}.")
    with _new_object(place) if place.startswith(S3) else _new_file(Path(place)) as file:
        if not recipients:
            yield file
            return
        with _unnamed() as plain:
            yield plain
            _encrypt(plain, file)


@contextmanager
def opened(place: str, identity: Path | None = None) -> Iterator[BinaryIO]:
    """The content of a backup, decrypted with an identity of age.

    Raises:
        Refused: There is no such backup, or it is encrypted for another identity.
        OSError: The storage does not answer.
    """
    with _fetched(place) if place.startswith(S3) else _existing(place) as file:
        is_encrypted = file.read(len(MAGIC)) == MAGIC
        file.seek(0)
        if not is_encrypted:
            yield file
            return
        if identity is None:
            raise Refused(f"{place} is encrypted. Name the file of the key with --identity.")
        with _unnamed() as plain:
            _decrypt(file, plain, place, identity)
            yield plain


# --- Encryption


def _encrypt(plain: BinaryIO, file: BinaryIO) -> None:
    import pyrage  # noqa: PLC0415  # only for a site that encrypts

    plain.seek(0)
    pyrage.encrypt_io(
        plain, file, [pyrage.x25519.Recipient.from_str(recipient) for recipient in settings.BACKUP_RECIPIENT]
    )


def _decrypt(file: BinaryIO, plain: BinaryIO, place: str, identity: Path) -> None:
    try:
        import pyrage  # noqa: PLC0415
    except ModuleNotFoundError:
        raise Refused(
            f"{place} is encrypted; run `pip install -r requirements-backups.txt`, or decrypt it with age."
        ) from None
    try:
        lines = [line.strip() for line in identity.read_text().splitlines()]
        keys = [pyrage.x25519.Identity.from_str(line) for line in lines if line and not line.startswith("#")]
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{identity} cannot be read: {error}.") from error
    except pyrage.IdentityError:
        raise Refused(f"{identity} has no key of age-keygen, which begins with AGE-SECRET-KEY-1.") from None
    try:
        pyrage.decrypt_io(file, plain, keys)
    except (OSError, pyrage.DecryptError) as error:  # the first if it is cut off
        raise Refused(f"{place} cannot be decrypted with {identity}: {error}.") from None
    plain.seek(0)


# --- Files and objects


@contextmanager
def _unnamed() -> Iterator[BinaryIO]:
    """A file that only this process has, on the disk that has room for files of the site."""
    with TemporaryFile(dir=settings.VAR_DIR) as file:
        yield cast("BinaryIO", file)


@contextmanager
def _new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that only its owner may read, and that gets its name at the end of the block.

    Until then it has another name, under which a killed backup leaves it; the next one to the same path replaces it.
    """
    if path.exists():
        raise Refused(f"{path} exists already. Choose another name, or move it away.")
    part = path.with_name(f".{path.name}.part")
    with os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT, 0o600), "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(f"Another backup writes to {path}.") from None
        try:
            part.chmod(0o600)
            file.truncate()
            yield file
            file.flush()
            os.fsync(file.fileno())
            part.rename(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


@contextmanager
def _existing(place: str) -> Iterator[BinaryIO]:
    if Path(place).is_dir() or not Path(place).exists():
        raise Refused(f"{place} does not exist.")
    with Path(place).open("rb") as file:
        yield file


def _object(place: str) -> "tuple[ObjectStorage, str]":
    """The storage of a place in a bucket, and the name in it."""
    from jobs.files.s3 import ObjectStorage  # noqa: PLC0415  # only for a site that has the packages

    bucket, _, name = place.removeprefix(S3).partition("/")
    options = {key: value for key, value in settings.S3_OPTIONS.items() if value and key != "location"}
    return ObjectStorage(**options | {"bucket_name": bucket}), name


@contextmanager
def _new_object(place: str) -> Iterator[BinaryIO]:
    """A file that is uploaded at the end of the block. The service shows it when it is complete."""
    storage, name = _object(place)
    if storage.exists(name):
        raise Refused(f"{place} exists already. Choose another name, or delete it.")
    with _unnamed() as file:
        yield file
        file.seek(0)
        storage.save(name, File(file))


@contextmanager
def _fetched(place: str) -> Iterator[BinaryIO]:
    storage, name = _object(place)
    if not storage.exists(name):
        raise Refused(f"{place} does not exist.")
    with _unnamed() as file:
        for piece in storage.read_range(name, 0, storage.size(name)):
            file.write(piece)
        file.seek(0)
        yield file
