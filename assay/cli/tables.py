"""Tables as tab-separated text, with four decimals, or JSON, with all digits."""

import argparse
import json
import math
import sys
from collections.abc import Sequence

from assay.cli.options import add_format, add_quiet
from assay.errors import InputError
from assay.tables import Cell, Table


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `print_tables` reads, and --quiet."""
    add_format(parser, "tsv", "json")
    parser.add_argument("--table", metavar="NAME", help="print only this table")
    add_quiet(parser)


def print_tables(tables: Sequence[Table], arguments: argparse.Namespace) -> int:
    """Print all tables, or the one that --table names; the exit status.

    Raises
    ------
    InputError
        There is no table of that name.
    """
    if arguments.table is not None:
        names = [table.name for table in tables]
        if arguments.table not in names:
            raise InputError(f"--table: there is no table {arguments.table!r}; use {', '.join(names)}")
        tables = [table for table in tables if table.name == arguments.table]
    sys.stdout.write(as_json(tables) if arguments.format == "json" else as_text(tables))
    return 0


def as_text(tables: Sequence[Table]) -> str:
    """Tab-separated tables. If there are several, a line that begins with # is before each."""
    return "\n".join(_as_tsv(table, has_title=len(tables) > 1) for table in tables)


def _as_tsv(table: Table, *, has_title: bool) -> str:
    title = [f"# {table.name}: {table.description}"] if has_title else []
    rows = ["\t".join(map(_text, row)) for row in table.rows]
    return "\n".join([*title, "\t".join(table.header), *rows]) + "\n"


def _text(cell: Cell) -> str:
    """An undefined number is empty."""
    if isinstance(cell, float):
        return f"{cell:.4f}" if math.isfinite(cell) else ""
    return "" if cell is None else str(cell)


def as_json(tables: Sequence[Table]) -> str:
    """An object of tables by name, each a list of objects, one per line."""
    return "{\n" + ",\n".join(f"{json.dumps(table.name)}: {_json_rows(table)}" for table in tables) + "\n}\n"


def _json_rows(table: Table) -> str:
    rows = [
        json.dumps(dict(zip(table.header, map(_json_cell, row), strict=True)), ensure_ascii=False)
        for row in table.rows
    ]
    return "[\n" + ",\n".join(rows) + "\n]" if rows else "[]"


def _json_cell(cell: Cell) -> Cell:
    """An undefined number is null."""
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else None
    return cell
