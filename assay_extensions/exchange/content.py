"""A test collection as all forms see it, and the folder or ZIP file that one is read from.

Texts are plain: HTML becomes text on one line, with formulas between dollars. What these forms cannot say is left out:
runs, pools, judgments, tags, labels and negative grades, which mean that a document was pooled and has no grade.
"""

import io
import json
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple, Protocol, cast

from assay.errors import BadFile
from assay.formats.compression import RATIO_FROM, Limits, check_directory, files_in
from assay.formats.qrels.columns import QrelsColumns
from assay.structure import is_whole

MAX_LINE = 1 << 24  # bytes of a document
MAX_SMALL = 1 << 28  # bytes of a file that is read as a whole: topics and qrels
MAX_DIRECTORY = 1 << 20
SPLIT = "test"  # of qrels without another name
# The place of a row, such as "corpus.jsonl, line 3", and the row
Rows = Iterator[tuple[str, Mapping[str, Any]]]


class Document(NamedTuple):
    """A document with plain texts."""

    docno: str
    title: str
    text: str


class Topic(NamedTuple):
    """A topic with plain texts. Most collections have a title only."""

    code: str
    title: str = ""
    text: str = ""
    narrative: str = ""

    @property
    def query(self) -> str:
        """The text that a system searches for if it takes one."""
        return self.title or self.text

    @property
    def description(self) -> str:
        """The text of a topic that has a title too."""
        return self.text if self.title else ""


@dataclass(frozen=True)
class TestCollection:
    """Documents, topics and qrels. `documents` may be called again; `qrels` are by the name of their split."""

    __test__ = False  # for pytest, which takes the name for a test

    name: str
    topics: Sequence[Topic]
    qrels: Mapping[str, QrelsColumns]
    documents: Callable[[], Iterable[Document]]
    title: str = ""
    license: str = ""
    url: str = ""
    authors: Sequence[str] = ()
    notes: Sequence[str] = field(default=())


class Source(Protocol):
    """The files of a test collection: names are relative, with slashes."""

    name: str
    names: frozenset[str]

    def opened(self, name: str) -> Any:
        """A context with the seekable file."""


class Folder:
    """The files of a folder and its subfolders."""

    def __init__(self, path: Path) -> None:
        self.name, self._path = path.name, path
        files = (file for file in path.rglob("*") if file.is_file())
        self.names = frozenset(file.relative_to(path).as_posix() for file in files)

    @contextmanager
    def opened(self, name: str) -> Iterator[BinaryIO]:
        with (self._path / name).open("rb") as file:
            yield file


class Zipped:
    """The files of a ZIP file, without the folder that contains all of them.

    Raises:
        BadFile: It is damaged, or its files are too large for its size.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.name = Path(name).stem
        check_directory(file, MAX_DIRECTORY)
        with _damage(name):
            self._zip = zipfile.ZipFile(file)
            infos = files_in(self._zip)
        ratio = Limits().max_ratio
        for info in infos:
            if info.file_size > max(RATIO_FROM, ratio * info.compress_size):
                raise BadFile(
                    f"{name}: {info.filename[:100]} decompresses to more than {ratio} times its size."
                )
        tops = {info.filename.partition("/")[0] + "/" for info in infos}
        top = tops.pop() if len(tops) == 1 else ""
        self._infos = {info.filename.removeprefix(top): info for info in infos}
        self.names = frozenset(self._infos)

    @contextmanager
    def opened(self, name: str) -> Iterator[BinaryIO]:
        with _damage(name):
            member = self._zip.open(self._infos[name])
        with io.BufferedReader(_Member(member, name)) as file:
            yield cast("BinaryIO", file)


class _Member(io.RawIOBase):
    """A file of a ZIP file. Only the errors of its own bytes are damage, not those of the code that reads it."""

    def __init__(self, member: IO[bytes], name: str) -> None:
        self._member, self._name = member, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with _damage(self._name):
            data = self._member.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with _damage(self._name):
            return self._member.seek(offset, whence)

    def close(self) -> None:
        self._member.close()
        super().close()


_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError),
    *(EOFError, NotImplementedError, RuntimeError),
)


@contextmanager
def _damage(name: str) -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        raise BadFile(f"{name} is damaged: {error}.") from None


def read_small(source: Source, name: str) -> bytes:
    with source.opened(name) as file:
        data: bytes = file.read(MAX_SMALL + 1)
    if len(data) > MAX_SMALL:
        raise BadFile(f"{name} has more than {MAX_SMALL >> 20} MB.")
    return data


def json_rows(source: Source, name: str) -> Rows:
    """The objects of a file of JSON lines, each with its place."""
    with source.opened(name) as file:
        number = 0
        while line := file.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE:
                raise BadFile(f"{name}, line {number}: more than {MAX_LINE >> 20} MB.")
            if line.strip():
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    row = None
                if not isinstance(row, dict):
                    raise BadFile(f"{name}, line {number}: not a JSON object in UTF-8.")
                yield f"{name}, line {number}", row


def json_lines(rows: Iterable[Mapping[str, object]]) -> Iterator[bytes]:
    """JSON lines, a few thousand at a time."""
    piece = BytesIO()
    for n, row in enumerate(rows, 1):
        piece.write(json.dumps(row, ensure_ascii=False).encode(errors="replace") + b"\n")
        if n % 2_000 == 0:
            yield piece.getvalue()
            piece = BytesIO()
    yield piece.getvalue()


def word_of(row: Mapping[str, object], key: str, place: str) -> str:
    """An id: a text without white space, or a whole number."""
    value = row.get(key)
    word = str(value) if is_whole(value) else value
    if not isinstance(word, str) or len(word.split()) != 1 or word != word.strip():
        shown = "is missing" if value is None else f"{str(value)[:40]!r} is not a text without white space"
        raise BadFile(f"{place}: {key} {shown}.")
    return word


def text_of(row: Mapping[str, object], key: str, place: str) -> str:
    """A text; empty if there is none."""
    value = row.get(key)
    if value is not None and not isinstance(value, str):
        raise BadFile(f"{place}: {key} is not a text.")
    return value or ""
