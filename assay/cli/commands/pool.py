"""Build the pool of the runs in a manifest: topic, document and position, one pool entry per line.

The same seed gives the same bytes. Exit status: 0 success, 1 a run has errors, 2 a file or an option cannot be used.
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.cli.main import add, add_seed
from assay.cli.pooling import add_pooling_options, read_pooled, read_protocol_and_topics
from assay.cli.tables import write_output
from assay.digests import sha256_of_file
from assay.errors import plural
from assay.formats.documents.sources import files_of
from assay.pools.files import contributions_tsv, member_contributions_tsv, members_tsv, read_docnos
from assay.pools.order import ORDERS
from assay.pools.statistics import partly_shown
from assay.pools.strategies import BuiltPool
from assay.research.pooling import Pool, build, nuggets_of, protocol_with_order, votes_of

EXAMPLE = "assay pool --protocol arqmath-2020-task1 --runs manifest.csv --seed 7 --output pool.tsv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_pooling_options(parser)
    add_seed(parser, is_required=True)
    add(parser, "--depth")
    add(parser, "--order", choices=sorted(ORDERS))
    add(parser, "--runs-per-team", words="in the order of the manifest")
    add(parser, "--output", words="; FILE.json describes how the pool was built")
    files = {
        "--known-items": "topic and relevant docno per line, for known-item tasks",
        "--nuggets": "lists of nuggets of the topics, for generated answers",
        "--votes": "votes on pairs of the earlier pools, if pairs are judged in rounds",
        "--top-up-members": "members of the earlier pool, if it has near-duplicates",
        "--contributions": "write which run contributed which unit",
        "--members": "write the members of each unit: formula instances, or near-duplicates",
        "--member-contributions": "write which run contributed which member",
        "--teams": "write how many units only one team contributed, by topic",
    }
    for option, text in files.items():
        parser.add_argument(option, type=Path, metavar="FILE", help=text)


def run(arguments: argparse.Namespace) -> int:
    protocol, topics = read_protocol_and_topics(arguments)
    depths = dict(arguments.depth)
    protocol = protocol_with_order(protocol, depths, arguments.order)
    inputs, reports, formulas = read_pooled(arguments, protocol, topics, depths)
    # Name and sha256 of the files of which the pool was built, without the runs
    sources: dict[str, Any] = {}
    for option in ("known_items", "nuggets", "top_up", "votes", "top_up_members"):
        if path := getattr(arguments, option):
            sources[option] = _file_record(path)
    if arguments.formulas:
        sources["formulas"] = [_file_record(file) for file in files_of(arguments.formulas) if file.is_file()]
    pool = build(
        inputs,
        [{"file": report.file_name, "sha256": report.sha256} for report in reports],
        protocol,
        seed=arguments.seed,
        depths=depths,
        formulas=formulas,
        known=read_docnos(arguments.known_items) if arguments.known_items else None,
        already=read_docnos(arguments.top_up) if arguments.top_up else None,
        nuggets=nuggets_of(arguments.nuggets, protocol),
        tied=read_docnos(arguments.top_up_members, column=2) if arguments.top_up_members else None,
        votes=votes_of(arguments.votes, protocol),
        runs_per_team=arguments.runs_per_team,
        others=sources,
    )
    _write(arguments, pool)
    if not arguments.quiet:
        print(_summary(pool.built, pool.record), file=sys.stderr)  # noqa: T201
    return 0


def _file_record(path: Path) -> dict[str, str]:
    with path.open("rb") as file:
        return {"file": path.name, "sha256": sha256_of_file(file)}


def _write(arguments: argparse.Namespace, pool: Pool) -> None:
    if arguments.contributions:
        arguments.contributions.write_bytes(contributions_tsv(pool.built, pool.inputs))
    if arguments.members:
        arguments.members.write_bytes(members_tsv(pool.built))
    if arguments.member_contributions:
        arguments.member_contributions.write_bytes(member_contributions_tsv(pool.built, pool.inputs))
    if arguments.teams:
        lines = ["team\ttopic\tunits\tbrought\talone"]
        for team in pool.record["teams"]:
            by_topic = zip(team["brought_by_topic"], team["alone_by_topic"], strict=True)
            for topic, (contributed, alone) in zip(pool.record["topics"], by_topic, strict=True):
                lines.append(f"{team['team']}\t{topic['topic']}\t{topic['n']}\t{contributed}\t{alone}")
        arguments.teams.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if arguments.output:
        pool.write(arguments.output)
    else:
        write_output(pool.data, None)


def _summary(pool: BuiltPool, description: Mapping[str, Any]) -> str:
    sizes = pool.units.sizes
    by_topic = f"by topic {sizes.min()} to {sizes.max()}, mean {sizes.mean():.2f}"
    size = f"{plural(len(pool.units), 'unit')} of {plural(len(sizes), 'topic')} from {plural(len(pool.depths), 'run')}"
    lines = [f"{size}; {by_topic}; sha256 {description['sha256']}"]
    if pool.members is not None:
        members = description["members"]
        lines.append(f"{plural(members['n'], 'member')}, {members['shown']:,} of them to be shown")
        lines.append(f"{partly_shown(description)} have more members than are shown")
    if sum(pool.skipped):
        lines.append(f"skipped {plural(sum(pool.skipped), 'pooled instance')} without a visual id")
    if pool.n_already:
        lines.append(f"left out {plural(pool.n_already, 'unit')} of the earlier pool")
    lines += [
        f"without {team['team']}: {plural(team['without'], 'unit')}; "
        f"only {team['team']} contributed {team['alone']:,} of its {plural(team['n'], 'unit')}"
        for team in description["teams"]
    ]
    return "\n".join(lines)
