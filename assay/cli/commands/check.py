"""Check run files like an upload, and list every distinct error with its lines.

With --protocol, the files are checked here. With --track, a site checks them as it would a submission, also against its
collection, its deadlines and the other runs of your team, and stores nothing.

Exit status: 0 no errors (there may be warnings), 1 a run has errors or would be refused, 2 a file or an option cannot
be used; with --track also 3 you are not logged in or may not submit, 4 the site cannot be reached.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from assay.cli.options import (
    RUN_FILE,
    add_format,
    add_formulas,
    add_posts,
    add_protocol,
    add_topics,
    input_path,
)
from assay.cli.pooling import formula_lookup, read_formulas, read_posts, read_protocol_and_topics
from assay.cli.site import add_server
from assay.errors import InputError
from assay.formats.reports import Report, print_report
from assay.formats.runs.reader import CheckedRun, check_run
from assay.formats.runs.timing import check_seconds

ON_FILES = ("protocol", "topics", "formulas", "seconds", "repair")
ON_SITE = ("server", "kind", "team")

EXAMPLE = "assay check --protocol arqmath-2020-task1 --topics topics.txt runs/abacus.tsv runs/baseline.tsv.gz"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_protocol(parser, is_required=False)
    add_topics(parser)
    add_formulas(parser)
    add_posts(parser)
    parser.add_argument(
        "--seconds",
        type=Path,
        metavar="FILE",
        help="also check this file of topic and seconds, for a protocol that limits the time",
    )
    parser.add_argument(
        "--repair", type=Path, metavar="DIR", help="write a repaired copy of each run that can be repaired"
    )
    parser.add_argument("--track", metavar="TRACK", help="let a site check the runs for this track")
    add_server(parser)
    parser.add_argument("--kind", default="", help="on a site, the kind of the runs (default: the only one)")
    parser.add_argument("--team", default="", help="on a site, your team (default: your only one)")
    add_format(parser, "text", "json")
    parser.add_argument("runs", nargs="+", type=input_path, metavar="RUN", help=RUN_FILE)


def run(arguments: argparse.Namespace) -> int:
    if arguments.track:
        return _on_site(arguments)
    wrong = next((name for name in ON_SITE if getattr(arguments, name)), None)
    if wrong or not arguments.protocol:
        raise InputError(
            f"--{wrong} is for a site; give --track too" if wrong else "give --protocol or --track"
        )
    return _on_files(arguments)


def _on_site(arguments: argparse.Namespace) -> int:
    given = next((name for name in ON_FILES if getattr(arguments, name)), None)
    if given:
        raise InputError(f"--{given} is for a check without a site; with --track, the site knows it")
    reports = list(import_module("assay.cli.remote_checks").reports(arguments))
    if arguments.format == "json":
        _print_json(reports)
    return 0 if all(report is not None and report.is_acceptable for report in reports) else 1


def _on_files(arguments: argparse.Namespace) -> int:
    protocol, topics = read_protocol_and_topics(arguments)
    if arguments.repair:
        arguments.repair.mkdir(parents=True, exist_ok=True)
    formulas = formula_lookup(read_formulas(arguments.formulas))
    posts, reports = read_posts(arguments.posts), []
    for path in arguments.runs:
        checked = check_run(
            path, protocol=protocol, topics=topics, formulas=formulas, posts=posts, name=path.name
        )
        reports.append(checked.report)
        if arguments.format == "text":
            print_report(checked.report, str(path))
        if arguments.repair:
            _write_repaired(checked, path, arguments.repair)
    if arguments.seconds:
        name = arguments.seconds.name
        reports.append(check_seconds(arguments.seconds, protocol=protocol, topics=topics, name=name))
        if arguments.format == "text":
            print_report(reports[-1], str(arguments.seconds))
    if arguments.format == "json":
        _print_json(reports)
    return 0 if all(report.is_acceptable for report in reports) else 1


def _print_json(reports: Sequence[Report | None]) -> None:
    content = [report.as_json() for report in reports if report is not None]
    print(json.dumps(content, ensure_ascii=False, indent=1))  # noqa: T201


def _write_repaired(checked: CheckedRun, path: Path, directory: Path) -> None:
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
