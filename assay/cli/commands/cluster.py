"""Give formulas that look alike one visual id, as TSV: formula id, visual id.

Where an index gives ids, they are kept; disagreements between ids and strings are reported.
"""

import argparse
import csv
from pathlib import Path

import numpy as np

from assay.cli.formula_output import Unusable, add_output, each, output, tell
from assay.cli.formula_output import run as run_command
from assay.formats.formulas.files import read_index
from assay.formats.formulas.work import keys_of
from assay.formulas.visual_ids import Disagreement, Keys, Report, id_order, report, visual_ids

EXAMPLE = "assay cluster latex_representation_v3/ slt_representation_v3/ --output ids.tsv"
EXAMPLES = 10  # disagreements that are named on the terminal; a file takes them all
COLUMNS = ("visual_id", "ids_of_string", "strings_of_id", "formulae", "first_formula", "representation")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `assay cluster`."""
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="INDEX",
        help="formula indexes of LaTeX and of Presentation MathML, folders of them, or TSV with columns id, latex, "
        "mathml",
    )
    parser.add_argument(
        "--ids",
        type=Path,
        metavar="MAP",
        help="TSV of formula id and visual id: ids to keep, before those of an index",
    )
    parser.add_argument("--anew", action="store_true", help="make all ids anew, whatever the files give")
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="write where given ids and strings disagree, as TSV"
    )
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the ids; 2 if a file cannot be used."""
    return run_command("cluster", cluster_files, arguments)


def cluster_files(options: argparse.Namespace) -> None:
    """Print the visual id of each formula, and say where ids and strings disagree."""
    found: dict[str, tuple[bytes, bytes, str]] = {}
    for rows in each(keys_of, options.files, options.processes):
        for code, slt, latex, visual in rows:
            old = found.get(code, (b"", b"", ""))  # what another file says of it
            found[code] = (slt or old[0], latex or old[1], visual or old[2])
    if not found:
        raise Unusable("no file holds a formula")
    keys = Keys.of((code, *said) for code, said in found.items())
    keys = _with_ids(keys, options.ids, is_anew=options.anew)
    visuals = visual_ids(keys)
    with output(options.output) as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(("formula_id", "visual_id"))
        order = id_order(keys.formula)
        pairs = zip(keys.formula[order].tolist(), visuals[order].tolist(), strict=True)
        writer.writerows((code.decode(), visual.decode()) for code, visual in pairs)
    _report(keys, report(keys), options.report)
    n_distinct, without = len(np.unique(visuals[visuals != b""])), int((visuals == b"").sum())
    tell(f"{len(keys):,} formulas, {n_distinct:,} of them visually distinct; {without:,} without an id")


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
        with output(path) as file:
            csv.writer(file, delimiter="\t", lineterminator="\n").writerows([COLUMNS, *rows])
    if not found.details:
        return
    tell(
        f"ids and strings disagree on {found.n_formulas:,} formulas: {found.split_ids:,} ids with several SLT strings, "
        f"{found.shared_strings:,} SLT strings with several ids, "
        f"{found.shared_latex:,} LaTeX without a string with several ids"
    )
    for one in found.details[:EXAMPLES]:
        visual, n_ids, n_strings, n, first, what = _row(keys, one)
        tell(
            f"  id {visual}, {n} formulas such as {first}: the {what} has {n_ids} ids, the id {n_strings} strings"
        )
    if len(found.details) > EXAMPLES and path is None:
        tell(f"  and {len(found.details) - EXAMPLES:,} more; --report FILE takes them all")


def _row(keys: Keys, one: Disagreement) -> tuple[str, int, int, int, str, str]:
    """A disagreement in the order of `COLUMNS`."""
    first = keys.formula[one.row].decode()
    return one.visual.decode(), one.n_ids, one.n_strings, one.n, first, "SLT" if one.is_slt else "LaTeX"
