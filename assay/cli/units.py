"""How a command is told what the rows of runs stand for: `--units` and `--formulas`."""

import argparse
from importlib import import_module
from pathlib import Path

from assay.evaluation.files import InputError, reason
from assay.evaluation.protocol_rules import check_units
from assay.evaluation.units import Units
from assay.formulas.columns import Formulas
from assay.protocols.schema import Protocol


def add_unit_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that `read_units` reads."""
    parser.add_argument(
        "--units",
        choices=["distinct", "instances"],
        help="score visually distinct formulas, each by its first instance, or every instance by itself "
        "(default: as the protocol says)",
    )
    parser.add_argument(
        "--formulas",
        action="append",
        default=[],
        metavar="INDEX",
        help="formula index, folder of indexes, or map from formula id to visual id; may be given several times",
    )


def read_units(arguments: argparse.Namespace, protocol: Protocol) -> Units:
    """What the arguments say, or else the protocol.

    Raises
    ------
    InputError
        An index cannot be used, or distinct formulas are asked for without one.
    NotComputed
        The protocol scores distinct formulas, and no index is given.
    """
    if arguments.units == "instances" or not (arguments.units or protocol.scoring.collapse_instances):
        return Units()
    has_formulas = bool(arguments.formulas)
    how = "name the formula index or id map with --formulas, or say --units instances"
    check_units(protocol, has_formulas=has_formulas, how=how)
    if not has_formulas:
        raise InputError(f"--units distinct: {how}")
    return Units(read_formulas(arguments.formulas))


def read_formulas(paths: list[str]) -> Formulas:
    """The formulas of some files.

    Raises
    ------
    InputError
        A file is neither a formula index nor an id map, or none of the formulas has a visual id.
    """
    files = import_module(
        "assay.formats.formulas.files"
    )  # with all of the importers behind it, which few need
    try:
        formulas: Formulas = files.read_index(map(Path, paths))
    except OSError as error:
        raise InputError(f"{error.filename}: {reason(error)}") from None
    except files.BadFile as error:
        raise InputError(str(error)) from None
    if not (formulas.visual != b"").any():
        raise InputError(f"{', '.join(paths)}: none of the {len(formulas)} formulas has a visual id")
    return formulas
