"""Print the tables of an overview paper: submitted runs, participants, topics by category, and results."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from assay.cli.main import add, add_format, positive
from assay.cli.tables import chosen_tables
from assay.statistics.leaderboard import Baselines
from assay.tables.paper import PaperTable, as_file
from assay_extensions.papers.files import ScoredRuns, read_tracks
from assay_extensions.papers.overview import overview_tables

EXAMPLE = "assay tables --format tex tracks.toml"
STORED = ("tex", "csv")


def add_paper_options(parser: argparse.ArgumentParser) -> None:
    """Add the file that names the tracks, the measures, and how to print."""
    parser.add_argument(
        "tracks",
        type=Path,
        metavar="TRACKS",
        help="TOML file with a [[track]] for each track: name, protocol, and paths of runs (a manifest), topics, "
        "labels, teams, qrels, instances, formulas, groups and pool",
    )
    add(parser, "--measure")
    parser.add_argument(
        "--digits", type=positive, default=4, metavar="N", help="decimals of the values (default: 4)"
    )
    add_format(parser, "tsv", "csv", "tex", "json")
    add(parser, "--table")
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

    Raises:
        InputError: There is no table with the name of --table.
    """
    tables = chosen_tables(tables, arguments.table)
    if arguments.output is not None:
        store(
            {f"{table.name}.{kind}": as_file(table, kind) for table in tables for kind in STORED},
            arguments.output,
        )
        return 0
    kind, parts = arguments.format, []
    for table in tables:  # if there are several, a line with its name is before each
        text = as_file(table, kind).replace("\r\n", "\n")
        title = f"{'%' if kind == 'tex' else '#'} {table.name}: {table.title}\n" if len(tables) > 1 else ""
        parts.append(f'"{table.name}": {text.rstrip()}' if kind == "json" else title + text)
    sys.stdout.write("{\n" + ",\n".join(parts) + "\n}\n" if kind == "json" else "\n".join(parts))
    return 0


def store(files: dict[str, str], folder: Path) -> None:
    """Write text files into a folder, which is made if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_bytes(text.encode())


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_paper_options(parser)
    parser.add_argument(
        "--baselines",
        choices=get_args(Baselines),
        default="all",
        help="those whose strongest one the best run is compared with: all (default), or automatic ones without "
        "oracles",
    )


def run(arguments: argparse.Namespace) -> int:
    tracks = [track.facts for track in tracks_of(arguments)]
    tables = overview_tables(tracks, digits=arguments.digits, baselines=arguments.baselines)
    return print_papers(tables, arguments)
