"""How a command is told what the rows of runs stand for: `--units` and `--formulae`."""

import argparse
from importlib import import_module
from pathlib import Path

from corpus.formulae import Formulae
from protocols.schema import Protocol
from scoring.protocol_rules import check_units
from scoring.run_files import InputError, reason
from scoring.units import Units


def add_unit_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that `read_units` reads."""
    parser.add_argument(
        "--units",
        choices=["distinct", "instances"],
        help="score visually distinct formulae, each by its first instance, or every instance by itself "
        "(default: as the protocol says)",
    )
    parser.add_argument(
        "--formulae",
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
        An index cannot be used, or distinct formulae are asked for without one.
    NotComputed
        The protocol scores distinct formulae, and no index is given.
    """
    if arguments.units == "instances" or not (arguments.units or protocol.scoring.collapse_instances):
        return Units()
    has_formulae = bool(arguments.formulae)
    how = "name the formula index or id map with --formulae, or say --units instances"
    check_units(protocol, has_formulae=has_formulae, how=how)
    if not has_formulae:
        raise InputError(f"--units distinct: {how}")
    return Units(read_formulae(arguments.formulae))


def read_formulae(paths: list[str]) -> Formulae:
    """The formulae of some files.

    Raises
    ------
    InputError
        A file is neither a formula index nor an id map, or none of the formulae has a visual id.
    """
    files = import_module("corpus.formula_files")  # with all of the importers behind it, which few need
    try:
        formulae: Formulae = files.read_index(map(Path, paths))
    except OSError as error:
        raise InputError(f"{error.filename}: {reason(error)}") from None
    except files.BadFile as error:
        raise InputError(str(error)) from None
    if not (formulae.visual != b"").any():
        raise InputError(f"{', '.join(paths)}: none of the {len(formulae)} formulae has a visual id")
    return formulae
