"""Reads qrels as tables with a header: topic, docno and grade, separated by tabs or commas, in any order of columns."""

import re
from collections.abc import Iterator
from io import StringIO

from assay.formats import names
from assay.formats.sheets import is_before_header, names_in, read_sheet
from assay.formats.spreadsheet import original
from assay.formats.text import lines_of

MAX_HEADER = 1000  # characters; a longer first line is not a header
DECIMAL_COMMA = re.compile(r"([+-]?\d+),(\d+)")  # as spreadsheets of most of Europe write numbers


def header_of(data: bytes) -> list[str] | None:
    """Column names, if the first line that is not a comment names topic, docno and grade; otherwise None."""
    start = data[: 64 * MAX_HEADER].decode(errors="replace")
    line = next((line for line in lines_of(start) if line.strip() and not is_before_header(line)), "")
    if len(line) > MAX_HEADER:
        return None
    words = names_in(line)
    return words if len(names.places(words, "qrels")) == len(names.QRELS) else None


def table_rows(text: str) -> Iterator[tuple[int, tuple[str, str, str] | str]]:
    """For each row its line number, and either topic, docno and grade or what is wrong with it."""
    sheet = read_sheet(StringIO(text, newline=""), is_plain_tsv=True)
    known = names.places(sheet.header, "qrels")
    if len(known) < len(names.QRELS):  # a quotation mark is open at the end of its line
        yield sheet.number, "the header has a quotation mark that does not end in its line"
        return
    places = [known[field] for field in names.QRELS]
    undo = str if sheet.separator == "\t" else original
    for number, cells in sheet.rows:
        if isinstance(cells, str):
            yield number, cells
        else:
            topic, docno, grade = (undo(cells[place].strip()) for place in places)
            grade = DECIMAL_COMMA.sub(r"\1.\2", grade) if sheet.separator != "," else grade
            yield number, (topic, docno, grade)
