"""Reads qrels as tables with a header: topic, docno and grade, separated by tabs or commas, in any order of columns.

Or as BOLT's XML of citations, a pool or a submission, in which assessors filled in `rel`.
"""

from collections.abc import Iterator
from io import StringIO
from typing import cast

from assay.errors import plural
from assay.formats import names

MAX_HEADER = 1000  # bytes; a longer first line is not a header


def header_of(data: bytes) -> tuple[str, list[str]] | None:
    """Separator and column names, if the first line names topic, docno and grade; otherwise None."""
    line = data[: MAX_HEADER + 1].lstrip(b"\r\n").splitlines()[:1]
    if not line or len(line[0]) > MAX_HEADER or not line[0].isascii():
        return None
    text = line[0].decode()
    separator = "\t" if "\t" in text else ","
    words = text.split(separator)
    return (separator, words) if len(names.places(words, "qrels")) == len(names.QRELS) else None


def table_rows(
    text: str, separator: str, header: list[str]
) -> Iterator[tuple[int, tuple[str, str, str] | str]]:
    """For each row its line number, and either topic, docno and grade or what is wrong with it."""
    # Slow to import, and most qrels have no header.
    import csv  # noqa: PLC0415

    from assay.formats.spreadsheet import original  # noqa: PLC0415

    known = names.places(header, "qrels")
    places = [known[field] for field in names.QRELS]
    reader = csv.reader(
        StringIO(text, newline=""),
        delimiter=separator,
        quoting=csv.QUOTE_NONE if separator == "\t" else csv.QUOTE_MINIMAL,
        strict=True,
    )
    undo = original if separator == "," else str
    is_header = True
    while True:
        number = reader.line_num + 1  # of the first line of the row
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield number, f"not a row of a table: {error}"
            return
        if cells is None:
            return
        if not any(cell.strip() for cell in cells):
            continue
        if is_header:
            is_header = False
        elif len(cells) != len(header):
            yield number, f"expected {plural(len(header), 'column')} as in the header, got {len(cells)}"
        else:
            topic, docno, grade = (undo(cells[place].strip()) for place in places)
            yield number, (topic, docno, grade)


def cited_rows(data: bytes) -> Iterator[tuple[int, tuple[str, str, str] | str]]:
    """For each `<cite rel>` of a `<response number>` its line number, and topic, docno and `rel`, or what is wrong."""
    # Slow to import, and most qrels are text.
    from lxml import etree  # noqa: PLC0415

    from assay.formats.markup import xml_root  # noqa: PLC0415
    from assay.formats.topics.bolt import citation_of  # noqa: PLC0415

    try:
        root = xml_root(data)
    except (etree.XMLSyntaxError, ValueError) as error:
        yield getattr(error, "lineno", 0) or 0, f"the file is not well-formed XML: {error}"
        return
    for response in root.iter("response"):
        for cite in response.iter("cite"):
            if cite.get("rel") is None:  # not judged
                continue
            number, citation = cast("int", cite.sourceline), citation_of(cite)
            if citation is None:
                yield number, "a judged <cite> needs thread, post, offset and length"
            else:
                yield number, (response.get("number", ""), citation.docno, citation.rel)
