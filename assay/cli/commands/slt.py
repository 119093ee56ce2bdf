"""Print the SLT or OPT string of each formula as TSV: formula id, string (empty for a formula without one)."""

import argparse
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Literal

from assay.cli.formulas import add_work_options, note, opened_output, results
from assay.errors import InputError, plural
from assay.formats.documents.indexes import IN_WORDS
from assay.formats.formulas import strings_of
from assay.formats.spreadsheet import tsv_lines

EXAMPLE = "assay slt --input formulas-slt.tsv --output strings.tsv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--input",
        type=Path,
        action="append",
        metavar="FILE",
        help="formula index in Presentation MathML, folder of indexes, or TSV with the columns id and mathml; plain, "
        "gz, xz, bz2 or zip; repeat it for more files (default: standard input)",
    )
    parser.add_argument(
        "--opt",
        action="store_true",
        help="print the OPT string, of formulas in Content MathML: what the formula means, not how it looks",
    )
    add_work_options(parser)


def run(arguments: argparse.Namespace) -> int:
    form: Literal["slt", "opt"] = "opt" if arguments.opt else "slt"
    n: Counter[bool] = Counter()  # with a string, and without
    with opened_output(arguments.output) as file:
        file.writelines(tsv_lines([("formula_id", form)]))
        paths = arguments.input or [Path("/dev/stdin")]
        for rows in results(partial(strings_of, form=form), paths, arguments, form=form):
            n.update(bool(string) for _, string in rows)
            file.writelines(tsv_lines(rows))
    if not n:
        raise InputError(f"the input contains no {IN_WORDS[form]}")
    note(f"{plural(n.total(), 'formula')}, {n[False]:,} of them without an {form.upper()} string", arguments)
    return 0
