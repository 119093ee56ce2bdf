"""Run and qrels files of the commands: plain, compressed or from standard input, with the checks of an upload."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from assay.errors import InputError
from assay.evaluation.duplicates import DuplicatesError, parse_duplicates, with_duplicates
from assay.formats.compression import Limits, Unreadable, opened, unpack
from assay.formats.qrels.reader import QrelsColumns, QrelsError, parse_qrels
from assay.formats.runs.columns import RunColumns
from assay.formats.runs.reader import check_run
from assay.measures.matching import JudgedDocuments
from assay.protocols.schema import Protocol

STDIN = "-"
SUFFIXES = {".gz", ".xz", ".zip", ".tsv", ".txt", ".trec", ".run", ".res"}


def read_run(path: str, protocol: Protocol) -> RunColumns:
    """The columns of a run file.

    Raises
    ------
    InputError
        It cannot be read, or it has errors; the message has the first one.
    """
    try:
        with opened_file(path) as file:
            checked = check_run(file, protocol=protocol, name=path, columns_only=True)
    except OSError as error:
        raise InputError(f"{path}: {reason(error)}") from None
    if checked.columns is not None:
        return checked.columns
    first, *more = checked.report.errors
    rest = f" (and {len(more)} more: assay check names them all)" if more else ""
    raise InputError(f"{path}: {first}{rest}")


def read_qrels(path: str, *, scale: int = 1) -> QrelsColumns:
    """The rows of a qrels file, with every grade multiplied by `scale`.

    Raises
    ------
    InputError
        It cannot be read, or it has errors; the message has the first ones.
    """
    try:
        return parse_qrels(b"".join(read_text(path)), scale=scale)
    except (OSError, Unreadable, QrelsError) as error:
        raise InputError(f"{path}: {reason(error)}") from None


def read_judged(path: str, *, scale: int = 1, duplicates: str | None = None) -> JudgedDocuments:
    """A qrels file prepared for scoring; `duplicates` is a file of near-duplicates of judged documents.

    Raises
    ------
    InputError
        A file cannot be used.
    """
    if scale < 1:
        raise InputError(f"--scale {scale}: use a whole number from 1")
    qrels = read_qrels(path, scale=scale)
    if duplicates is None:
        return JudgedDocuments(qrels)
    try:
        return JudgedDocuments(*with_duplicates(qrels, parse_duplicates(b"".join(read_text(duplicates)))))
    except (OSError, Unreadable, DuplicatesError) as error:
        raise InputError(f"{duplicates}: {reason(error)}") from None


def read_text(path: str) -> Iterator[bytes]:
    """The bytes of a file, decompressed."""
    with opened_file(path) as file:
        yield from unpack(file, Limits())


def decoded(path: str) -> str:
    """The text of a file, decompressed.

    Raises
    ------
    InputError
        It cannot be read, or it is not UTF-8.
    """
    try:
        return b"".join(read_text(path)).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 (byte {error.start + 1})") from None
    except (OSError, Unreadable) as error:
        raise InputError(f"{path}: {reason(error)}") from None


def opened_file(path: str) -> AbstractContextManager[BinaryIO]:
    """A file that can be read several times from its start; - is standard input."""
    return BytesIO(sys.stdin.buffer.read()) if path == STDIN else opened(Path(path), Limits())


def reason(error: Exception) -> str:
    """The message of an error without the path of the file."""
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def names(paths: Sequence[str]) -> dict[str, str]:
    """The name of each run in the output: its file name without suffixes, or its path if two names would be equal."""
    stems = {path: _stem(path) for path in paths}
    n_runs = Counter(stems.values())
    return {path: path if n_runs[stem] > 1 else stem for path, stem in stems.items()}


def _stem(path: str) -> str:
    name = Path(path)
    while name.suffix.lower() in SUFFIXES and name.stem:
        name = name.with_suffix("")
    return name.name if path != STDIN else "stdin"
