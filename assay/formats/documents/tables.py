"""Recognizes tables of documents, one document per row, and cuts them into rows.

A header names the columns, in any order: `docno`, `title`, `text` or other names of theirs (`assay.formats.names`);
columns with other names are ignored. Tabs or commas separate columns. A table with two columns and tabs needs no
header: docno and text.

The form of a table states its columns, counted from 1: `tsv docno=1 text=3`. `assay.formats.documents.table_rows`
converts the rows.
"""

import re

from assay.formats import names
from assay.formats.documents.batch import MAX_NAME

TAB, COMMA = "tsv", "csv"
SEPARATORS = {TAB: "\t", COMMA: ","}
PLAIN = f"{TAB} docno=1 text=2"  # without a header
_FORM = re.compile(rf"({TAB}|{COMMA})(?: (?:docno|title|text)=[0-9]{{1,3}})+")
_PLAIN_ROW = re.compile(rb"[^\s,{<\"]{1,%d}\t[^\t]+" % MAX_NAME)
_ROWS_SEEN = 50  # of a table without a header
_LONGEST_HEADER = 10_000


def is_table(form: str) -> bool:
    return _FORM.fullmatch(form) is not None


def headed(text: bytes) -> tuple[str, int] | None:
    """The form of the table whose header begins a text, and the byte after the header; None if there is none."""
    first = text[:_LONGEST_HEADER].partition(b"\n")[0]
    header = first.decode(errors="replace")
    for kind, separator in SEPARATORS.items():
        places = names.places(header.split(separator), "documents")
        if "docno" in places and len(places) > 1:
            columns = "".join(f" {field}={places[field] + 1}" for field in names.DOCUMENTS if field in places)
            return kind + columns, min(len(first) + 1, len(text))
    return None


def is_plain(text: bytes) -> bool:
    """Whether a text begins a table of docno and text, separated by a tab, without a header."""
    lines = [line for line in text.split(b"\n", _ROWS_SEEN)[:_ROWS_SEEN] if line.strip()]
    complete = lines[:-1] or lines  # the last line may be cut off
    return bool(complete) and all(map(_PLAIN_ROW.fullmatch, complete))


def cut(buffer: bytes) -> int:
    """Where the last row of a buffer of rows with commas begins or ends; 0 if the buffer is within its first row."""
    at, n_quotes = len(buffer), buffer.count(b'"')
    while (line_end := buffer.rfind(b"\n", 0, at)) >= 0:
        n_quotes -= buffer.count(b'"', line_end, at)
        if n_quotes % 2 == 0:
            return line_end + 1
        at = line_end
    return 0
