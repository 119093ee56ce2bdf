"""Conversion of a chunk of a formula index.

The processes that convert import this module only: without a sanitizer and XML they start at once, which matters
because an index comes as a hundred files, each with its own processes.
"""

from assay.formats.documents.batch import Packed
from assay.formats.documents.dump import Chunk
from assay.formats.formulas.chunks import convert


def convert_formulas(chunk: Chunk, *, form: str) -> Packed:
    """The rows of a chunk, ready for COPY."""
    return convert(chunk.data, form)
