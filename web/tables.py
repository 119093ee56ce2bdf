"""Tables of plain values on pages, and as files."""

from collections.abc import Sequence
from typing import NamedTuple

from assay.formats.spreadsheet import as_csv
from assay.tables import Cell, Table, as_tsv, one_word, text_of

MAX_OPEN_ROWS = 40  # a longer table is folded


class ShownTable(NamedTuple):
    """A table as the page shows it: cells with their text, and whether they are numbers."""

    name: str
    title: str
    description: str
    header: list[tuple[str, bool]]
    cells: list[list[tuple[str, bool]]]
    is_long: bool


def shown_table(table: Table) -> ShownTable:
    """A table for `components/shown_table.html`."""
    is_number = [
        all(row[n] is None or isinstance(row[n], int | float) for row in table.rows)
        for n in range(len(table.header))
    ]
    return ShownTable(
        table.name,
        table.title,
        table.description,
        list(zip((name.replace("_", " ") for name in table.header), is_number, strict=True)),
        [
            [(_text(cell, ","), number) for cell, number in zip(row, is_number, strict=True)]
            for row in table.rows
        ],
        len(table.rows) > MAX_OPEN_ROWS,
    )


def _text(cell: Cell, separator: str = "") -> str:
    """A cell; whole numbers with a separator of thousands."""
    if isinstance(cell, int):
        return f"{cell:{separator}}"
    return one_word(text_of(cell))


def file_of(tables: Sequence[Table], name: str, kind: str) -> str | None:
    """A table by its name as TSV or CSV; None if no table has the name."""
    for table in tables:
        if table.name == name:
            rows = [[_text(cell) for cell in row] for row in table.rows]
            return as_csv(table.header, rows) if kind == "csv" else as_tsv(table.header, rows)
    return None
