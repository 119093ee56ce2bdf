"""Tables of plain values: what the commands print, and what the pages and the files of an analysis show."""

from dataclasses import dataclass, field

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows below a header.

    Attributes
    ----------
    name : an identifier; `assay COMMAND --table NAME` selects it, and a file has it in its name.
    description : what the columns mean, in one sentence.
    header : (columns,) headings.
    rows : cells of each row. None, like a float that is not finite, is a value that is not defined.
    title : the heading on a page; empty for a table that only commands print.
    """

    name: str
    description: str
    header: tuple[str, ...]
    rows: list[tuple[Cell, ...]] = field(default_factory=list)
    title: str = ""
