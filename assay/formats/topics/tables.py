"""Reads topics in tables, and under usual names of their fields, as rows for `assay.formats.topics.reader`.

A table has a header that names the code and another field (`assay.formats.names`), and tabs or commas between columns.
Other columns are left out. All texts are plain. In JSON lines, the names of `assay.formats.topics.reader` come first.

A topic whose only text is one line, such as `{"_id": "1", "text": "tidal power"}`, has it as its title.
"""

from typing import Any

from assay.formats import names
from assay.formats.documents.batch import Malformed
from assay.formats.documents.table_rows import cells_of, has_more
from assay.formats.documents.tables import COMMA, TAB

LONGEST_TITLE = 300  # characters of a text that becomes a title


def read_table(text: str) -> tuple[list[tuple[int, dict[str, Any]]], list[str]]:
    """The rows of a table of topics, with their lines, and the names of the columns that are not read.

    Raises `Malformed` if a row has more columns than the header, or, with commas, a quotation that is not closed or
    goes on.
    """
    separator, places = names.table_of_topics(text) or ("\t", {})
    rows = cells_of(text.encode(), COMMA if separator == "," else TAB)
    _, header = next(rows)
    others = [name.strip() for n, name in enumerate(header) if n not in places.values()]
    read = []
    for number, cells in rows:
        if has_more(cells, len(header)):
            problem = f"expected {len(header)} columns as in the header, got {len(cells)}"
            message = f"{problem}; put a text with separators in quotation marks"
            raise Malformed(message, offset=0, n_lines=number)
        row: dict[str, Any] = {
            field: cells[place].strip() for field, place in places.items() if place < len(cells)
        }
        if "tags" in row:
            row["tags"] = [tag.strip() for tag in row["tags"].split(",")]
        read.append((number + 1, _with_title(row)))
    return read, others


def with_usual_names(row: dict[str, Any]) -> dict[str, Any]:
    """A row of JSON lines whose code has another name, with the reader's names; any other row as it is."""
    if "code" in row:
        return row
    keys = tuple(row)
    named = {field: row[keys[place]] for field, place in names.places(keys, "topics").items()}
    return _with_title(named | row)


def _with_title(row: dict[str, Any]) -> dict[str, Any]:
    text = row.get("text")
    is_title = isinstance(text, str) and 0 < len(text) <= LONGEST_TITLE and "\n" not in text.strip()
    if row.get("title") or row.get("body") or row.get("latex") or not is_title:
        return row
    return row | {"title": text, "text": ""}
