"""Check run files as an upload checks them, and name every distinct error with its lines.

Exit status: 0 no errors (there may be warnings), 1 a run has errors, 2 a file or an option cannot be used.
"""

import argparse
import json
import sys
from pathlib import Path

from assay.cli import refusals
from assay.cli.commands.pool import add_protocol, protocol_and_topics
from assay.formats.formulas.files import read_index
from assay.formats.report_text import print_report
from assay.formats.runs.formulas import FormulaLookup
from assay.formats.runs.reader import CheckedRun, check_run
from assay.formats.runs.timing import check_seconds

EXAMPLE = "assay check --protocol arqmath-2021-task1 --topics topics.xml run1.tsv run2.tsv.gz"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `assay check`."""
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="plain, gz, xz or zip; /dev/stdin for a pipe"
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="format of the report (default: text)"
    )
    parser.add_argument(
        "--repair", type=Path, metavar="DIR", help="write a repaired copy of each file that can be repaired"
    )
    parser.add_argument(
        "--seconds",
        type=Path,
        metavar="FILE",
        help="file of topic and seconds, one topic per line, for protocols that limit the time",
    )
    parser.add_argument(
        "--formulas",
        action="append",
        type=Path,
        default=[],
        metavar="INDEX",
        help="formula index, or a folder of them, in which the formulas of runs are looked up; repeatable",
    )
    add_protocol(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check the files; 1 if a run has errors, 2 if a file cannot be used."""
    return refusals.run("check", check_files, arguments)


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
