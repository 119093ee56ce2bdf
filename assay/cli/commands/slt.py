"""Print the SLT string of each formula as TSV: formula id, string (empty for a formula without one)."""

import argparse
from collections import Counter
from pathlib import Path

from assay.cli.formulas import add_work_options, note, opened_output, results
from assay.errors import InputError
from assay.formats.formulas import strings_of
from assay.formats.spreadsheet import tsv_lines

EXAMPLE = "assay slt --input formulas-slt.tsv --output strings.tsv"
HEADER = ("formula_id", "slt")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--input",
        type=Path,
        action="append",
        metavar="FILE",
        help="formula index in Presentation MathML, folder of indexes, or TSV with the columns id and mathml; plain, "
        "gz, xz or zip; repeat it for more files (default: standard input)",
    )
    add_work_options(parser)


def run(arguments: argparse.Namespace) -> int:
    n: Counter[bool] = Counter()  # with a string, and without
    with opened_output(arguments.output) as file:
        file.writelines(tsv_lines([HEADER]))
        for rows in results(strings_of, arguments.input or [Path("/dev/stdin")], arguments):
            n.update(bool(string) for _, string in rows)
            file.writelines(tsv_lines(rows))
    if not n:
        raise InputError("the input contains no Presentation MathML")
    note(f"{n.total():,} formulas, {n[False]:,} of them without an SLT string", arguments)
    return 0
