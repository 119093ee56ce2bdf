"""Tables as tab-separated text or JSON: the same numbers in both, four decimals each."""

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Sequence

from assay.evaluation.files import InputError
from assay.evaluation.protocol_rules import NotComputed
from assay.formats.manifest import ManifestError
from assay.formats.runs.reader import UnknownForm
from assay.pools.strategies import PoolError
from assay.protocols.loader import ProtocolError
from assay.protocols.measures import MeasureError
from assay.tables import Cell, Table

UNUSABLE = (InputError, ProtocolError, MeasureError, NotComputed, UnknownForm, ManifestError, PoolError)

def run_command(
    name: str, tables: Callable[[argparse.Namespace], Sequence[Table]], arguments: argparse.Namespace
) -> int:
    """Print the tables of a command; 2 if the input cannot be used, and then nothing is printed but the reason."""
    try:
        text = printed(tables(arguments), arguments)
    except UNUSABLE as error:
        print(f"{name}: {error}", file=sys.stderr)  # noqa: T201
        return 2
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough; nothing may be flushed at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def printed(tables: Sequence[Table], arguments: argparse.Namespace) -> str:
    """All tables, or the one asked for, in the form asked for.

    Raises
    ------
    InputError
        There is no table of the name.
    """
    if arguments.table is not None:
        known = [table.name for table in tables]
        if arguments.table not in known:
            raise InputError(f"there is no table {arguments.table!r}; there is {', '.join(known)}")
        tables = [table for table in tables if table.name == arguments.table]
    return as_json(tables) if arguments.format == "json" else as_text(tables)


def as_text(tables: Sequence[Table]) -> str:
    """Tab-separated tables; where there are several, each has a line before it that begins with #."""
    return "\n".join(_as_tsv(table, is_titled=len(tables) > 1) for table in tables)


def _as_tsv(table: Table, *, is_titled: bool) -> str:
    title = [f"# {table.name}: {table.description}"] if is_titled else []
    rows = ["\t".join(map(_shown, row)) for row in table.rows]
    return "\n".join([*title, "\t".join(table.header), *rows]) + "\n"


def _shown(cell: Cell) -> str:
    if isinstance(cell, float):
        return f"{cell:.4f}" if math.isfinite(cell) else ""
    return "" if cell is None else str(cell)


def as_json(tables: Sequence[Table]) -> str:
    """An object of tables by name, each a list of objects, one on each line."""
    return "{\n" + ",\n".join(f"{json.dumps(table.name)}: {_json_rows(table)}" for table in tables) + "\n}\n"


def _json_rows(table: Table) -> str:
    rows = [
        json.dumps(dict(zip(table.header, map(_plain, row), strict=True)), ensure_ascii=False)
        for row in table.rows
    ]
    return "[\n" + ",\n".join(rows) + "\n]" if rows else "[]"


def _plain(cell: Cell) -> Cell:
    if isinstance(cell, float):
        return float(f"{cell:.4f}") if math.isfinite(cell) else None
    return cell
