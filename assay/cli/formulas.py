"""`python -m corpus`: what formulas look like, told from files alone, with no database.

Exit status: 0 all is well, 2 something cannot be used or read.
"""

import argparse
import csv
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TextIO, TypeVar

import numpy as np
from tqdm import tqdm

from assay.cli.console import print_any_name
from assay.errors import Refused
from assay.formats.formulas.files import read_index
from assay.formats.formulas.rows import Row, Source
from assay.formulas.visual_ids import Disagreement, Keys, Report, id_order, report, visual_ids
from assay.formulas.work import in_order, keys_of, strings_of

R = TypeVar("R")
SMALL = 4_000_000  # bytes: below this, starting processes takes longer than the work
EXAMPLES = 10  # disagreements that are told on the terminal; a file takes them all
COLUMNS = ("visual_id", "ids_of_string", "strings_of_id", "formulae", "first_formula", "representation")


class Unusable(Exception):
    """Files of which nothing can be made."""


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand and return the exit status."""
    print_any_name()
    options = _parser().parse_args(arguments)
    csv.field_size_limit(2**31 - 1)
    try:
        options.command(options)
    except (OSError, Refused, Unusable) as error:
        _tell(f"python -m corpus: {_reason(error)}")
        return 2
    return 0


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m corpus", description=__doc__)
    commands = parser.add_subparsers(required=True)
    strings = commands.add_parser(
        "slt", help="the SLT string of each formula, as TSV: formula id, string (empty where there is none)"
    )
    strings.add_argument(
        "--input",
        type=Path,
        action="append",
        metavar="FILE",
        help="a formula index of Presentation MathML, a folder of its files, or TSV with columns id and mathml; "
        "plain, gz, xz or zip; repeatable (default: standard input)",
    )
    strings.set_defaults(command=write_strings)
    cluster = commands.add_parser(
        "cluster", help="one visual id for formulas that look alike, as TSV: formula id, visual id"
    )
    cluster.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="INDEX",
        help="formula indexes of LaTeX and of Presentation MathML, folders of them, or TSV with columns id, latex, "
        "mathml",
    )
    cluster.add_argument(
        "--ids",
        type=Path,
        metavar="MAP",
        help="TSV of formula id and visual id: ids to keep, before those of an index",
    )
    cluster.add_argument("--anew", action="store_true", help="make all ids, whatever the files give")
    cluster.add_argument(
        "--report", type=Path, metavar="FILE", help="where given ids and strings disagree, as TSV"
    )
    cluster.set_defaults(command=cluster_files)
    for command in (strings, cluster):
        command.add_argument(
            "--processes",
            type=_processes,
            metavar="N",
            help="default: one for each core, if the files are worth it",
        )
        command.add_argument("--output", type=Path, metavar="FILE", help="instead of standard output")
    return parser


def _processes(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes")
    return int(text)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def write_strings(options: argparse.Namespace) -> None:
    """Print the SLT string of each formula."""
    n: Counter[str] = Counter()
    with _output(options.output) as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(("formula_id", "slt"))
        for rows in _each(strings_of, options.input or [Path("/dev/stdin")], options.processes):
            writer.writerows(rows)
            n.update("without" if not string else "with" for _, string in rows)
    if not n["with"] + n["without"]:
        raise Unusable("no file holds Presentation MathML")
    _tell(f"{n['with'] + n['without']:,} formulas, {n['without']:,} of them without an SLT string")


def cluster_files(options: argparse.Namespace) -> None:
    """Print the visual id of each formula, and say where ids and strings disagree."""
    found: dict[str, tuple[bytes, bytes, str]] = {}
    for rows in _each(keys_of, options.files, options.processes):
        for code, slt, latex, visual in rows:
            old = found.get(code, (b"", b"", ""))  # what another file says of it
            found[code] = (slt or old[0], latex or old[1], visual or old[2])
    if not found:
        raise Unusable("no file holds a formula")
    keys = Keys.of((code, *said) for code, said in found.items())
    keys = _with_ids(keys, options.ids, is_anew=options.anew)
    visuals = visual_ids(keys)
    with _output(options.output) as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(("formula_id", "visual_id"))
        order = id_order(keys.formula)
        pairs = zip(keys.formula[order].tolist(), visuals[order].tolist(), strict=True)
        writer.writerows((code.decode(), visual.decode()) for code, visual in pairs)
    _report(keys, report(keys), options.report)
    n_distinct, without = len(np.unique(visuals[visuals != b""])), int((visuals == b"").sum())
    _tell(f"{len(keys):,} formulas, {n_distinct:,} of them visually distinct; {without:,} without an id")


def _with_ids(keys: Keys, path: Path | None, *, is_anew: bool) -> Keys:
    """The keys with the ids that are to be kept."""
    kept = np.zeros(len(keys), dtype="S1") if is_anew else keys.kept
    if path is not None:
        known = read_index(path)
        rows = known.rows(keys.formula)
        told = np.append(known.visual, b"")[rows]  # -1 is the last: of an unknown formula nothing is told
        kept = np.where(told != b"", told, kept)
    return Keys(keys.formula, keys.slt, keys.latex, kept)


def _report(keys: Keys, found: Report, path: Path | None) -> None:
    """Say where given ids and strings disagree: some on the terminal, all of them in the file."""
    if path is not None:
        rows = (_row(keys, one) for one in found.details)
        with _output(path) as file:
            csv.writer(file, delimiter="\t", lineterminator="\n").writerows([COLUMNS, *rows])
    if not found.details:
        return
    _tell(
        f"ids and strings disagree on {found.n_formulas:,} formulas: {found.split_ids:,} ids with several SLT strings, "
        f"{found.shared_strings:,} SLT strings with several ids, "
        f"{found.shared_latex:,} LaTeX without a string with several ids"
    )
    for one in found.details[:EXAMPLES]:
        visual, n_ids, n_strings, n, first, what = _row(keys, one)
        _tell(
            f"  id {visual}, {n} formulas such as {first}: the {what} has {n_ids} ids, the id {n_strings} strings"
        )
    if len(found.details) > EXAMPLES and path is None:
        _tell(f"  and {len(found.details) - EXAMPLES:,} more; --report FILE takes them all")


def _row(keys: Keys, one: Disagreement) -> tuple[str, int, int, int, str, str]:
    """A disagreement in the order of `COLUMNS`."""
    first = keys.formula[one.row].decode()
    return one.visual.decode(), one.n_ids, one.n_strings, one.n, first, "SLT" if one.is_slt else "LaTeX"


def _each(work: Callable[[Sequence[Row]], R], paths: Sequence[Path], n_processes: int | None) -> Iterator[R]:
    """What comes of the rows of some files, in order, with a progress bar on a terminal."""
    with tqdm(unit="B", unit_scale=True, desc="reading formulas", disable=None, leave=False) as bar:
        source = Source(paths, told=bar.update)
        bar.reset(source.size or None)
        if n_processes is None:
            n_processes = 1 if source.size < SMALL else _cores()
        yield from in_order(work, source, n_processes)
    for reason, n in sorted(source.skipped.items()):
        _tell(f"skipped {n:,}: {reason}")


class _Kept:
    """Standard output as a file that is not closed."""

    def __enter__(self) -> TextIO:
        return sys.stdout

    def __exit__(self, *_: object) -> None:
        sys.stdout.flush()


def _output(path: Path | None) -> "TextIO | _Kept":
    return path.open("w", encoding="utf-8", newline="") if path else _Kept()


def _tell(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
