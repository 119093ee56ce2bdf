"""The articles of an import: the XHTML files of a folder with its subfolders, of a zip or tar archive, or one file.

A tar archive is read as a stream, so that millions of paragraphs need no memory.
"""

import bz2
import gzip
import lzma
import os
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple, TypeVar, cast

from assay.errors import BadFile
from assay.formats.compression import GZIP, RATIO_FROM, XZ, Limits
from assay.formats.documents.articles import MAX_FILE, TOO_LONG, ArticleFile, is_article
from assay.formats.zip_files import check_directory
from corpus.images.files import is_image
from corpus.imports.files import open_raw, path_of
from corpus.imports.load.convert_articles import ArticleChunk

FORM = "articles"  # of an import
ZIP_DIRECTORY = 256 << 20  # bytes of the list of files of an archive
INSPECTED = 200  # files of an archive that decide whether it is one of articles
CHUNK_BYTES = 2_000_000
CHUNK_FILES = 1_000
DAMAGED = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError),
    *(EOFError, OSError, ValueError, NotImplementedError),
)

Member = TypeVar("Member")


class Entry(NamedTuple):
    """An article, and how much of the import is read after it, in the unit of its size."""

    file: ArticleFile
    done: int


@dataclass(frozen=True)
class Articles:
    """The articles of an import in a fixed order. `size` is in bytes: of the archive, or of the files of a folder."""

    size: int
    entries: Iterator[Entry]

    def chunks(self, start: int) -> Iterator[ArticleChunk]:
        """The articles after the first `start`."""
        files: list[ArticleFile] = []
        end, done, n_bytes = start, 0, 0
        for file, done in islice(self.entries, start, None):
            files.append(file)
            end, n_bytes = end + 1, n_bytes + len(file.content)
            if n_bytes >= CHUNK_BYTES or len(files) >= CHUNK_FILES:
                yield ArticleChunk(tuple(files), end, done)
                files, n_bytes = [], 0
        if files:
            yield ArticleChunk(tuple(files), end, done)


def has_articles(folder: Path) -> bool:
    """Whether most files of a folder and its subfolders are articles."""
    return _are_articles(name for _, _, names in os.walk(folder) for name in names)


def is_archive_of_articles(file: BinaryIO) -> bool:
    """Whether a file is a zip or tar archive, and most of its first files are articles."""
    try:
        if zipfile.is_zipfile(file):
            check_directory(file, ZIP_DIRECTORY)
            with zipfile.ZipFile(file) as archive:
                return _are_articles(
                    info.filename for info in _first(archive.infolist()) if not info.is_dir()
                )
        file.seek(0)
        with _Unpacked(file).tar() as tar:
            return _are_articles(member.name for member in _first(tar) if member.isfile())
    except (*DAMAGED, BadFile):
        return False
    finally:
        file.seek(0)


def _first(members: Iterable[Member]) -> Iterator[Member]:
    return islice(members, INSPECTED)


def _are_articles(names: Iterable[str]) -> bool:
    """Whether most of some files are articles. Images do not count: articles may come with theirs."""
    kinds = Counter(is_article(name) for name in names if not is_image(name))
    return kinds[True] > kinds[False]


@contextmanager
def opened(location: str, name: str) -> Iterator[Articles]:
    """The articles at the location of an import.

    Raises
    ------
    BadFile
        The folder or archive cannot be opened, is damaged, or is unpacked to far more than its size.
    """
    path = path_of(location)
    if path is not None and path.is_dir():
        yield Articles(sum(each.stat().st_size for each in _paths(path)), _in_folder(path))
        return
    with open_raw(location, name) as file:
        size = file.seek(0, 2)
        file.seek(0)
        if is_article(name):
            yield Articles(size, iter([Entry(_read(file, name, size), size)]))
        elif zipfile.is_zipfile(file):
            check_directory(file, ZIP_DIRECTORY)
            with _zip(file, name) as archive:
                yield Articles(size, _checked(_in_zip(archive), name))
        else:
            file.seek(0)
            yield Articles(size, _checked(_in_tar(file, name), name))


def _zip(file: BinaryIO, name: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except DAMAGED as error:
        raise BadFile(f"{name} is a damaged archive: {error}.") from None


def _checked(entries: Iterator[Entry], name: str) -> Iterator[Entry]:
    try:
        yield from entries
    except DAMAGED as error:
        raise BadFile(f"{name} is a damaged archive: {error}.") from None


def _paths(folder: Path) -> Iterator[Path]:
    """The articles of a folder in a fixed order. Links that lead out of it are left out."""
    root = folder.resolve()
    for place, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = Path(place, name)
            if is_article(name) and path.is_file() and path.resolve().is_relative_to(root):
                yield path


def _in_folder(folder: Path) -> Iterator[Entry]:
    root, done = folder.resolve(), 0
    for path in _paths(folder):
        size = path.stat().st_size
        done += size
        with path.open("rb") as file:
            yield Entry(_read(file, path.relative_to(root).as_posix(), size), done)


def _in_zip(archive: zipfile.ZipFile) -> Iterator[Entry]:
    done = 0
    for info in archive.infolist():
        done += info.compress_size
        if info.is_dir() or not is_article(info.filename):
            continue
        try:
            with archive.open(info) as file:
                yield Entry(_read(file, info.filename, info.file_size), done)
        except RuntimeError:
            yield Entry(ArticleFile(info.filename, problem="encrypted in the archive"), done)


class _Unpacked:
    """A tar archive, decompressed while it is read. `tail` is the end of what was read: zeros, if it is complete."""

    def __init__(self, raw: BinaryIO) -> None:
        head = raw.read(6)
        raw.seek(0)
        openers = ((GZIP, gzip.open), (XZ, lzma.open), (b"BZh", bz2.open))
        opener = next((opener for magic, opener in openers if head.startswith(magic)), None)
        self._file = cast("IO[bytes]", opener(raw, "rb") if opener else raw)
        self.tail = b""

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self.tail = data[-tarfile.BLOCKSIZE :] or self.tail
        return data

    def tar(self) -> tarfile.TarFile:
        """The archive as a stream, which calls only `read`."""
        return tarfile.open(fileobj=cast("BinaryIO", self), mode="r|")


def _in_tar(raw: BinaryIO, name: str) -> Iterator[Entry]:
    total, unpacked = 0, _Unpacked(raw)
    with unpacked.tar() as tar:
        for member in tar:
            total += member.size
            _check_ratio(total, raw, name)
            if member.isfile() and is_article(member.name):
                file = tar.extractfile(member)
                assert file is not None
                with file:
                    article = _read(file, member.name, member.size)
                yield Entry(article, _read_so_far(raw))
    if unpacked.tail.strip(b"\0"):
        raise BadFile(f"{name} is a damaged archive: it is cut off.")


def _read_so_far(raw: BinaryIO) -> int:
    return raw.tell()  # prose: allow a method of files


def _check_ratio(size: int, raw: BinaryIO, name: str) -> None:
    ratio = Limits().max_ratio
    if size > RATIO_FROM and size > ratio * max(_read_so_far(raw), 1):
        raise BadFile(f"{name} is unpacked to more than {ratio} times its size. Unpack it first.")


def _read(file: IO[bytes], name: str, size: int) -> ArticleFile:
    if size > MAX_FILE:
        return ArticleFile(name, problem=TOO_LONG)
    content = file.read(MAX_FILE + 1)
    return ArticleFile(name, content) if len(content) <= MAX_FILE else ArticleFile(name, problem=TOO_LONG)
