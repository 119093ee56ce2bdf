"""Reads the documents of a collection one after another, without a database.

A collection is a file of documents in any form that an import accepts, plain or compressed; a folder of such files; or
the folder that `assay collection build` made. Texts are sanitized HTML, as on the site.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from assay.errors import BadFile, InputError
from assay.formats.compression import UnpackedFile
from assay.formats.documents import forum, jsonl, stackexchange, table_rows, trec
from assay.formats.documents.batch import Batch, Fault, Malformed
from assay.formats.documents.dump import TOO_LONG, Broken, Chunk, Reader
from assay.formats.documents.sources import FORUM, TREC, files_of
from assay.formats.documents.tables import is_table
from assay.processes import map_fresh, processors

Result = TypeVar("Result")
SMALL = 4_000_000  # bytes; for smaller files, starting processes takes longer than the work
# Files in the folder `collection` of a build; the first one that exists is read
BUILT = ("posts.jsonl", "Posts.xml")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "N": ""}


class Document(NamedTuple):
    """A document. `thread` is the docno of its question; title and body are sanitized HTML; the score is votes."""

    docno: str
    kind: str
    thread: str
    title: str
    body: str
    score: int


class Comment(NamedTuple):
    """A comment on a document, the one with `docno`; the text is sanitized HTML, and the score is votes."""

    docno: str
    code: str
    text: str
    score: int


def convert(data: bytes, form: str) -> Batch | Fault:
    """The rows of a chunk of documents, sanitized; or the place where it breaks its form."""
    converters = {"jsonl": jsonl.convert, FORUM: forum.convert, TREC: trec.convert}
    try:
        if form in converters:
            return converters[form](data)
        return (table_rows.convert if is_table(form) else stackexchange.convert)(data, form)
    except Malformed as error:
        return Fault(error.message, error.offset, error.n_lines)


def documents_of(batch: Batch) -> Iterator[Document]:
    """The documents of a batch, in their order."""
    for docno, kind, thread, title, body, _, score, *_ in _rows_of(batch, "document"):
        yield Document(docno, kind, thread, title, body, int(score or 0))


def comments_of(batch: Batch) -> Iterator[Comment]:
    """The comments of a batch, in their order."""
    for docno, code, text, score, *_ in _rows_of(batch, "comment"):
        yield Comment(docno, code, text, int(score or 0))


def _rows_of(batch: Batch, table: str) -> Iterator[list[str]]:
    for line in batch.lines.get(table, {}).values():
        cells = line[:-1].split("\t")
        if "\\" in line:
            cells = [_ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), cell) for cell in cells]
        yield cells


def document_files(collection: Path) -> list[Path]:
    """The files of a collection that have documents.

    Raises:
        InputError: There are none.
    """
    folder = collection / "collection" if (collection / "collection").is_dir() else collection
    built = next((folder / name for name in BUILT if (folder / name).is_file()), None)
    files = [built] if built else [file for file in files_of([folder]) if not file.name.startswith(".")]
    if not files:
        raise InputError(f"{collection} has no files")
    return files


def map_documents(
    work: Callable[[list[Document]], Result],
    files: Sequence[Path],
    *,
    processes: int | None = None,
    progress: Callable[[int, int], object] = lambda _done, _size: None,
    skipped: Counter[str] | None = None,
) -> Iterator[Result]:
    """The result of `work` for the documents of each chunk of some files, in their order, by several processes.

    Args:
        work: a function of a module, or a partial of one.
        progress: called with the bytes read and the bytes of all files.
        skipped: gets the number of rows that cannot be used, by reason.

    Raises:
        BadFile: A file is not one of documents, or violates its form; the message has file and line.
    """

    def work_of(reader: Reader) -> Callable[[Chunk], tuple[Result, dict[str, int]] | Fault]:
        form = reader.form.name
        if form not in {"jsonl", FORUM, TREC, "posts"} and not is_table(form):
            accepted = "use Posts.xml, JSON lines, a table, or documents of TREC"
            raise BadFile(f"{reader.name} contains {form}; {accepted}.")
        return partial(_worked, work=work, form=form)

    for file, chunk, outcome in map_chunks(work_of, files, processes=processes, progress=progress):
        if isinstance(outcome, Fault):
            place = chunk.line + outcome.n_lines, chunk.start + outcome.offset
            raise Broken(file.name, *place, outcome.message)
        if skipped is not None:
            skipped.update(outcome[1])
        yield outcome[0]


def map_chunks(
    work_of: Callable[[Reader], Callable[[Chunk], Result]],
    files: Sequence[Path],
    *,
    processes: int | None = None,
    progress: Callable[[int, int], object] = lambda _done, _size: None,
) -> Iterator[tuple[Path, Chunk, Result]]:
    """Each chunk of some files with its file and the result of work, in their order, by several processes.

    Args:
        work_of: gives the work for a file; it refuses a file by raising.
        progress: called with the bytes read and the bytes of all files.
    """
    sizes = [file.stat().st_size for file in files]
    if processes is None:
        processes = 0 if sum(sizes) < SMALL else processors()
    done = 0
    for file, size in zip(files, sizes, strict=True):
        with file.open("rb") as raw:
            reader = Reader(UnpackedFile(raw, file.name), file.name)
            for chunk, result in map_fresh(work_of(reader), reader, processes=processes):
                yield file, chunk, result
                at = raw.tell()  # prose: allow a method of files
                progress(done + min(size, at), sum(sizes))
        done += size
    progress(done, sum(sizes))


def _worked(
    chunk: Chunk, *, work: Callable[[list[Document]], Result], form: str
) -> tuple[Result, dict[str, int]] | Fault:
    batch = convert(chunk.data, form)
    if isinstance(batch, Fault):
        return batch
    too_long = {TOO_LONG: chunk.n_too_long} if chunk.n_too_long else {}
    return work(list(documents_of(batch))), dict(batch.skipped) | too_long
