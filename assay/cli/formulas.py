"""Read formulas from files with several processes and write TSV, for `assay slt` and `assay cluster`."""

import argparse
import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Literal, TextIO, TypeVar

from tqdm import tqdm

from assay.cli.main import add
from assay.formats.formulas import Row, Source
from assay.processes import map_fresh, processors

R = TypeVar("R")
SMALL = 4_000_000  # bytes; starting processes takes longer than reading fewer bytes
LONGEST_CELL = 2**31 - 1


def add_work_options(parser: argparse.ArgumentParser) -> None:
    """Add the number of processes, where to write, and --quiet."""
    add(parser, "--processes", "--output", "--quiet")


def results(
    work: Callable[[Sequence[Row]], R],
    paths: Sequence[Path],
    options: argparse.Namespace,
    *,
    form: Literal["slt", "opt"] = "slt",
) -> Iterator[R]:
    """The result of the work for the rows of the files, in order, with a progress bar on a terminal."""
    csv.field_size_limit(LONGEST_CELL)
    with tqdm(
        unit="B", unit_scale=True, desc="reading formulas", disable=options.quiet or None, leave=False
    ) as bar:
        source = Source(paths, report_bytes=bar.update, form=form)
        bar.reset(source.size or None)
        is_small = source.size < SMALL
        n_processes = options.processes or (1 if is_small else processors())
        for _, result in map_fresh(work, source, processes=n_processes):
            yield result
    for reason, n in sorted(source.skipped.items()):
        note(f"skipped {n:,}: {reason}", options)


def opened_output(path: Path | None) -> AbstractContextManager[TextIO]:
    """The file to write to, or standard output."""
    return nullcontext(sys.stdout) if path is None else path.open("w", encoding="utf-8", newline="")


def note(text: str, options: argparse.Namespace) -> None:
    """Print a line of the summary on standard error, unless --quiet is given."""
    if not options.quiet:
        print(text, file=sys.stderr)  # noqa: T201
