"""Recognizes tables of documents, one document per row, and cuts them into rows.

A header names the columns, in any order: `docno`, `title`, `text` or other names of theirs (`assay.formats.names`), and
`published`, a date in ISO 8601; columns with other names are ignored. Tabs, commas or semicolons separate columns. A
table with two columns and tabs needs no header: docno and text.

The form of a table states its columns, counted from 1, and their number: `tsv docno=1 text=3 of=4`.
`assay.formats.documents.table_rows` converts the rows.
"""

import re

from assay.formats import names
from assay.formats.documents.batch import MAX_NAME
from assay.formats.sheets import is_before_header

TAB, COMMA, SEMICOLON = "tsv", "csv", "ssv"
SEPARATORS = {TAB: "\t", COMMA: ",", SEMICOLON: ";"}
PLAIN = f"{TAB} docno=1 text=2 of=2"  # without a header
_FORM = re.compile(rf"({TAB}|{COMMA}|{SEMICOLON})(?: (?:docno|title|text|published|of)=[0-9]{{1,3}})+")
_PLAIN_ROW = re.compile(rb"[^\s,{<\"]{1,%d}\t[^\t]+" % MAX_NAME)
_ROWS_SEEN = 50  # of a table without a header
# A quotation mark has a meaning only where a cell begins. No possessive group contains alternatives: Python before
# 3.11.5 matches such groups wrongly (gh-106052).
_CELL = rb'(?P<open>"(?P<closed>[^"]*+(?:""[^"]*+)*+")?)?[^%b\n]*+(?P<end>[%b\n]|\Z)'
_CELLS = {kind: re.compile(_CELL % (mark, mark)) for kind, mark in ((COMMA, b","), (SEMICOLON, b";"))}


def is_table(form: str) -> bool:
    return _FORM.fullmatch(form) is not None


def headed(text: bytes) -> tuple[str, int] | None:
    """The form of the table whose header begins a text, and the byte after the header; None if there is none."""
    start = 0  # of the line of the header; Excel reads the separator from a line before it
    if is_before_header(text[:100].partition(b"\n")[0].decode(errors="replace")):
        start = text.find(b"\n") + 1
    first = text[start : start + names.LONGEST_HEADER].partition(b"\n")[0]
    header = first.decode(errors="replace")
    for kind, separator in SEPARATORS.items():
        words = header.split(separator)
        places = names.places(words, "documents")
        if "docno" in places and len(places) > 1:
            columns = "".join(f" {field}={places[field] + 1}" for field in names.DOCUMENTS if field in places)
            return f"{kind}{columns} of={len(words)}", min(start + len(first) + 1, len(text))
    return None


def is_plain(text: bytes) -> bool:
    """Return whether a text begins a table of docno and text, separated by a tab, without a header."""
    lines = [line for line in text.split(b"\n", _ROWS_SEEN)[:_ROWS_SEEN] if line.strip()]
    complete = lines[:-1] or lines  # the last line may be cut off
    return bool(complete) and all(map(_PLAIN_ROW.fullmatch, complete))


def cut(buffer: bytes, kind: str = COMMA) -> int:
    """Return the end of the last complete row of a buffer of rows with commas or semicolons; 0 within its first row."""
    last = 0
    for cell in _CELLS[kind].finditer(buffer):
        if cell["open"] and cell["closed"] is None:
            break  # the cell goes on in the next block
        if cell["end"] == b"\n":
            last = cell.end()
    return last
