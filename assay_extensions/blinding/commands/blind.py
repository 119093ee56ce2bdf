"""Write runs under pseudonyms, for people or programs that judge them, and check such a package.

`write` reads a manifest of runs. The map has the names behind the pseudonyms: keep it, and give it to nobody who
judges. The rest of each run is searched for names of teams and runs, and for the words of --words, such as names of
people and affiliations. Nothing is written until somebody has decided about each: the file of --decisions lists them
with their first place, and its last column says keep or replace.

`verify` checks a package: its digests, its pseudonyms, and that no name is left but those that were kept.

Exit status: 0 success, 1 a decision is missing or the package is wrong, 2 a file or an option cannot be used.
"""

import argparse
from io import StringIO
from pathlib import Path

from assay.cli.main import add, add_actions, positive
from assay.errors import InputError, plural
from assay.formats.compression import read_file
from assay.formats.manifest import ManifestRun, read_manifest
from assay.formats.sheets import read_sheet
from assay.formats.spreadsheet import as_csv, original
from assay.formats.text import decoded, read_text
from assay.protocols.loader import load_protocol
from assay_extensions.blinding.package import (
    HEADER,
    NamedRun,
    blind_runs,
    decisions_in,
    problems,
)
from assay_extensions.blinding.pseudonyms import BlindMap, new_map, parse_map

INCOMPLETE = 1  # exit status
EXAMPLE = (
    "assay blind write --protocol arqmath-2020-task1 --runs manifest.csv --map map.json --decisions decisions.csv "
    "--output blinded"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = add_actions(parser)
    write = actions.add_parser("write", help="write a package of runs under pseudonyms", example=EXAMPLE)
    add(write, "--protocol")
    add(write, "--runs")
    write.add_argument(
        "--output",
        required=True,
        type=Path,
        metavar="FOLDER",
        help="the package: a folder that is new or empty",
    )
    write.add_argument(
        "--decisions",
        required=True,
        type=Path,
        metavar="FILE",
        help="CSV of the names found in texts, which the command writes; fill in its column decision: keep or replace",
    )
    write.add_argument(
        "--first",
        type=positive,
        metavar="N",
        help="only the first N runs of each team, in the order of the manifest",
    )
    verify = actions.add_parser(
        "verify", help="check a package", example="assay blind verify blinded --map map.json"
    )
    verify.add_argument("package", type=Path, metavar="FOLDER", help="the package")
    for action in (write, verify):
        action.add_argument(
            "--map",
            required=True,
            type=Path,
            metavar="FILE",
            help="the names behind the pseudonyms; written if it does not exist, and never part of a package",
        )
        action.add_argument(
            "--words", metavar="FILE", help="further words that give teams away, one per line"
        )


def run(arguments: argparse.Namespace) -> int:
    words = [line.strip() for line in read_text(arguments.words).splitlines()] if arguments.words else []
    if arguments.action == "verify":
        return _verify(arguments.package, read_map(arguments.map), words)
    return _write(arguments, words)


def read_map(path: Path) -> BlindMap:
    """
    Raises InputError: the file is missing or not a map.
    """
    return parse_map(read_text(str(path)), path.name)


def _write(arguments: argparse.Namespace, words: list[str]) -> int:
    output: Path = arguments.output
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(f"{output}: already exists; name a new or empty folder")
    for path in (arguments.map, arguments.decisions):
        if output.resolve() in path.resolve().parents:
            raise InputError(f"{path}: it has names, so it cannot be in the package")
    listed = read_manifest(Path(arguments.runs), load_protocol(arguments.protocol))
    runs = [
        NamedRun(run.team, run.tag, run.kind, decoded(read_file(str(run.file)), run.file.name).text)
        for run in first_of_teams(listed, arguments.first)
    ]
    blind = read_map(arguments.map) if arguments.map.exists() else new_map()
    decisions = _decisions(arguments.decisions)
    blinded = blind_runs(runs, blind, decisions, title="Blinded runs", words=words)
    arguments.map.write_text(blinded.blind.as_json(), "utf-8")
    arguments.decisions.write_text(as_csv(HEADER, blinded.give_aways), "utf-8", newline="")
    if blinded.undecided:
        print(  # noqa: T201
            f"{arguments.decisions}: {plural(len(blinded.undecided), 'decision')} missing. Look at each, write keep "
            "or replace into the last column, and run the command again."
        )
        return INCOMPLETE
    for name, text in blinded.files.items():
        (output / name).parent.mkdir(parents=True, exist_ok=True)
        (output / name).write_text(text, "utf-8", newline="")
    print(f"{output}: {plural(len(runs), 'run')} under pseudonyms; the map is {arguments.map}")  # noqa: T201
    return 0


def first_of_teams(runs: list[ManifestRun], most: int | None) -> list[ManifestRun]:
    """The first runs of each team, in their order."""
    counts: dict[str, int] = {}
    chosen = []
    for run in runs:
        counts[run.team] = counts.get(run.team, 0) + 1
        if most is None or counts[run.team] <= most:
            chosen.append(run)
    return chosen


def _decisions(path: Path) -> dict[tuple[str, str], str]:
    if not path.exists():
        return {}
    sheet = read_sheet(StringIO(read_text(str(path)), newline=""))
    if tuple(sheet.header) != HEADER:
        raise InputError(f"{path.name}: line {sheet.number}: expected the columns {', '.join(HEADER)}")
    rows = []
    for line, cells in sheet.rows:
        if isinstance(cells, str):
            raise InputError(f"{path.name}: line {line}: {cells}")
        rows.append((line, dict(zip(HEADER, map(original, cells), strict=True))))
    return decisions_in(rows, path.name)


def _verify(folder: Path, blind: BlindMap, words: list[str]) -> int:
    if not folder.is_dir():
        raise InputError(f"{folder}: not a folder")
    files = {
        path.relative_to(folder).as_posix(): read_text(str(path))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    wrong = list(problems(files, blind, words))
    for problem in wrong:
        print(problem)  # noqa: T201
    print(f"{folder}: {plural(len(files), 'file')}, {plural(len(wrong), 'problem')}")  # noqa: T201
    return INCOMPLETE if wrong else 0
