"""A process that converts chunks for `corpus.imports.load.processes`: chunks come in by stdin, batches go out by stdout.

It is a process of its own making (`python -m`), not a fork: a Celery worker may not have forked children, and a fork
would share its database connection. When the worker is killed, stdin ends and so does the helper.
"""

import gc
import sys

from assay.formats.documents import jsonl, stackexchange
from assay.formats.documents.batch import Malformed, Packed
from assay.formats.formulas import chunks, indexes
from corpus.imports.load.messages import receive, send

_FAULT = "malformed"


def convert(data: bytes, form: str) -> Packed:
    """A chunk of a file of any form."""
    if form in indexes.FORMS:
        return chunks.convert(data, form)
    return (jsonl.convert(data) if form == "jsonl" else stackexchange.convert(data, form)).pack()


def packed(data: bytes, form: str) -> Packed:
    """A chunk as what the helper answers: where it is malformed, that is said in `counts`."""
    try:
        return convert(data, form)
    except Malformed as fault:
        return Packed(
            {_FAULT: fault.message.encode()}, {"offset": fault.offset, "n_lines": fault.n_lines}, {}
        )


def unfaulty(batch: Packed) -> Packed:
    """The batch; raises the fault that it reports."""
    if _FAULT in batch.tables:
        message = batch.tables[_FAULT].decode()
        raise Malformed(message, offset=batch.counts["offset"], n_lines=batch.counts["n_lines"])
    return batch


def main(form: str) -> None:
    gc.disable()  # a chunk's objects make no cycles; looking for some takes a twentieth of the time
    while (data := receive(sys.stdin.buffer)) is not None:
        send(sys.stdout.buffer, packed(data, form).to_bytes())


if __name__ == "__main__":
    main(sys.argv[1])
