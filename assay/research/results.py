"""Results of the functions for researchers: tables that notebooks show and papers print, and a plot."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from html import escape

from assay.errors import InputError
from assay.plots import Plot
from assay.tables import Cell, Table, as_text, text_of

MOST_ROWS = 60  # of a table that is printed or that a notebook shows


@dataclass(frozen=True, repr=False)
class Figure:
    """A plot, which a notebook draws. `svg` is the picture."""

    data: Plot

    @property
    def svg(self) -> str:
        """The picture, for a file or a page."""
        from assay.tables.figures import as_svg  # noqa: PLC0415 -- lxml, which draws, is slow to import

        return as_svg(self.data)

    def to_latex(self) -> str:
        """A figure for LaTeX with the package pgfplots."""
        from assay.tables.figures import as_pgfplots  # noqa: PLC0415 -- as above

        return as_pgfplots(self.data)

    def __repr__(self) -> str:
        return f"<Figure: {self.data.title}>"

    def _repr_svg_(self) -> str:
        return self.svg


class Result(ABC):
    """Some tables, and a plot. `str` and a notebook show the first rows of each table."""

    @property
    @abstractmethod
    def tables(self) -> list[Table]:
        """The tables, the most important one first."""

    @abstractmethod
    def plot(self) -> Figure:
        """The plot that shows the result best; a notebook draws it."""

    def table(self, name: str | None = None) -> Table:
        """The table with a name, or the first one.

        Raises:
            InputError: There is no table of that name.
        """
        names = [table.name for table in self.tables]
        if name is not None and name not in names:
            raise InputError(f"there is no table {name!r}; use {', '.join(names)}")
        return self.tables[0 if name is None else names.index(name)]

    def columns(self, name: str | None = None) -> dict[str, list[Cell]]:
        """The columns of a table by their headings, for `pandas.DataFrame` and `polars.DataFrame`."""
        table = self.table(name)
        return {heading: [row[n] for row in table.rows] for n, heading in enumerate(table.header)}

    def to_latex(self, name: str | None = None) -> str:
        """A table for LaTeX with the package booktabs; numbers have four decimals."""
        from assay.tables.paper import as_latex, paper_table  # noqa: PLC0415 -- few results are printed in papers

        return as_latex(paper_table(self.table(name)))

    def __str__(self) -> str:
        shown = [replace(table, rows=table.rows[:MOST_ROWS]) for table in self.tables]
        more = [
            f"# {table.name}: the first {MOST_ROWS} of {len(table.rows):,} rows; "
            f"columns({table.name!r}) has all"
            for table in self.tables
            if len(table.rows) > MOST_ROWS
        ]
        return "\n".join([as_text(shown), *more])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} with the tables {', '.join(table.name for table in self.tables)}>"

    def _repr_html_(self) -> str:
        """The tables for a notebook; a long one without its last rows."""
        lines = []
        for table in self.tables:
            shown = table.rows[:MOST_ROWS]
            more = (
                f"; the first {len(shown):,} of {len(table.rows):,} rows"
                if len(shown) < len(table.rows)
                else ""
            )
            lines += [
                "<table>",
                f"<caption><b>{escape(table.name)}</b>: {escape(table.description)}{more}</caption>",
            ]
            head = "".join(f"<th>{escape(heading)}</th>" for heading in table.header)
            lines += [f"<thead><tr>{head}</tr></thead>", "<tbody>"]
            for row in shown:
                sides = ("left" if isinstance(cell, str) else "right" for cell in row)
                cells = [
                    f'<td style="text-align: {side}">{escape(text_of(cell))}</td>'
                    for side, cell in zip(sides, row, strict=True)
                ]
                lines.append(f"<tr>{''.join(cells)}</tr>")
            lines += ["</tbody>", "</table>"]
        return "\n".join(lines)
