"""Conversion of the files of an import by several processes. While one batch is stored, the next ones are converted.

The processes are fresh, not forked: a Celery worker must not fork a process that has its database connection. They
import this module, so it imports neither Django nor a model, and each converter is imported where it is used: without
a sanitizer and XML, a process for formulas starts at once. An index has a hundred files, each with its own processes.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from assay.formats.documents.batch import Fault, Packed
from assay.formats.documents.dump import TOO_LONG, Broken, Chunk
from assay.formats.documents.indexes import FORMS
from assay.processes import map_fresh, processors

if TYPE_CHECKING:
    from assay.formats.documents.articles import ArticleFile, Converted

SMALL = 4_000_000  # bytes: for a smaller file, starting processes takes longer than the work


class ArticleChunk(NamedTuple):
    """Articles that are converted together.

    `end` is the number of articles up to the last of them, `done` how much of the import is read after it.
    """

    files: "tuple[ArticleFile, ...]"
    end: int
    done: int


def converted(
    chunks: Iterable[Chunk], *, form: str, name: str, n_processes: int
) -> Iterator[tuple[Chunk, Packed]]:
    """Each chunk with its rows, in order; converted in this process if `n_processes` is 0.

    Raises:
        Broken: A chunk breaks the format: the file `name`, line and byte.
        WorkerLost: A process was killed, or ran out of memory.
    """
    convert: Callable[[Chunk], Packed | Fault]
    convert = partial(convert_formulas if form in FORMS else convert_documents, form=form)
    for chunk, batch in map_fresh(convert, chunks, processes=n_processes):
        if isinstance(batch, Fault):
            raise Broken(name, chunk.line + batch.n_lines, chunk.start + batch.offset, batch.message)
        yield chunk, Packed({}, {}, {TOO_LONG: chunk.n_too_long}) if chunk.n_too_long else batch


def processes_for(size: int) -> int:
    """Number of processes for a file of that size: one more than processors, so that none waits for the storing."""
    return 0 if size < SMALL else processors() + 1


def convert_formulas(chunk: Chunk, *, form: str) -> Packed:
    """The rows of a chunk of a formula index, ready for COPY."""
    from assay.formats.documents.index_rows import convert

    return convert(chunk.data, form)


def convert_documents(chunk: Chunk, *, form: str) -> Packed | Fault:
    """The rows of a chunk of documents, sanitized and ready for COPY."""
    from assay.formats.documents.reading import convert

    batch = convert(chunk.data, form)
    return batch if isinstance(batch, Fault) else batch.pack()


def convert_articles(chunk: ArticleChunk) -> "Converted":
    """The articles of a chunk and their formulas, sanitized and ready for COPY."""
    from assay.formats.documents.articles import convert

    return convert(chunk.files)
