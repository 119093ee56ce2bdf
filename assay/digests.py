"""SHA-256 digests in hexadecimal, by which records identify files, pools, qrels and protocols.

hashlib is imported by the functions: its import takes 2 ms, and scoring needs no digest.
"""

from typing import BinaryIO


def sha256_of(data: bytes) -> str:
    import hashlib  # noqa: PLC0415 -- see above

    return hashlib.sha256(data).hexdigest()


def sha256_of_file(file: BinaryIO) -> str:
    """The digest of a seekable file, which is read from its start in blocks."""
    import hashlib  # noqa: PLC0415 -- see above

    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # BinaryIO lacks readinto


class RunningSha256:
    """The digest of bytes that arrive in pieces."""

    def __init__(self) -> None:
        import hashlib  # noqa: PLC0415 -- see above

        self._hash = hashlib.sha256()

    def update(self, data: bytes) -> None:
        self._hash.update(data)

    @property
    def value(self) -> str:
        return self._hash.hexdigest()
