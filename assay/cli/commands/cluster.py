"""Give formulas that look the same one visual id, as TSV: formula id, visual id.

Ids that an index has are kept. The command reports where ids and SLT strings disagree.
"""

import argparse
from pathlib import Path

import numpy as np

from assay.cli.formulas import add_work_options, note, opened_output, results
from assay.errors import InputError, plural
from assay.formats.formulas import keys_of, read_index
from assay.formats.spreadsheet import tsv_lines
from assay.formulas.visual_ids import Keys, Report, id_order, report, visual_ids

EXAMPLE = "assay cluster formulas-latex.tsv formulas-slt.tsv --output ids.tsv"
N_SHOWN = 10  # disagreements that are printed; a file gets all of them
HEADER = ("formula_id", "visual_id")
REPORT_HEADER = (
    "visual_id", "ids_of_string", "strings_of_id",
    "formulas",
    "first_formula", "representation",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="INDEX",
        help="formula index in LaTeX or Presentation MathML, folder of indexes, or TSV with the columns id, latex, "
        "mathml; plain, gz, xz, bz2 or zip",
    )
    parser.add_argument(
        "--ids",
        type=Path,
        metavar="MAP",
        help="TSV of formula id and visual id: ids to keep, in preference to those of an index",
    )
    parser.add_argument("--from-scratch", action="store_true", help="replace all ids that the files have")
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="write as TSV where given ids and SLT strings disagree"
    )
    add_work_options(parser)


def run(arguments: argparse.Namespace) -> int:
    keys = _read_keys(arguments)
    visuals = visual_ids(keys)
    order = id_order(keys.formula)
    pairs = zip(keys.formula[order].tolist(), visuals[order].tolist(), strict=True)
    with opened_output(arguments.output) as file:
        file.writelines(tsv_lines([HEADER]))
        file.writelines(tsv_lines((code.decode(), visual.decode()) for code, visual in pairs))
    _print_report(keys, report(keys), arguments)
    n_distinct, n_without = len(np.unique(visuals[visuals != b""])), int((visuals == b"").sum())
    summary = f"{plural(len(keys), 'formula')}, {n_distinct:,} of them visually distinct; {n_without:,} without an id"
    note(summary, arguments)
    return 0


def _read_keys(arguments: argparse.Namespace) -> Keys:
    """The keys of each formula, with the ids to keep: those of the map of --ids, then those of the files.

    If several files have a formula, a later file completes and replaces an earlier one.
    """
    by_code: dict[str, tuple[bytes, bytes, str]] = {}
    for rows in results(keys_of, arguments.files, arguments):
        for code, slt, latex, visual in rows:
            earlier = by_code.get(code, (b"", b"", ""))
            by_code[code] = (slt or earlier[0], latex or earlier[1], visual or earlier[2])
    if not by_code:
        raise InputError("the input contains no formula")
    keys = Keys.of((code, *keys) for code, keys in by_code.items())
    kept = np.zeros(len(keys), dtype="S1") if arguments.from_scratch else keys.kept
    if arguments.ids is not None:
        id_map = read_index(arguments.ids)
        mapped = np.append(id_map.visual, b"")[id_map.rows(keys.formula)]  # row -1, empty: not in the map
        kept = np.where(mapped != b"", mapped, kept)
    return Keys(keys.formula, keys.slt, keys.latex, kept)


def _print_report(keys: Keys, differences: Report, arguments: argparse.Namespace) -> None:
    """Report where given ids and strings disagree: the first on the terminal, all of them in the file."""
    rows = [
        (detail.visual.decode(), detail.n_ids, detail.n_strings, detail.n, keys.formula[detail.row].decode(),
         "SLT" if detail.is_slt else "LaTeX")
        for detail in differences.details
    ]  # fmt: skip
    if arguments.report is not None:
        with opened_output(arguments.report) as file:
            file.writelines(tsv_lines([REPORT_HEADER, *rows]))
    if not rows:
        return
    counts = (
        f"{plural(differences.split_ids, 'id')} with several SLT strings, "
        f"{plural(differences.shared_strings, 'SLT string')} with several ids, "
        f"{differences.shared_latex:,} LaTeX without a string with several ids"
    )
    note(f"ids and strings disagree on {plural(differences.n_formulas, 'formula')}: {counts}", arguments)
    for visual, n_ids, n_strings, n, first, representation in rows[:N_SHOWN]:
        strings = f"the {representation} has {plural(n_ids, 'id')}, the id {plural(n_strings, 'string')}"
        note(f"  id {visual}, {plural(n, 'formula')} such as {first}: {strings}", arguments)
    if len(rows) > N_SHOWN and arguments.report is None:
        note(f"  and {len(rows) - N_SHOWN:,} more; --report FILE writes all of them", arguments)
