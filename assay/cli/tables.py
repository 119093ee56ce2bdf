"""Tables as tab-separated text, with four decimals, or JSON, with all digits."""

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from assay.cli.main import add, add_format
from assay.errors import InputError
from assay.tables import Table, as_text


class Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `print_tables` reads, and --quiet."""
    add_format(parser, "tsv", "json")
    add(parser, "--table", "--quiet")


def chosen_tables(tables: Sequence[N], name: str | None) -> Sequence[N]:
    """All tables, or the one that --table names.

    Raises:
        InputError: There is no table of that name.
    """
    chosen = [table for table in tables if name is None or table.name == name]
    if not chosen:
        names = ", ".join(table.name for table in tables)
        raise InputError(f"--table: there is no table {name!r}; use {names}")
    return chosen


def print_tables(tables: Sequence[Table], arguments: argparse.Namespace) -> int:
    """Print all tables, or the one that --table names; the exit status."""
    tables = chosen_tables(tables, arguments.table)
    sys.stdout.write(as_json(tables) if arguments.format == "json" else as_text(tables))
    return 0


def write_output(data: bytes, output: Path | None) -> int:
    """Write data to a file, or to standard output; the exit status."""
    if output is not None:
        output.write_bytes(data)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    return 0


def as_json(tables: Sequence[Table]) -> str:
    """An object of tables by name, each a list of objects, one per line. An undefined number is null."""
    texts = []
    for table in tables:
        rows = []
        for row in table.rows:
            cells = [None if isinstance(cell, float) and not math.isfinite(cell) else cell for cell in row]
            rows.append(json.dumps(dict(zip(table.header, cells, strict=True)), ensure_ascii=False))
        lines = "[\n" + ",\n".join(rows) + "\n]" if rows else "[]"
        texts.append(f"{json.dumps(table.name)}: {lines}")
    return "{\n" + ",\n".join(texts) + "\n}\n"
