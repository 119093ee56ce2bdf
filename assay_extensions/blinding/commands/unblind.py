"""Put the names of teams and runs in place of their pseudonyms, in the files of people who judged a blinded package.

Tables of lines, CSV, JSON and JSON Lines are read: judgments as runs, scores, nuggets. In tables of lines, a name
of several words has underscores.
"""

import argparse
from pathlib import Path

from assay.errors import InputError
from assay.formats.text import read_text
from assay_extensions.blinding.commands.blind import read_map
from assay_extensions.blinding.unblinding import Unblinder

EXAMPLE = "assay unblind blinded/manifest.csv --map map.json --output manifest-named.csv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a file with pseudonyms")
    parser.add_argument(
        "--map", required=True, type=Path, metavar="FILE", help="the names, as assay blind wrote them"
    )
    parser.add_argument("--output", required=True, type=Path, metavar="FILE", help="the file with names")


def run(arguments: argparse.Namespace) -> int:
    if arguments.output.exists():
        raise InputError(f"{arguments.output}: it exists; name another file")
    text = Unblinder(read_map(arguments.map)).file(read_text(str(arguments.file)), arguments.file.name)
    arguments.output.write_text(text, "utf-8", newline="")
    return 0
