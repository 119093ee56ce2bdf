"""Check run files like an upload, and list every distinct error with its lines.

Exit status: 0 no errors (there may be warnings), 1 a run has errors, 2 a file or an option cannot be used.
"""

import argparse
import json
import sys
from pathlib import Path

from assay.cli.options import RUN_FILE, add_format, add_formulas, add_protocol, add_topics, input_path
from assay.cli.pooling import formula_lookup, read_formulas, read_protocol_and_topics
from assay.formats.reports import print_report
from assay.formats.runs.reader import CheckedRun, check_run
from assay.formats.runs.timing import check_seconds

EXAMPLE = "assay check --protocol arqmath-2020-task1 --topics topics.txt runs/abacus.tsv runs/baseline.tsv.gz"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_protocol(parser)
    add_topics(parser)
    add_formulas(parser)
    parser.add_argument(
        "--seconds",
        type=Path,
        metavar="FILE",
        help="also check this file of topic and seconds, for a protocol that limits the time",
    )
    parser.add_argument(
        "--repair", type=Path, metavar="DIR", help="write a repaired copy of each run that can be repaired"
    )
    add_format(parser, "text", "json")
    parser.add_argument("runs", nargs="+", type=input_path, metavar="RUN", help=RUN_FILE)


def run(arguments: argparse.Namespace) -> int:
    protocol, topics = read_protocol_and_topics(arguments)
    if arguments.repair:
        arguments.repair.mkdir(parents=True, exist_ok=True)
    formulas = formula_lookup(read_formulas(arguments.formulas))
    reports = []
    for path in arguments.runs:
        checked = check_run(path, protocol=protocol, topics=topics, formulas=formulas, name=path.name)
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
        print(json.dumps([report.as_json() for report in reports], ensure_ascii=False, indent=1))  # noqa: T201
    return 0 if all(report.is_acceptable for report in reports) else 1


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
