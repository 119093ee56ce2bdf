"""SHA-256 digests in hexadecimal, by which records identify files, pools, qrels and protocols."""

from importlib import import_module
from typing import Any, BinaryIO


def _hashlib() -> Any:
    """The module hashlib. Its import takes 2 ms, and scoring needs no digest."""
    return import_module("hashlib")


def sha256_of(data: bytes) -> str:
    return str(_hashlib().sha256(data).hexdigest())


def sha256_of_file(file: BinaryIO) -> str:
    """The digest of a seekable file, which is read from its start in blocks."""
    file.seek(0)
    return str(_hashlib().file_digest(file, "sha256").hexdigest())


class RunningSha256:
    """The digest of bytes that arrive in pieces."""

    def __init__(self) -> None:
        self._hash = _hashlib().sha256()

    def update(self, data: bytes) -> None:
        self._hash.update(data)

    @property
    def value(self) -> str:
        """The digest of all pieces so far."""
        return str(self._hash.hexdigest())
