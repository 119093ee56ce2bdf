"""`python -m pooling`: check runs and build pools on files alone, with no database.

Exit status: 0 nothing is wrong (warnings aside), 1 a run has errors, 2 something cannot be used or read.
"""

import argparse
import json
import sys
from pathlib import Path

from assay.cli import pool, preview
from assay.cli.console import print_any_name
from assay.cli.pool import RunsRefused, add_protocol, protocol_and_topics
from assay.errors import Refused
from assay.formats.formulas.files import read_index
from assay.formats.manifest import ManifestError
from assay.formats.pools import PoolFileError
from assay.formats.report_text import print_report
from assay.formats.runs.formulas import FormulaLookup
from assay.formats.runs.reader import CheckedRun, UnknownForm, check_run
from assay.formats.runs.timing import NoSeconds, check_seconds
from assay.formats.topics.codes import TopicListError
from assay.pools.strategies import PoolError
from assay.protocols.loader import ProtocolError

UNUSABLE = (
    OSError,
    ProtocolError,
    TopicListError,
    ManifestError,
    PoolError,
    PoolFileError,
    UnknownForm,
    NoSeconds,
    Refused,
)


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand and return the exit status."""
    print_any_name()
    options = _parser().parse_args(arguments)
    try:
        status: int = options.command(options)
    except RunsRefused:
        return 1
    except UNUSABLE as error:
        print(f"python -m pooling: {_reason(error)}", file=sys.stderr)  # noqa: T201
        return 2
    return status


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pooling", description=__doc__)
    commands = parser.add_subparsers(required=True)
    check = commands.add_parser("check", help="say everything that is wrong with run files")
    check.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="plain, gz, xz or zip; /dev/stdin for a pipe"
    )
    check.add_argument(
        "--format", choices=("text", "json"), default="text", help="of the report (default: text)"
    )
    check.add_argument("--repair", type=Path, metavar="DIR", help="write files that can be repaired into DIR")
    check.add_argument(
        "--seconds",
        type=Path,
        metavar="FILE",
        help="topic and seconds a line, where the protocol bounds them",
    )
    check.add_argument(
        "--formulas",
        nargs="+",
        type=Path,
        metavar="INDEX",
        help="formula indexes (TSV, or folders of them): look the formulas of runs up in them",
    )
    check.set_defaults(command=check_files)
    add_protocol(check)
    pool.add_command(commands)
    preview.add_command(commands)
    return parser


def check_files(options: argparse.Namespace) -> int:
    """Check each file; print the reports."""
    protocol, topics = protocol_and_topics(options)
    if options.repair:
        options.repair.mkdir(parents=True, exist_ok=True)
    formulas = lookup_in(options.formulas) if options.formulas else None
    reports = []
    for path in options.files:
        checked = check_run(path, protocol=protocol, topics=topics, formulas=formulas, name=path.name)
        reports.append(checked.report)
        if options.format == "text":
            print_report(checked.report, str(path))
        if options.repair:
            _repair(checked, path, options.repair)
    if options.seconds:
        name = options.seconds.name
        reports.append(check_seconds(options.seconds, protocol=protocol, topics=topics, name=name))
        if options.format == "text":
            print_report(reports[-1], str(options.seconds))
    if options.format == "json":
        print(json.dumps([report.as_json() for report in reports], ensure_ascii=False, indent=1))  # noqa: T201
    return 0 if all(report.is_acceptable for report in reports) else 1


def lookup_in(paths: list[Path]) -> FormulaLookup:
    """The formulas of some files, as a lookup for `check_run`.

    Raises
    ------
    Refused
        A file is neither a formula index nor an id map.
    """
    formulas = read_index(paths)
    return lambda _: formulas


def _repair(checked: CheckedRun, path: Path, directory: Path) -> None:
    repaired = checked.repaired()
    if repaired is None:
        return
    name = path.name
    for suffix in (".gz", ".xz", ".zip"):
        name = name.removesuffix(suffix)
    target = directory / name
    with target.open("xb") as file:
        file.write(repaired)
    print(f"{path}: repaired into {target}", file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
