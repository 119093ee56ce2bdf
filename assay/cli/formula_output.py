"""Reading formulas from files and writing TSV, for the commands on formulas."""

import argparse
import csv
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TextIO, TypeVar

from tqdm import tqdm

from assay.cli.refusals import reason
from assay.errors import Refused
from assay.formats.formulas.rows import Row, Source
from assay.formats.formulas.work import in_order

R = TypeVar("R")
SMALL = 4_000_000  # bytes: below this, starting processes takes longer than the work


class Unusable(Exception):
    """Files without anything that the command can use."""


def run(name: str, command: Callable[[argparse.Namespace], None], arguments: argparse.Namespace) -> int:
    """The exit status of a command: 0, or 2 with one line if something cannot be used."""
    csv.field_size_limit(2**31 - 1)
    try:
        command(arguments)
    except (OSError, Refused, Unusable) as error:
        tell(f"assay {name}: {reason(error)}")
        return 2
    return 0


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add where to write, and how many processes to use."""
    parser.add_argument(
        "--processes",
        type=_processes,
        metavar="N",
        help="number of processes (default: one per core for large files)",
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write to FILE instead of standard output"
    )


def _processes(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes")
    return int(text)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def each(work: Callable[[Sequence[Row]], R], paths: Sequence[Path], n_processes: int | None) -> Iterator[R]:
    """What comes of the rows of some files, in order, with a progress bar on a terminal."""
    with tqdm(unit="B", unit_scale=True, desc="reading formulas", disable=None, leave=False) as bar:
        source = Source(paths, told=bar.update)
        bar.reset(source.size or None)
        if n_processes is None:
            n_processes = 1 if source.size < SMALL else _cores()
        yield from in_order(work, source, n_processes)
    for why, n in sorted(source.skipped.items()):
        tell(f"skipped {n:,}: {why}")


class _Kept:
    """Standard output as a file that is not closed."""

    def __enter__(self) -> TextIO:
        return sys.stdout

    def __exit__(self, *_: object) -> None:
        sys.stdout.flush()


def output(path: Path | None) -> "TextIO | _Kept":
    """The file to write to; standard output without a path."""
    return path.open("w", encoding="utf-8", newline="") if path else _Kept()


def tell(text: str) -> None:
    """Print a line on standard error."""
    print(text, file=sys.stderr)  # noqa: T201
