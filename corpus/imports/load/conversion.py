"""Conversion of the chunks of a file by several processes. While one batch is stored, the next ones are converted.

The processes are fresh, not forked: a Celery worker must not fork a process that has its database connection.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from assay.formats.documents.batch import Packed
from assay.formats.documents.dump import TOO_LONG, Broken, Chunk
from assay.formats.formulas.indexes import FORMS
from assay.processes import map_fresh, processors
from corpus.imports.load.convert_documents import Fault, convert_documents
from corpus.imports.load.convert_formulas import convert_formulas

SMALL = 4_000_000  # bytes: for a smaller file, starting processes takes longer than the work


def converted(
    chunks: Iterable[Chunk], *, form: str, name: str, n_processes: int
) -> Iterator[tuple[Chunk, Packed]]:
    """Each chunk with its rows, in order; converted in this process if `n_processes` is 0.

    Raises
    ------
    Broken
        A chunk breaks the format: the file `name`, line and byte.
    WorkerLost
        A process was killed, or ran out of memory.
    """
    convert: Callable[[Chunk], Packed | Fault]
    convert = partial(convert_formulas if form in FORMS else convert_documents, form=form)
    for chunk, batch in map_fresh(convert, chunks, processes=n_processes):
        if isinstance(batch, Fault):
            raise Broken(name, chunk.line + batch.n_lines, chunk.start + batch.offset, batch.message)
        yield chunk, Packed({}, {}, {TOO_LONG: chunk.n_too_long}) if chunk.n_too_long else batch


def n_processes(size: int) -> int:
    """Number of processes for a file of that size: one more than processors, so that none waits for the storing."""
    return 0 if size < SMALL else processors() + 1
