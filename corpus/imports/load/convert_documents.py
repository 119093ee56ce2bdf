"""Conversion of a chunk of documents: a dump of Stack Exchange, a forum, TREC's documents, JSON Lines, or a table."""

from typing import NamedTuple

from assay.formats.documents import forum, jsonl, stackexchange, table_rows, trec
from assay.formats.documents.batch import Batch, Malformed, Packed
from assay.formats.documents.dump import Chunk
from assay.formats.documents.sources import FORUM, TREC
from assay.formats.documents.tables import is_table

_CONVERTERS = {"jsonl": jsonl.convert, FORUM: forum.convert, TREC: trec.convert}


class Fault(NamedTuple):
    """Where a chunk breaks its format: bytes and lines from its beginning."""

    message: str
    offset: int
    n_lines: int


def convert_documents(chunk: Chunk, *, form: str) -> Packed | Fault:
    """The rows of a chunk, sanitized and ready for COPY."""
    try:
        return _converted(chunk.data, form).pack()
    except Malformed as error:
        return Fault(error.message, error.offset, error.n_lines)


def _converted(data: bytes, form: str) -> Batch:
    if form in _CONVERTERS:
        return _CONVERTERS[form](data)
    return table_rows.convert(data, form) if is_table(form) else stackexchange.convert(data, form)
