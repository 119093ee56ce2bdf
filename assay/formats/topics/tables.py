"""Reads topics in tables, as rows for `assay.formats.topics.reader`.

A table has a header that names the code and another field (`assay.formats.names`), and tabs, commas or semicolons
between columns. Columns with other names are left out. All texts are plain.
"""

from typing import Any

from assay.errors import plural
from assay.formats import names
from assay.formats.documents.batch import Malformed
from assay.formats.documents.table_rows import cells_of, has_more
from assay.formats.documents.tables import SEPARATORS
from assay.formats.sheets import without_preamble
from assay.formats.topics import trec
from assay.formats.topics.objects import with_usual_names

KINDS = {separator: kind for kind, separator in SEPARATORS.items()}


def read_table(text: str) -> trec.Reading:
    """The rows of a table of topics, with their lines.

    Raises `Malformed` if a row has more columns than the header, or, with commas, a quotation that is not closed or
    goes on.
    """
    separator, places = names.table_of_topics(text) or ("\t", {})
    rows = cells_of(without_preamble(text), KINDS[separator])
    _, header = next(rows)
    read: list[tuple[int, dict[str, Any]]] = []
    for number, cells in rows:
        if has_more(cells, len(header)):
            problem = f"expected {plural(len(header), 'column')} as in the header, got {len(cells)}"
            message = f"{problem}; put a text with separators in quotation marks"
            raise Malformed(message, offset=0, n_lines=number)
        row = {name.strip().strip('"'): cell.strip() for name, cell in zip(header, cells, strict=False)}
        read.append((number + 1, with_usual_names(row, is_table=True)))
    known = {names.normal(header[place]) for place in places.values()} | names.SECTIONS
    others = [name.strip() for name in header if name.strip() and names.normal(name) not in known]
    return trec.Reading(read, left_out=others)
