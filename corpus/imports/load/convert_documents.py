"""Conversion of a chunk of documents: a dump of Stack Exchange or JSON Lines."""

from typing import NamedTuple

from assay.formats.documents import jsonl, stackexchange
from assay.formats.documents.batch import Malformed, Packed
from assay.formats.documents.dump import Chunk


class Fault(NamedTuple):
    """Where a chunk breaks its format: bytes and lines from its beginning."""

    message: str
    offset: int
    n_lines: int


def convert_documents(chunk: Chunk, *, form: str) -> Packed | Fault:
    """The rows of a chunk, sanitized and ready for COPY."""
    try:
        batch = jsonl.convert(chunk.data) if form == "jsonl" else stackexchange.convert(chunk.data, form)
    except Malformed as error:
        return Fault(error.message, error.offset, error.n_lines)
    return batch.pack()
