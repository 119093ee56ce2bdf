"""Files of a site: uploads that show how far they are, and downloads that go on where they stopped."""

import base64
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from assay.client.server import UNREACHABLE, Server, ServerError, waits
from assay.digests import sha256_of_file
from assay.errors import InputError

PARTIAL, AT_THE_END = 206, 416  # statuses of answers
Progress = Callable[[int], None]  # gets the number of bytes that have been sent or stored, from the start


class Sent:
    """A file that is uploaded, and says how many of its bytes have been read."""

    def __init__(self, file: BinaryIO, progress: Progress) -> None:
        self._file, self._progress, self._n = file, progress, 0

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._n += len(data)
        self._progress(self._n)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._n = self._file.seek(offset, whence)
        return self._n

    def fileno(self) -> int:
        return self._file.fileno()


def has_content(path: Path, sha256: str) -> bool:
    """Return True if a file exists and has this content."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return sha256_of_file(file) == sha256


def check_name(name: str) -> str:
    """The name of a file as the site gives it, if it is safe to use in a folder.

    Raises:
        InputError: It would lead elsewhere, or be hidden.
    """
    if not name or Path(name).name != name or "\\" in name or name.startswith(".") or not name.isprintable():
        raise InputError(f"the site names a file {name!r}, which is not a plain name")
    return name


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that is never half written: until it is complete, it has another name."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_bytes(data)
    part.replace(path)


def fetch(server: Server, url: str, target: Path, *, sha256: str, progress: Progress) -> None:
    """Download a file. Until it is complete and its SHA-256 is right, it has another name.

    What an earlier try has stored is not downloaded again.

    Raises:
        ServerError: The site refuses or cannot be reached, or sends other content than it announced.
    """
    part = target.with_name(f"{target.name}.{sha256[:12]}.part")
    _insist(server, url, part, sha256, progress)
    if not has_content(part, sha256):
        part.unlink()
        raise ServerError(f"{target.name}: what came has another SHA-256 than {sha256}; nothing was kept")
    part.replace(target)


def _insist(server: Server, url: str, part: Path, sha256: str, progress: Progress) -> None:
    """Download into a part, again if the network fails."""
    for wait in waits():
        try:
            _go_on(server, url, part, sha256, progress)
            return
        except ServerError as error:
            if wait is None or error.exit_status != UNREACHABLE:
                raise
            time.sleep(wait)


def _go_on(server: Server, url: str, part: Path, sha256: str, progress: Progress) -> None:
    """Download what is missing from a part; without a digest, all of it."""
    n_stored = part.stat().st_size if sha256 and part.exists() else 0
    headers = {"Range": f"bytes={n_stored}-", "If-Range": f'"{sha256}"'} if n_stored else {}
    try:
        with (
            server.stream("GET", url, headers) as response,
            part.open("ab" if response.status_code == PARTIAL else "wb") as file,
        ):
            n = n_stored if response.status_code == PARTIAL else 0
            for chunk in response.iter_bytes():
                n += file.write(chunk)
                progress(n)
    except ServerError as error:
        if error.status != AT_THE_END:
            raise


def save(server: Server, url: str, target: Path, *, progress: Progress) -> str:
    """Download a file that the site makes when it is asked for, and return its SHA-256.

    Without a digest of the site, the file is complete if the whole answer came.

    Raises:
        ServerError: As of `fetch`.
    """
    sha256 = ""
    with suppress(ServerError):  # a refusal of the headers has no words, and that of the file has
        sha256 = digest_of(server, url)
    if sha256:
        if not has_content(target, sha256):
            fetch(server, url, target, sha256=sha256, progress=progress)
        return sha256
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        _insist(server, url, part, "", progress)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    with target.open("rb") as file:
        return sha256_of_file(file)


def digest_of(server: Server, url: str) -> str:
    """The SHA-256 of a file that the site makes when it is asked for, in hexadecimal; empty if it names none."""
    with server.stream("HEAD", url, {}) as response:
        header = response.headers.get("Repr-Digest", "")  # RFC 9530
    match = re.search(r"sha-256=:([A-Za-z0-9+/=]+):", header)
    return base64.b64decode(match[1]).hex() if match else ""
