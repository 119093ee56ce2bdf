"""Tables ready to print, as LaTeX for the package booktabs, as CSV, and as text.

A column may have a heading that it shares with its neighbors, such as the name of a track above its measures. Rows may
be in groups, each under a title, such as the runs of a team.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from itertools import groupby
from typing import NamedTuple

from assay.formats.spreadsheet import as_csv
from assay.tables import Table, as_tsv, one_word, text_of

PACKAGES = "% needs \\usepackage{amssymb, array, booktabs, graphicx}"
OTHER_SCRIPTS = (
    "% has letters beyond Latin, Greek and Cyrillic: use XeLaTeX or LuaLaTeX, and a font that has them"
)
LAST_OF_LATIN = "\u052f"  # and of Greek and Cyrillic
CHECK = "✓"
MOST_LETTERS = 80  # of a topic or an answer in a cell
TOTAL = "Total"  # the first cell of a row of sums
LONG = 9  # letters; a longer heading of numbers has two lines
WORDS_SHARE = 0.74  # of the width of the line, for all columns of words but the first

SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"{\char34}",  # in every font encoding, and where babel makes the character active
        "`": r"{\char96}",
        # after the end of a row, LaTeX would read these as arguments
        **{character: f"{{{character}}}" for character in "[]*"},
        "✓": r"$\checkmark$",
        "′": r"$^\prime$",
        "–": "--",
        "τ": r"$\tau$",
        "≥": r"$\geq$",
    }
)
# Control characters, and those that reverse the direction of the text that follows.
_UNPRINTABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_LIGATURE = re.compile("-(?=-)|'(?=')|,(?=,)|[?!](?=`)")


class Column(NamedTuple):
    """A column. Neighbors with the same `over` share that heading above theirs.

    `is_measure` and `is_over_measure` state that a heading is the name of a measure, whose apostrophe is a prime.
    `is_topic` states that the cells are texts of topics, or about them, which have LaTeX between dollars.
    """

    label: str
    over: str = ""
    is_number: bool = False
    is_measure: bool = False
    is_mark: bool = False
    is_over_measure: bool = False
    is_topic: bool = False

    @property
    def style(self) -> str:
        """The class of its cells on a page."""
        return "num" if self.is_number else "mark" if self.is_mark else ""

    @property
    def alignment(self) -> str:
        """Right, centered or left, as LaTeX names it."""
        return "r" if self.is_number else "c" if self.is_mark else "l"


class Value(NamedTuple):
    """A cell as it is printed; a number also with all its digits."""

    text: str
    is_best: bool = False
    exact: float | None = None


Row = tuple[Value, ...]


class Group(NamedTuple):
    """Rows under a title; the title is empty if the table has no groups."""

    title: str
    rows: tuple[Row, ...]


class Over(NamedTuple):
    """A heading above one or more columns; `first` and `last` count from 1."""

    label: str
    first: int
    last: int
    is_measure: bool

    @property
    def width(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table ready to print.

    Args:
        name: names its files and its place on a page.
        title: the heading on a page.
        caption: what the table has, and what its marks mean; in whole sentences.
        columns: the first one is of words, and names the rows.
        first_group: what the titles of the groups are; the heading of their column in CSV.
    """

    name: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    first_group: str = "group"

    def with_reason(self, reason: str) -> "PaperTable":
        """The table with a caption that says why cells are empty, if some are: neither marks nor those of a total."""
        rows = [row for group in self.groups for row in group.rows if row[0].text != TOTAL]
        cells = (
            cell for row in rows for cell, column in zip(row, self.columns, strict=True) if not column.is_mark
        )
        is_complete = all(cell.text for cell in cells)
        return self if is_complete else replace(self, caption=f"{self.caption} An empty cell: {reason}.")

    @property
    def n_rows(self) -> int:
        return sum(len(group.rows) for group in self.groups)

    @property
    def over(self) -> list[Over]:
        """The upper headings from left to right, also the empty ones; none if no column has one."""
        if not any(column.over for column in self.columns):
            return []
        headings, place = [], 1
        for heading, neighbors in groupby(
            self.columns, key=lambda column: (column.over, column.is_over_measure)
        ):
            label, is_measure = heading
            width = len(list(neighbors))
            headings.append(Over(label, place, place + width - 1, is_measure))
            place += width
        return headings

    @property
    def shown_rows(self) -> list[tuple[Group, list[tuple[Value, Column]]]]:
        """Each row with its group, and with the column of each cell."""
        return [
            (group, list(zip(row, self.columns, strict=True))) for group in self.groups for row in group.rows
        ]

    @property
    def has_groups(self) -> bool:
        return any(group.title for group in self.groups)


def number(value: float | None, digits: int = 4) -> Value:
    """A number as a cell, empty for None; a whole number has no decimals."""
    if value is None:
        return Value("")
    return Value(f"{value:,}" if isinstance(value, int) else f"{value:.{digits}f}", exact=value)


def mean_count(value: float | None) -> Value:
    """A mean of counts as a cell with one decimal. Halves are rounded up, as in papers: 74.25 is 74.3."""
    text = "" if value is None else str(Decimal(value).quantize(Decimal("0.1"), ROUND_HALF_UP))
    return Value(text, exact=value)


def words(*texts: str) -> Row:
    """Cells of words."""
    return tuple(map(Value, texts))


def paper_table(table: Table) -> PaperTable:
    """A table of plain values for print; the names of measures that end in a prime are shown as such."""
    columns = tuple(
        Column(heading, is_number=is_number, is_measure=is_number and heading.endswith("'"))
        for n, heading in enumerate(table.header)
        for is_number in [all(isinstance(row[n], (int, float, type(None))) for row in table.rows)]
    )
    rows = tuple(tuple(Value(text_of(cell)) for cell in row) for row in table.rows)
    caption = f"{table.description[:1].upper()}{table.description[1:]}."
    return PaperTable(table.name, table.name, caption, columns, (Group("", rows),))


def as_latex(table: PaperTable) -> str:
    """A table environment, at most as wide as the line. Its label is `tab:` and the name of the table."""
    columns = table.columns
    alignment = "".join(column.alignment for column in columns)
    n_words = len(columns) - 1
    if n_words > 0 and not any(column.style for column in columns):  # all but the first are equally wide
        width = rf"\dimexpr{WORDS_SHARE}\linewidth/{n_words}-2\tabcolsep\relax"
        alignment = rf"l*{{{n_words}}}{{>{{\raggedright\arraybackslash}}p{{{width}}}}}"
    over = []
    if table.over:
        names = [
            measure_name(heading.label) if heading.is_measure else escape(heading.label)
            for heading in table.over
        ]
        cells = [
            rf"\multicolumn{{{heading.width}}}{{c}}{{{name}}}"
            for heading, name in zip(table.over, names, strict=True)
        ]
        rules = [
            rf"\cmidrule(lr){{{heading.first}-{heading.last}}}" for heading in table.over if heading.label
        ]
        over = [" & ".join(cells) + r" \\", " ".join(rules)]
    lines = [
        "\\begin{table}",
        f"\\caption{{{escape(table.caption)}}}",
        f"\\label{{tab:{table.name}}}",
        "\\centering",
        "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%",
        f"\\begin{{tabular}}{{{alignment}}}",
        "\\toprule",
        *over,
        " & ".join(_heading(column) for column in columns) + r" \\",
        "\\midrule",
        *_latex_rows(table),
        "\\bottomrule",
        "\\end{tabular}}",
        "\\end{table}",
    ]
    text = "\n".join(lines)
    notes = [PACKAGES] if max(text) <= LAST_OF_LATIN else [PACKAGES, OTHER_SCRIPTS]
    return "\n".join([*notes, text]) + "\n"


def _heading(column: Column) -> str:
    """A heading; a long one of numbers in two lines of words, as narrow as possible."""
    if column.is_measure:
        return measure_name(column.label)
    parts = column.label.split()
    if not column.is_number or len(column.label) <= LONG:
        return escape(column.label)
    splits = [[" ".join(parts[:n]), " ".join(parts[n:])] for n in range(1, len(parts))]
    lines = r"\\".join(map(escape, min(splits, key=lambda lines: max(map(len, lines)), default=parts)))
    return rf"\shortstack[r]{{{lines}}}"


def _latex_rows(table: PaperTable) -> Iterator[str]:
    for n, group in enumerate(table.groups):
        if group.title:
            if n:
                yield r"\addlinespace"
            yield rf"\multicolumn{{{len(table.columns)}}}{{l}}{{\textbf{{{escape(group.title)}}}}} \\"
        for row in group.rows:
            cells = []
            for cell, column in zip(row, table.columns, strict=True):
                text = escape(cell.text)
                if column.is_number and text.startswith("-"):
                    text = f"$-${text[1:]}"
                cells.append(rf"\textbf{{{text}}}" if cell.is_best else text)
            yield (r"\quad " if group.title else "") + " & ".join(cells) + r" \\"


def header_of(table: PaperTable) -> list[str]:
    """One heading for each column of a file; a shared heading comes before that of the column."""
    header = [f"{column.over}: {column.label}" if column.over else column.label for column in table.columns]
    return [table.first_group, *header] if table.has_groups else header


def rows_of(table: PaperTable) -> list[list[str]]:
    """The cells of a file. Numbers have no separators."""
    return [
        [one_word(group.title)] * table.has_groups
        + [cell.text.replace(",", "") if column.is_number else one_word(cell.text) for cell, column in row]
        for group, row in table.shown_rows
    ]


def exact_rows_of(table: PaperTable) -> list[list[str | float | None]]:
    """The cells with the names of the columns of a file; numbers have all their digits, and are None if undefined."""
    return [
        [
            *([group.title] if table.has_groups else []),
            *(cell.exact if column.is_number else cell.text for cell, column in row),
        ]
        for group, row in table.shown_rows
    ]


def as_file(table: PaperTable, kind: str) -> str:
    """The table as `tex`, `csv`, `tsv`, or `json`, whose numbers have all their digits."""
    if kind == "tex":
        return as_latex(table)
    header, rows = header_of(table), rows_of(table)
    if kind == "json":
        objects = [dict(zip(header, row, strict=True)) for row in exact_rows_of(table)]
        return json.dumps(objects, ensure_ascii=False, indent=1) + "\n"
    return as_csv(header, rows) if kind == "csv" else as_tsv(header, rows)


def escape(text: str) -> str:
    r"""Text as LaTeX prints it, on one line, whatever it contains: names of teams and tags of runs come from strangers.

    >>> escape("50% of R&D\n\\input{x}")
    '50\\% of R\\&D \\textbackslash{}input\\{x\\}'
    """
    text = " ".join(_UNPRINTABLE.sub("", text).split())
    parts = _LIGATURE.sub(lambda match: match[0] + "\0", text)
    return parts.translate(SPECIAL).replace("\0", "{}")


def measure_name(name: str) -> str:
    """The name of a measure; its apostrophe is a prime."""
    return escape(name.replace("'", "′"))
