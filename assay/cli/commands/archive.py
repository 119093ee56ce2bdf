"""Check the archive of a track: its files, and whether its pools and scores can be computed again.

Exit status: 0 everything is right, 1 something differs, 2 the file cannot be read.
"""

import argparse
from pathlib import Path

from tqdm import tqdm

from assay.archive.contents import Reader
from assay.archive.verify import verify
from assay.cli.options import Parser, add

EXAMPLE = "assay archive verify campaign.zip"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=Parser)
    action = actions.add_parser("verify", help="check an archive", description=__doc__)
    action.add_argument("file", type=Path, help="archive that the site made for a track")
    add(action, "--quiet")


def run(arguments: argparse.Namespace) -> int:
    n_wrong = 0
    with (
        Reader.of(arguments.file) as reader,
        tqdm(desc="reading", total=reader.n_bytes, unit="B", unit_scale=True, disable=arguments.quiet or None,
             leave=False) as bar,
    ):  # fmt: skip
        for finding in verify(reader, advance=bar.update):
            n_wrong += not finding.is_right
            state = "right" if finding.is_right else "WRONG"
            text = f"{state}  {finding.part}: {finding.content}"
            tqdm.write(text if finding.is_right else f"{text}; {finding.problem}")
    summary = "everything is right" if not n_wrong else f"{n_wrong} of its parts are wrong"
    tqdm.write(f"{arguments.file.name}: {reader.index.track.name}, {summary}")
    return 1 if n_wrong else 0
