"""Reads qrels as tables with a header: topic, docno and grade, separated by tabs or commas, in any order of columns.

Or as JSON: an object of objects, as ranx writes it, or an object per line with the names of columns as keys.
"""

import json
import re
from collections.abc import Iterator
from io import StringIO

from assay.formats import names
from assay.formats.sheets import is_before_header, names_in, read_sheet
from assay.formats.spreadsheet import original
from assay.formats.text import lines_of
from assay.structure import strict_json

Row = tuple[str, str, str] | str  # topic, docno and grade, or what is wrong with the line
MAX_HEADER = 1000  # characters; a longer first line is not a header
DECIMAL_COMMA = re.compile(r"([+-]?\d++),(\d++)\Z")  # as spreadsheets of most of Europe write numbers


def header_of(data: bytes) -> list[str] | None:
    """Column names, if the first line that is not a comment names topic, docno and grade; otherwise None."""
    start = data[: 64 * MAX_HEADER].decode(errors="replace")
    line = next((line for line in lines_of(start) if line.strip() and not is_before_header(line)), "")
    if len(line) > MAX_HEADER:
        return None
    words = names_in(line)
    return words if len(names.places(words, "qrels")) == len(names.QRELS) else None


def table_rows(text: str) -> Iterator[tuple[int, Row]]:
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
            if sheet.separator != "," and (match := DECIMAL_COMMA.match(grade)):
                grade = f"{match[1]}.{match[2]}"
            yield number, (topic, docno, grade)


def json_rows(text: str) -> Iterator[tuple[int, Row]]:
    """For each judgment its line number, and either topic, docno and grade or what is wrong with it.

    The text is `{topic: {docno: grade}}`, or objects with the names of columns as keys: one per line, or a list.
    """
    from assay.formats.runs.nested import Pairs, lines_of_keys  # noqa: PLC0415 -- most qrels are lines

    try:
        topics = strict_json(text, pairs=Pairs)
    except (ValueError, RecursionError):
        topics = None  # lines
    if isinstance(topics, Pairs) and topics and all(isinstance(inner, Pairs) for _, inner in topics):
        numbers = lines_of_keys(text)
        for topic, documents in topics:
            next(numbers)
            yield from ((next(numbers), (topic, docno, _word(grade))) for docno, grade in documents)
    elif isinstance(topics, list) and not isinstance(topics, Pairs):
        yield from ((1, _row_of(judgment)) for judgment in topics)
    else:
        for number, line in enumerate(lines_of(text), 1):
            if line.strip():
                try:
                    yield number, _row_of(strict_json(line, pairs=Pairs))
                except (ValueError, RecursionError):
                    yield number, "the line is not JSON"


def _row_of(judgment: object) -> Row:
    pairs = (
        judgment if isinstance(judgment, list) and all(isinstance(pair, tuple) for pair in judgment) else []
    )
    known = names.places([key for key, _ in pairs], "qrels")
    if len(known) < len(names.QRELS):
        return "expected an object with the keys topic, docno and grade"
    topic, docno, grade = (_word(pairs[known[field]][1]) for field in names.QRELS)
    return topic, docno, grade


def _word(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
