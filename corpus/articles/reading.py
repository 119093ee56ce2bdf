"""Read the articles of an import: the XHTML files of a folder and its subfolders, of an archive, or one file.

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
from typing import IO, BinaryIO, NamedTuple, cast

from assay.errors import BadFile
from assay.formats.compression import GZIP, RATIO_FROM, XZ, Limits, check_directory, files_in
from assay.formats.documents.articles import MAX_FILE, TOO_LONG, ArticleFile, is_article
from corpus.conversion import ArticleChunk
from corpus.images.reading import is_image
from corpus.locations import files_below, open_raw, path_of

FORM = "articles"  # of an import
ZIP_DIRECTORY = 256 << 20  # bytes of the list of files of an archive
INSPECTED = 200  # files of an archive that decide whether it is one of articles
CHUNK_BYTES = 2_000_000
CHUNK_FILES = 1_000
DAMAGED = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError),
    *(EOFError, OSError, ValueError, NotImplementedError),
)


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
    """Return whether most files of a folder and its subfolders are articles."""
    return _are_articles(name for _, _, names in os.walk(folder) for name in names)


def is_archive_of_articles(file: BinaryIO) -> bool:
    """Return whether a file is a zip or tar archive, and most of its first files are articles."""
    try:
        if zipfile.is_zipfile(file):
            check_directory(file, ZIP_DIRECTORY)
            with zipfile.ZipFile(file) as archive:
                members = files_in(archive)[:INSPECTED]
                return _are_articles(info.filename for info in members)
        file.seek(0)
        with _Unpacked(file).tar() as tar:
            return _are_articles(member.name for member in islice(tar, INSPECTED) if member.isfile())
    except (*DAMAGED, BadFile):
        return False
    finally:
        file.seek(0)


def _are_articles(names: Iterable[str]) -> bool:
    """Return whether most of some files are articles. Images do not count: articles may come with theirs."""
    kinds = Counter(is_article(name) for name in names if not is_image(name))
    return kinds[True] > kinds[False]


@contextmanager
def opened_articles(location: str, name: str) -> Iterator[Articles]:
    """The articles at the location of an import.

    Raises:
        BadFile: The folder or archive cannot be opened, is damaged, or is unpacked to far more than its size.
    """
    path = path_of(location)
    if path is not None and path.is_dir():
        yield Articles(
            sum(file.stat().st_size for file, _ in files_below(path, is_article)), _entries_in_folder(path)
        )
        return
    with open_raw(location, name) as file:
        size = file.seek(0, 2)
        file.seek(0)
        if is_article(name):
            yield Articles(size, iter([Entry(_read(file, name, size), size)]))
        elif zipfile.is_zipfile(file):
            check_directory(file, ZIP_DIRECTORY)
            yield Articles(size, _checked(_entries_in_zip(file), name))
        else:
            file.seek(0)
            yield Articles(size, _checked(_entries_in_tar(file, name), name))


def _checked(entries: Iterator[Entry], name: str) -> Iterator[Entry]:
    try:
        yield from entries
    except DAMAGED as error:
        raise BadFile(f"{name} is a damaged archive: {error}.") from None


def _entries_in_folder(folder: Path) -> Iterator[Entry]:
    done = 0
    for path, name in files_below(folder, is_article):
        size = path.stat().st_size
        done += size
        with path.open("rb") as file:
            yield Entry(_read(file, name, size), done)


def _entries_in_zip(raw: BinaryIO) -> Iterator[Entry]:
    done = 0
    with zipfile.ZipFile(raw) as archive:
        for info in files_in(archive):
            done += info.compress_size
            if not is_article(info.filename):
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


def _entries_in_tar(raw: BinaryIO, name: str) -> Iterator[Entry]:
    total, unpacked, ratio = 0, _Unpacked(raw), Limits().max_ratio
    with unpacked.tar() as tar:
        for member in tar:
            total += member.size
            if total > RATIO_FROM and total > ratio * max(_position(raw), 1):
                raise BadFile(f"{name} is unpacked to more than {ratio} times its size. Unpack it first.")
            if member.isfile() and is_article(member.name):
                file = tar.extractfile(member)
                assert file is not None
                with file:
                    article = _read(file, member.name, member.size)
                yield Entry(article, _position(raw))
    if unpacked.tail.strip(b"\0"):
        raise BadFile(f"{name} is a damaged archive: it is cut off.")


def _position(raw: BinaryIO) -> int:
    return raw.tell()  # prose: allow a method of files


def _read(file: IO[bytes], name: str, size: int) -> ArticleFile:
    if size > MAX_FILE:
        return ArticleFile(name, problem=TOO_LONG)
    content = file.read(MAX_FILE + 1)
    return ArticleFile(name, content) if len(content) <= MAX_FILE else ArticleFile(name, problem=TOO_LONG)
