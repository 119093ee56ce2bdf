"""The files of a source: a folder, a zip or 7z archive, or one file, which may be packed with gz, xz, bz2 or zip."""

import shutil
import subprocess
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from threading import Thread
from typing import IO, NamedTuple

from assay.errors import BadFile
from assay.formats.compression import (
    UnpackedFile,
    Unreadable,
    damaged,
    files_in,
    is_of_desktop,
    refuse_document,
)
from assay.formats.documents.articles import SUFFIXES
from assay.formats.documents.dump import Readable
from assay.formats.documents.sources import HEAD
from assay_extensions.building.settings import NotBuilt

SEVEN_ZIP, ZIP = b"7z\xbc\xaf\x27\x1c", (b"PK\x03\x04", b"PK\x05\x06")
ARCHIVES = {".7z": "a 7z archive", ".zip": "a zip archive"}
TOOLS = ("7zz", "7z", "7za", "bsdtar")
BLOCK = 1 << 18
LAST = 4096  # bytes of the messages of a tool that are kept


class File(NamedTuple):
    """A file of a source. `size` is in bytes, 0 if it is not known; `stamp` changes if the file is replaced."""

    name: str
    size: int
    stamp: str
    opened: Callable[[], AbstractContextManager[Readable]]

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix.lower()

    def head(self) -> bytes:
        """The first 64 kB."""
        with self.opened() as file:
            return file.read(HEAD)


def files_of(path: Path, *, within: Path | None = None) -> list[File]:
    """The files of a folder with its subfolders, of an archive, or one file, sorted by name.

    Args:
        within: the folder out of which no link may lead, for a source that strangers can change.

    Raises:
        NotBuilt: There is no such file, it contains none, a link leads out, or no installed tool can read it.
        Unreadable: An archive is damaged.
    """
    if not path.exists():
        raise NotBuilt(f"There is no file or folder {path}.")
    if path.is_dir():
        paths = [
            entry
            for entry in path.rglob("*")
            if entry.is_file() and not (entry.name.startswith(".") or is_of_desktop(entry.name))
        ]
        _check_within([path, *paths], within)
        files = [_plain(entry, entry.relative_to(path).as_posix()) for entry in paths]
    else:
        _check_within([path], within)
        files = _files_at(path)
    if not files:
        raise NotBuilt(f"{path} contains no file.")
    names = Counter(file.name for file in files)
    if twice := [name for name, n in names.items() if n > 1]:
        raise NotBuilt(f"{path.name} contains two files named {twice[0]}; give one of them.")
    return sorted(files, key=lambda file: file.name)


def _check_within(paths: Sequence[Path], root: Path | None) -> None:
    outside = (path for path in paths if root and not path.resolve().is_relative_to(root.resolve()))
    if path := next(outside, None):
        raise NotBuilt(f"{path.name} is a link that leads out of the import folder. Copy the file into it.")


def _files_at(path: Path) -> list[File]:
    with path.open("rb") as file:
        head = file.read(40)
    if head.startswith(SEVEN_ZIP):
        return _seven_zip_members(path)
    if head.startswith(ZIP):
        return _zip_members(path)
    if kind := ARCHIVES.get(path.suffix.lower()):
        words = " ".join(head.decode(errors="replace").split())
        is_text = words.isprintable() and "\ufffd" not in words
        begin = (
            "it contains no text" if not is_text else f"it begins with “{words}”" if words else "it is empty"
        )
        raise Unreadable(
            "damaged", f"The file is not {kind}: {begin}.", "A complete archive.", name=path.name
        )
    return [_plain(path, path.name)]


def _plain(path: Path, name: str) -> File:
    status = path.stat()
    return File(name, status.st_size, f"{status.st_size} {status.st_mtime_ns}", partial(_unpacked, path))


@contextmanager
def _unpacked(path: Path) -> Iterator[Readable]:
    with path.open("rb") as file:
        yield file if path.suffix.lower() in SUFFIXES else UnpackedFile(file, path.name)


def _zip_members(path: Path) -> list[File]:
    try:
        with zipfile.ZipFile(path) as archive:
            entries = files_in(archive)
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise damaged("zip", error).named(path.name) from None
    refuse_document([entry.filename for entry in entries], path.name)
    if any(entry.flag_bits & 1 for entry in entries):
        raise NotBuilt(f"{path.name} is encrypted. Unpack it first, and give the folder.")
    return [
        File(entry.filename, entry.file_size, f"{entry.file_size} {entry.CRC}", partial(_zipped, path, entry.filename))
        for entry in entries
        if not is_of_desktop(entry.filename)
    ]  # fmt: skip


@contextmanager
def _zipped(path: Path, name: str) -> Iterator[Readable]:
    try:
        with zipfile.ZipFile(path) as archive, archive.open(name) as file:
            yield file
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise damaged("zip", error).named(path.name) from None


def _seven_zip_members(path: Path) -> list[File]:
    tool = next(filter(shutil.which, TOOLS), None)
    if tool is None:
        raise NotBuilt(
            f"{path.name} is a 7z archive, and none of {', '.join(TOOLS)} is installed. Install 7-Zip (the package "
            "7zip of Debian), or unpack the archive and give the folder."
        )
    status = path.stat()
    stamp = f"{status.st_size} {status.st_mtime_ns}"
    # After --, a name in the archive is neither an option nor a list of names.
    if tool == "bsdtar":
        names = _output([tool, "-tf", str(path)], path).splitlines()
        sizes = [(name, 0) for name in names if name[-1:] != "/"]
        words = [tool, "-xOf", str(path), "--"]
    else:
        # The name and size of each file in the output of `7z l -slt -ba`
        listing = _output([tool, "l", "-slt", "-ba", "--", str(path)], path)
        sizes = []
        for block in listing.replace("\r", "").split("\n\n"):
            values = dict(line.split(" = ", 1) for line in block.splitlines() if " = " in line)
            if (
                "Path" in values
                and not values.get("Attributes", "").startswith("D")
                and values.get("Folder") != "+"
            ):
                sizes.append((values["Path"], int(values.get("Size") or 0)))
        words = [tool, "x", "-so", "-bd", "-spd", "--", str(path)]
    return [File(name, size, stamp, partial(_piped, path, [*words, name])) for name, size in sizes]


def _output(command: Sequence[str], path: Path) -> str:
    done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise _failed(path, command, done.returncode, done.stderr)
    return done.stdout.decode(errors="replace")


def _failed(path: Path, command: Sequence[str], status: int, stderr: bytes) -> Unreadable:
    lines = stderr.decode(errors="replace").strip().splitlines()
    return damaged("7z", lines[-1].strip() if lines else f"{command[0]} ends with status {status}").named(
        path.name
    )


@contextmanager
def _piped(path: Path, command: Sequence[str]) -> Iterator[Readable]:
    """The standard output of a tool. The tool is stopped if it is not read to its end."""
    with (
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
        ) as process,
        _Messages(process.stderr) as messages,
    ):
        assert process.stdout is not None
        pipe = _Pipe(process.stdout)
        try:
            yield pipe
        except BadFile:  # the content is wrong, perhaps because the archive is damaged
            while pipe.read(BLOCK):
                pass
            if status := process.wait():
                raise _failed(path, command, status, messages.read()) from None
            raise
        except BaseException:
            process.kill()
            raise
        if not pipe.is_at_end:
            process.kill()
        elif status := process.wait():
            raise _failed(path, command, status, messages.read())


class _Messages:
    """The end of what a tool writes to its standard error, which is read all the time so that the tool never waits."""

    def __init__(self, pipe: IO[bytes] | None) -> None:
        assert pipe is not None
        self._pipe, self._text = pipe, b""
        self._thread = Thread(target=self._read, daemon=True)

    def __enter__(self) -> "_Messages":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()

    def _read(self) -> None:
        while block := self._pipe.read(LAST):
            self._text = (self._text + block)[-LAST:]

    def read(self) -> bytes:
        """The last messages of a tool that has ended."""
        self._thread.join()
        return self._text


class _Pipe:
    """A pipe that notes whether it was read to its end."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self.is_at_end = False

    def read(self, size: int, /) -> bytes:
        data = self._pipe.read(size)
        self.is_at_end = self.is_at_end or len(data) < size
        return data
