"""Print the SLT string of each formula as TSV: formula id, string (empty for a formula without one)."""

import argparse
import csv
from collections import Counter
from pathlib import Path

from assay.cli.formula_output import Unusable, add_output, each, output, tell
from assay.cli.formula_output import run as run_command
from assay.formats.formulas.work import strings_of

EXAMPLE = "assay slt --input slt_representation_v3/ --output strings.tsv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `assay slt`."""
    parser.add_argument(
        "--input",
        type=Path,
        action="append",
        metavar="FILE",
        help="a formula index of Presentation MathML, a folder of its files, or TSV with columns id and mathml; "
        "plain, gz, xz or zip; repeatable (default: standard input)",
    )
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the strings; 2 if a file cannot be used."""
    return run_command("slt", write_strings, arguments)


def write_strings(options: argparse.Namespace) -> None:
    """Print the SLT string of each formula."""
    n: Counter[str] = Counter()
    with output(options.output) as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(("formula_id", "slt"))
        for rows in each(strings_of, options.input or [Path("/dev/stdin")], options.processes):
            writer.writerows(rows)
            n.update("without" if not string else "with" for _, string in rows)
    if not n["with"] + n["without"]:
        raise Unusable("no file holds Presentation MathML")
    tell(f"{n['with'] + n['without']:,} formulas, {n['without']:,} of them without an SLT string")
