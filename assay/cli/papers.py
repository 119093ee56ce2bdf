"""What the commands that print tables of papers share: their options, and how tables are printed or stored."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from assay.cli.options import add_format, add_measures, positive
from assay.errors import InputError
from assay.papers.files import ScoredRuns, read_tracks
from assay.papers.tables import PaperTable, as_file

STORED = ("tex", "csv")


def add_paper_options(parser: argparse.ArgumentParser) -> None:
    """Add the file that names the tracks, the measures, and how to print."""
    parser.add_argument(
        "tracks",
        type=Path,
        metavar="TRACKS",
        help="TOML file with a [[track]] for each track: name, protocol, and paths of runs (a manifest), topics, "
        "labels, teams, qrels, instances, formulas and groups",
    )
    add_measures(parser)
    parser.add_argument(
        "--digits", type=positive, default=4, metavar="N", help="decimals of the values (default: 4)"
    )
    add_format(parser, "tsv", "csv", "tex", "json")
    parser.add_argument("--table", metavar="NAME", help="print only this table")
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help="store each table there as LaTeX and CSV; print nothing"
    )


def tracks_of(arguments: argparse.Namespace) -> list[ScoredRuns]:
    """The tracks that the arguments name, with a warning for each run of which no document is judged."""
    tracks = read_tracks(arguments.tracks, arguments.measure)
    for track in tracks:
        for warning in track.warnings:
            print(f"warning: {track.facts.name}: {warning}", file=sys.stderr)  # noqa: T201
    return tracks


def print_papers(tables: Sequence[PaperTable], arguments: argparse.Namespace) -> int:
    """Print the tables, or store them in the folder of --output; the exit status.

    Raises
    ------
    InputError
        There is no table with the name of --table.
    """
    tables = _chosen(tables, arguments.table)
    if arguments.output is not None:
        store(
            {f"{table.name}.{kind}": as_file(table, kind) for table in tables for kind in STORED},
            arguments.output,
        )
        return 0
    parts = [_printed(table, arguments.format, is_single=len(tables) == 1) for table in tables]
    sys.stdout.write(_json(tables, parts) if arguments.format == "json" else "\n".join(parts))
    return 0


def _chosen(tables: Sequence[PaperTable], name: str | None) -> Sequence[PaperTable]:
    names = [table.name for table in tables]
    if name is None:
        return tables
    if name not in names:
        raise InputError(f"--table: there is no table {name!r}; use {', '.join(names)}")
    return [table for table in tables if table.name == name]


def _printed(table: PaperTable, kind: str, *, is_single: bool) -> str:
    """A table. If there are several, a line with its name is before each."""
    text = as_file(table, kind).replace("\r\n", "\n")
    if is_single or kind == "json":
        return text
    return f"{'%' if kind == 'tex' else '#'} {table.name}: {table.title}\n{text}"


def _json(tables: Sequence[PaperTable], parts: Sequence[str]) -> str:
    objects = [f'"{table.name}": {part.rstrip()}' for table, part in zip(tables, parts, strict=True)]
    return "{\n" + ",\n".join(objects) + "\n}\n"


def store(files: dict[str, str], folder: Path) -> None:
    """Write text files into a folder, which is made if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_bytes(text.encode())
