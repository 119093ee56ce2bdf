"""SHA-256 digests in hexadecimal, by which records identify files, pools, qrels and protocols."""

import hashlib
from typing import BinaryIO


def sha256_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def sha256_of_file(file: BinaryIO) -> str:
    """The digest of a seekable file, which is read from its start in blocks."""
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


class RunningSha256:
    """The digest of bytes that arrive in pieces."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def update(self, data: bytes) -> None:
        self._hash.update(data)

    @property
    def value(self) -> str:
        """The digest of all pieces so far."""
        return self._hash.hexdigest()
