"""The options `--units` and `--formulas`: whether to score formula instances or visually distinct formulas."""

import argparse
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from assay.cli.options import add_formulas
from assay.errors import InputError
from assay.evaluation.units import Units, check_units
from assay.formulas.columns import Formulas
from assay.protocols.schema import Protocol


def add_unit_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that `read_units` reads."""
    parser.add_argument(
        "--units",
        choices=["distinct", "instances"],
        help="units to score: distinct, visually distinct formulas, each at the rank of its first instance; or "
        "instances, every row of the run (default: as the protocol says)",
    )
    add_formulas(parser)


def read_units(arguments: argparse.Namespace, protocol: Protocol) -> Units:
    """The units that the options ask for, or else the protocol.

    Raises
    ------
    InputError
        An index cannot be used, or distinct formulas need one and none is given.
    """
    if arguments.units == "instances" or not (arguments.units or protocol.scoring.collapse_instances):
        return Units()
    has_formulas = bool(arguments.formulas)
    how = "name the formula index or id map with --formulas, or use --units instances"
    check_units(protocol, has_formulas=has_formulas, how=how)
    if not has_formulas:
        raise InputError(f"--units distinct: {how}")
    return Units(read_formulas(arguments.formulas))


def read_formulas(paths: Sequence[Path]) -> Formulas:
    """Read the formulas of some files.

    Raises
    ------
    Refused
        A file is neither a formula index nor an id map.
    InputError
        None of the formulas has a visual id.
    OSError
        A file cannot be read.
    """
    # Few runs need formulas, and the readers of all collection formats are imported with them.
    formulas: Formulas = import_module("assay.formats.formulas.files").read_index(paths)
    if not (formulas.visual != b"").any():
        files = ", ".join(map(str, paths))
        raise InputError(f"{files}: none of the {len(formulas)} formulas has a visual id")
    return formulas
