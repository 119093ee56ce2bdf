"""Conversion of a chunk of documents: a dump of Stack Exchange, threads of a forum, or JSON Lines."""

from typing import NamedTuple

from assay.formats.documents import forum, jsonl, stackexchange
from assay.formats.documents.batch import Malformed, Packed
from assay.formats.documents.dump import Chunk
from assay.formats.documents.sources import FORUM

_CONVERTERS = {"jsonl": jsonl.convert, FORUM: forum.convert}


class Fault(NamedTuple):
    """Where a chunk breaks its format: bytes and lines from its beginning."""

    message: str
    offset: int
    n_lines: int


def convert_documents(chunk: Chunk, *, form: str) -> Packed | Fault:
    """The rows of a chunk, sanitized and ready for COPY."""
    try:
        batch = (
            _CONVERTERS[form](chunk.data) if form in _CONVERTERS else stackexchange.convert(chunk.data, form)
        )
    except Malformed as error:
        return Fault(error.message, error.offset, error.n_lines)
    return batch.pack()
