"""Tables of plain values, which commands print and pages and files show; and tab-separated lines of them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import islice
from math import isfinite
from typing import Annotated, Any

Cell = str | int | float | None
Undefinable = Annotated[float, "nan where it is undefined"]
LINES_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Table:
    """Rows below a header.

    Args:
        name: an identifier; `assay COMMAND --table NAME` selects it, and a file has it in its name.
        description: what the columns mean, in one sentence.
        header: (columns,) headings.
        rows: cells of each row. None, like a float that is not finite, is a value that is not defined.
        title: the heading on a page; empty for a table that only commands print.
    """

    name: str
    description: str
    header: tuple[str, ...]
    rows: list[tuple[Cell, ...]] = field(default_factory=list)
    title: str = ""


def natural(code: str) -> str:
    """The key by which codes sort as people read them; equal codes but for zeros need a second key.

    >>> sorted(["A.10", "A.9", "1_10", "1_9"], key=natural)
    ['1_9', '1_10', 'A.9', 'A.10']
    """
    return re.sub("[0-9]+", lambda number: number[0][-20:].zfill(20), code)


def shown(value: float) -> str:
    """A value with four decimals, as in all tables."""
    return f"{value:.4f}"


def text_of(cell: Cell) -> str:
    """A cell as text. A value that is not defined is empty."""
    if isinstance(cell, float):
        return shown(cell) if isfinite(cell) else ""
    return "" if cell is None else str(cell)


def one_word(name: str) -> str:
    """A name without tabs and line ends, which would break a table."""
    return " ".join(name.split())


def as_tsv(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Tab-separated lines, without quotation marks."""
    return "".join(tsv_lines(header, rows))


def tsv_lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the parts of `as_tsv`, of many lines each."""
    yield "\t".join(header) + "\n"
    rows = iter(rows)
    while lines := ["\t".join(cells) for cells in islice(rows, LINES_AT_ONCE)]:
        yield "\n".join(lines) + "\n"


def plain(value: object) -> Any:
    """A value for JSON: dataclasses and named tuples as objects, arrays and tuples as lists, nan as null.

    >>> plain((1, float("nan")))
    [1, None]
    """
    if is_dataclass(value):
        return {member.name: plain(getattr(value, member.name)) for member in fields(value)}
    if hasattr(value, "_asdict"):
        return {name: plain(item) for name, item in value._asdict().items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def as_text(tables: Sequence[Table]) -> str:
    """Tab-separated tables. If there are several, a line that begins with # is before each."""
    texts = []
    for table in tables:
        title = [f"# {table.name}: {table.description}"] if len(tables) > 1 else []
        rows = ["\t".join(map(text_of, row)) for row in table.rows]
        texts.append("\n".join([*title, "\t".join(table.header), *rows]) + "\n")
    return "\n".join(texts)
