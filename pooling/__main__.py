"""`python -m pooling`: check runs and build pools on files alone, with no database.

Exit status: 0 nothing is wrong (warnings aside), 1 a run has errors, 2 something cannot be used or read.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from tqdm import tqdm

from pooling.manifest import ManifestError, ManifestRun, read_manifest
from pooling.pool_files import contributions_tsv, pool_tsv, record
from pooling.reports import Complaint, Report
from pooling.run_format import CheckedRun, UnknownForm, check_run
from pooling.strategies import PoolError, PoolInput, build_pool, check_strategies, with_depth
from pooling.topic_list import TopicListError, read_topic_codes
from protocols.loader import ProtocolError, load_protocol
from protocols.schema import Protocol

UNUSABLE = (OSError, ProtocolError, TopicListError, ManifestError, PoolError, UnknownForm)


class RunsRefused(Exception):
    """A run that is to be pooled has errors; the reports have been printed."""


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand and return the exit status."""
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
    check.set_defaults(command=check_files)
    pool = commands.add_parser("pool", help="pool the runs of a manifest")
    pool.add_argument(
        "--runs", type=Path, required=True, metavar="MANIFEST", help="CSV: file,team,tag,kind[,pooled_as]"
    )
    pool.add_argument(
        "--seed", type=seed_argument, required=True, help="a whole number; the same one gives the same order"
    )
    pool.add_argument(
        "--depth",
        type=depth_argument,
        action="append",
        default=[],
        metavar="KIND=K",
        help="instead of the protocol's, such as primary=30; may be given for each kind",
    )
    pool.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="instead of standard output; FILE.json says how it was made",
    )
    pool.add_argument("--contributions", type=Path, metavar="FILE", help="which run brought what")
    pool.set_defaults(command=pool_files)
    for command in (check, pool):
        command.add_argument(
            "--protocol", required=True, metavar="P", help="a slug or the path of a .toml file"
        )
        command.add_argument("--topics", type=Path, metavar="FILE", help="topic XML, or one code a line")
    return parser


def seed_argument(text: str) -> int:
    """A seed as an option of a command line."""
    if not text.isascii() or not text.isdigit() or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2^63 - 1")
    return int(text)


def depth_argument(text: str) -> tuple[str, int]:
    """`KIND=K` as an option of a command line."""
    kind, equals, number = text.partition("=")
    if not equals or not number.isascii() or not number.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not KIND=K, such as primary=45")
    return kind, int(number)


def check_files(options: argparse.Namespace) -> int:
    """Check each file; print the reports."""
    protocol, topics = _protocol_and_topics(options)
    if options.repair:
        options.repair.mkdir(parents=True, exist_ok=True)
    reports = []
    for path in options.files:
        checked = check_run(path, protocol=protocol, topics=topics, name=path.name)
        reports.append(checked.report)
        if options.format == "text":
            _print_report(checked.report, str(path))
        if options.repair:
            _repair(checked, path, options.repair)
    if options.format == "json":
        print(json.dumps([report.as_json() for report in reports], ensure_ascii=False, indent=1))  # noqa: T201
    return 0 if all(report.is_acceptable for report in reports) else 1


def _protocol_and_topics(options: argparse.Namespace) -> tuple[Protocol, list[str] | None]:
    topics = read_topic_codes(options.topics) if options.topics else None
    return load_protocol(options.protocol), topics


def _print_report(report: Report, path: str, file: TextIO | None = None) -> None:
    verdict = "accepted" if report.is_acceptable else "refused"
    counts = f"{_counted(report.errors, 'error')}, {_counted(report.warnings, 'warning')}"
    what = f"{report.form}, tag {report.tag}, " if report.form and report.tag else ""
    lines = [f"{path}: {verdict}, {counts} ({what}{report.n_lines:,} lines, {report.n_topics} topics)"]
    for complaint in (*report.errors, *report.warnings):
        lines += [f"  {complaint.severity}: {complaint}", f"      accepted: {complaint.accepted}"]
        for line in complaint.lines:
            note = f"   [{line.note}]" if line.note else ""
            lines.append(f"      {line.number:>8} | {line.text}{note}")
    print("\n".join(lines), file=file)


def _counted(complaints: Sequence[Complaint], what: str) -> str:
    return f"{len(complaints)} {what}{'' if len(complaints) == 1 else 's'}"


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


def pool_files(options: argparse.Namespace) -> int:
    """Pool the runs of a manifest and say what came of it."""
    protocol, topics = _protocol_and_topics(options)
    check_strategies(protocol)
    depth = dict(options.depth)
    with_depth(protocol.pool, depth)
    runs = read_manifest(options.runs, protocol)
    inputs, reports = _inputs(runs, protocol, topics)
    pool = build_pool(inputs, protocol=protocol, seed=options.seed, depth=depth)
    data = pool_tsv(pool)
    sources = [
        {"file": run.file.name, "sha256": report.sha256} for run, report in zip(runs, reports, strict=True)
    ]
    sha256 = hashlib.sha256(data).hexdigest()
    said = record(pool, inputs, protocol=protocol, seed=options.seed, sha256=sha256, sources=sources)
    if options.contributions:
        options.contributions.write_bytes(contributions_tsv(pool, inputs))
    if options.output:
        options.output.write_bytes(data)
        _write_json(options.output.with_name(options.output.name + ".json"), said)
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    sizes = pool.units.sizes
    print(  # noqa: T201
        f"{len(pool.units):,} units of {len(sizes)} topics from {len(runs)} runs; "
        f"by topic {sizes.min()} to {sizes.max()}, mean {sizes.mean():.2f}; sha256 {sha256}",
        file=sys.stderr,
    )
    return 0


def _inputs(
    runs: list[ManifestRun], protocol: Protocol, topics: list[str] | None
) -> tuple[list[PoolInput], list[Report]]:
    inputs, reports, refused = [], [], []
    for run in tqdm(runs, desc="reading runs", unit="run", disable=None, leave=False):
        checked = check_run(run.file, protocol=protocol, topics=topics, name=run.file.name)
        reports.append(checked.report)
        if checked.columns is None:
            refused.append((checked.report, str(run.file)))
        else:
            inputs.append(PoolInput(checked.columns, run.team, run.tag, run.kind, run.pooled_as))
    for report, path in refused:
        _print_report(report, path, sys.stderr)
    if refused:
        raise RunsRefused
    return inputs, reports


def _write_json(path: Path, data: dict[str, object]) -> None:
    path.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
