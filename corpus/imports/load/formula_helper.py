"""A process that converts chunks of formula indexes, as `corpus.imports.load.helper` does those of other files.

It needs no sanitizer and no XML, so it starts at once: an index comes as a hundred files, each of which has helpers.
"""

import gc
import sys

from assay.formats.formulas.chunks import convert
from corpus.imports.load.messages import receive, send


def main(form: str) -> None:
    gc.disable()  # a chunk's objects make no cycles
    while (data := receive(sys.stdin.buffer)) is not None:
        send(sys.stdout.buffer, convert(data, form).to_bytes())


if __name__ == "__main__":
    main(sys.argv[1])
