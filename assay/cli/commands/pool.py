"""Build the pool of the runs of a manifest: topic, document and position, one entry per line.

The same seed gives the same bytes.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from assay.cli import refusals
from assay.formats.documents.sources import files_of
from assay.formats.formulas.files import read_index
from assay.formats.manifest import ManifestRun, read_manifest
from assay.formats.report_text import print_report
from assay.formats.reports import Report
from assay.formats.runs.formulas import FormulaLookup
from assay.formats.runs.reader import check_run
from assay.formats.topics.codes import read_topic_codes
from assay.formulas.columns import PLACES, Formulas
from assay.pools.files import (
    contributions_tsv,
    member_contributions_tsv,
    members_tsv,
    pool_tsv,
    read_docnos,
    record,
)
from assay.pools.order import ORDERS
from assay.pools.strategies import BuiltPool, PoolError, PoolInput, build_pool, check_strategies, with_depth
from assay.protocols.loader import load_protocol
from assay.protocols.schema import Protocol

EXAMPLE = "assay pool --protocol arqmath-2021-task1 --runs manifest.csv --seed 7 --output pool.tsv"


def add_arguments(pool: argparse.ArgumentParser) -> None:
    """Add the options of `assay pool`."""
    pool.add_argument(
        "--seed", type=seed_argument, required=True, help="a whole number; the same one gives the same pool"
    )
    pool.add_argument(
        "--depth",
        type=depth_argument,
        action="append",
        default=[],
        metavar="KIND=K",
        help="instead of the protocol's, such as primary=30; may be given for each kind",
    )
    pool.add_argument("--order", choices=sorted(ORDERS), help="of judging, instead of the protocol's")
    pool.add_argument(
        "--known-items",
        type=Path,
        metavar="FILE",
        help="topic and relevant docno a line, for known-item tasks",
    )
    _add_outputs(pool)
    add_inputs(pool)


def run(arguments: argparse.Namespace) -> int:
    """Build the pool; 1 if a run has errors, 2 if a file cannot be used."""
    return refusals.run("pool", pool_files, arguments)


def add_inputs(command: argparse.ArgumentParser) -> None:
    """Add what names the runs, and what is pooled already."""
    add_protocol(command)
    command.add_argument(
        "--runs", type=Path, required=True, metavar="MANIFEST", help="CSV: file,team,tag,kind[,pooled_as]"
    )
    command.add_argument(
        "--formulas",
        action="append",
        type=Path,
        default=[],
        metavar="INDEX",
        help="formula index, folder of them, or map to visual ids, for protocols that pool visually distinct formulas; "
        "repeatable",
    )
    command.add_argument(
        "--allow-unknown",
        action="store_true",
        help="pass formulas over that these files do not have, instead of refusing the run",
    )
    command.add_argument("--top-up", type=Path, metavar="POOL", help="an earlier pool: leave out what it has")


def _add_outputs(pool: argparse.ArgumentParser) -> None:
    pool.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="instead of standard output; FILE.json says how it was made",
    )
    pool.add_argument("--contributions", type=Path, metavar="FILE", help="which run brought what")
    pool.add_argument(
        "--members", type=Path, metavar="FILE", help="instances, or near-duplicates, of each unit"
    )
    pool.add_argument(
        "--member-contributions", type=Path, metavar="FILE", help="which run brought which member"
    )
    pool.add_argument("--teams", type=Path, metavar="FILE", help="what each team alone brought, by topic")
    pool.add_argument(
        "--top-up-members",
        type=Path,
        metavar="MEMBERS",
        help="of the earlier pool, where it has near-duplicates",
    )


def add_protocol(command: argparse.ArgumentParser) -> None:
    """Add what every subcommand takes."""
    command.add_argument("--protocol", required=True, metavar="P", help="a slug or the path of a .toml file")
    command.add_argument("--topics", type=Path, metavar="FILE", help="topic XML, or one code a line")


def seed_argument(text: str) -> int:
    """A seed as an option of a command line."""
    if not text.isascii() or not text.isdigit() or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2^63 - 1")
    return int(text)


def depth_argument(text: str) -> tuple[str, int]:
    """`KIND=K` as an option of a command line."""
    kind, equals, number = text.partition("=")
    if not equals or not number.isascii() or not number.isdigit() or len(number) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not KIND=K, such as primary=45")
    return kind, int(number)


def protocol_and_topics(options: argparse.Namespace) -> tuple[Protocol, list[str] | None]:
    """The protocol, and the codes that runs may name if a topic file is given."""
    topics = read_topic_codes(options.topics) if options.topics else None
    return load_protocol(options.protocol), topics


def pool_files(options: argparse.Namespace) -> int:
    """Pool the runs of a manifest and say what came of it."""
    protocol, topics = protocol_and_topics(options)
    if options.order:
        protocol = replace(protocol, pool=replace(protocol.pool, order=options.order))
    check_strategies(protocol)
    depth = dict(options.depth)
    with_depth(protocol.pool, depth)
    runs = read_manifest(options.runs, protocol)
    formulas = formulas_of(options)
    inputs, reports = checked_inputs(runs, protocol, topics, lookup_of(formulas, options))
    pool = build_pool(
        inputs,
        protocol=protocol,
        seed=options.seed,
        depth=depth,
        formulas=formulas,
        known=read_docnos(options.known_items) if options.known_items else None,
        already=read_docnos(options.top_up) if options.top_up else None,
        tied=read_docnos(options.top_up_members, column=2) if options.top_up_members else None,
    )
    sources = [
        {"file": run.file.name, "sha256": report.sha256} for run, report in zip(runs, reports, strict=True)
    ]
    data = pool_tsv(pool)
    sha256 = hashlib.sha256(data).hexdigest()
    said = record(
        pool,
        inputs,
        protocol=protocol,
        seed=options.seed,
        sha256=sha256,
        sources=sources,
        others=_other_sources(options),
    )
    _write(options, pool, inputs, data, said)
    _summarize(pool, said, sha256)
    return 0


def formulas_of(options: argparse.Namespace) -> Formulas | None:
    """The formulas of the files that are named; None if none are.

    Raises
    ------
    assay.errors.Refused
        One is neither a formula index nor an id map.
    PoolError
        They hold no formula.
    """
    if not options.formulas:
        return None
    formulas = read_index(options.formulas)
    if not len(formulas):
        raise PoolError(f"{', '.join(path.name for path in options.formulas)}: there is no formula in it")
    return formulas


def lookup_of(formulas: Formulas | None, options: argparse.Namespace) -> FormulaLookup | None:
    """How the formulas of runs are looked up when these are checked, as they are by `check`."""
    if formulas is None:
        return None
    return partial(_with_unknown, formulas) if options.allow_unknown else lambda _: formulas


def _with_unknown(formulas: Formulas, ids: NDArray[np.bytes_]) -> Formulas:
    """What is known of some sorted ids; the others stand in no post that is known, and have no visual id."""
    row = formulas.rows(ids)
    is_known = row >= 0
    return Formulas(
        formula=ids,
        post=np.where(is_known, formulas.post[row], b""),
        thread=np.where(is_known, formulas.thread[row], b""),
        place=np.where(is_known, formulas.place[row], PLACES.index("answer")).astype(np.uint8),
        visual=np.where(is_known, formulas.visual[row], b""),
    )


def _other_sources(options: argparse.Namespace) -> dict[str, Any]:
    """What went into a pool besides runs, by name and sha256."""
    found: dict[str, Any] = {}
    for name in ("known_items", "top_up", "top_up_members"):
        if path := getattr(options, name):
            found[name] = _file_record(path)
    if options.formulas:
        found["formulas"] = [_file_record(file) for file in files_of(options.formulas) if file.is_file()]
    return found


def _file_record(path: Path) -> dict[str, str]:
    with path.open("rb") as file:
        return {"file": path.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _write(
    options: argparse.Namespace, pool: BuiltPool, inputs: list[PoolInput], data: bytes, said: dict[str, Any]
) -> None:
    if options.contributions:
        options.contributions.write_bytes(contributions_tsv(pool, inputs))
    if options.members:
        options.members.write_bytes(members_tsv(pool))
    if options.member_contributions:
        options.member_contributions.write_bytes(member_contributions_tsv(pool, inputs))
    if options.teams:
        options.teams.write_text(_teams_by_topic(said), encoding="utf-8")
    if options.output:
        options.output.write_bytes(data)
        record_path = options.output.with_name(options.output.name + ".json")
        record_path.write_text(
            json.dumps(said, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", errors="backslashreplace"
        )
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def _teams_by_topic(said: Mapping[str, Any]) -> str:
    lines = ["team\ttopic\tunits\tbrought\talone"]
    for team in said["teams"]:
        by_topic = zip(said["topics"], team["brought_by_topic"], team["alone_by_topic"], strict=True)
        lines += [
            f"{team['team']}\t{one['topic']}\t{one['n']}\t{brought}\t{alone}"
            for one, brought, alone in by_topic
        ]
    return "\n".join(lines) + "\n"


def _summarize(pool: BuiltPool, said: Mapping[str, Any], sha256: str) -> None:
    sizes = pool.units.sizes
    by_topic = f"by topic {sizes.min()} to {sizes.max()}, mean {sizes.mean():.2f}"
    size = f"{len(pool.units):,} units of {len(sizes)} topics from {len(pool.depths)} runs"
    lines = [f"{size}; {by_topic}; sha256 {sha256}"]
    if pool.members is not None:
        lines.append(f"{said['members']['n']:,} members, {said['members']['shown']:,} of them to be shown")
    if sum(pool.passed_over):
        lines.append(f"{sum(pool.passed_over):,} pooled instances have no visual id and were passed over")
    if pool.n_already:
        lines.append(f"{pool.n_already:,} units of the earlier pool came again")
    lines += [
        f"without {team['team']}: {team['without']:,} units; it alone brought {team['alone']:,} of {team['n']:,}"
        for team in said["teams"]
    ]
    print("\n".join(lines), file=sys.stderr)  # noqa: T201


def checked_inputs(
    runs: list[ManifestRun],
    protocol: Protocol,
    topics: list[str] | None,
    formulas: FormulaLookup | None = None,
) -> tuple[list[PoolInput], list[Report]]:
    """The runs of a manifest as they go into a pool, and the reports on them.

    Raises
    ------
    RunsRefused
        Some have errors.
    """
    inputs, reports, refused = [], [], []
    for run in tqdm(runs, desc="reading runs", unit="run", disable=None, leave=False):
        checked = check_run(run.file, protocol=protocol, topics=topics, formulas=formulas, name=run.file.name)
        reports.append(checked.report)
        if checked.columns is None:
            refused.append((checked.report, str(run.file)))
        else:
            inputs.append(PoolInput(checked.columns, run.team, run.tag, run.kind, run.pooled_as))
    for report, path in refused:
        print_report(report, path, sys.stderr)
    if refused:
        raise refusals.RunsRefused
    return inputs, reports
