"""Build the pool of the runs in a manifest: topic, document and position, one pool entry per line.

The same seed gives the same bytes. Exit status: 0 success, 1 a run has errors, 2 a file or an option cannot be used.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.cli.options import add, add_seed
from assay.cli.pooling import add_pooling_options, beyond_team_limit, read_pooled, read_protocol_and_topics
from assay.digests import sha256_of, sha256_of_file
from assay.errors import InputError
from assay.formats.documents.sources import files_of
from assay.nuggets.files import keys_by_topic, read_nuggets
from assay.pools.files import (
    contributions_tsv,
    member_contributions_tsv,
    members_tsv,
    pool_tsv,
    read_docnos,
    record,
)
from assay.pools.order import ORDERS
from assay.pools.statistics import partly_shown
from assay.pools.strategies import BuiltPool, PoolInput, build_pool, check_strategies, with_depth
from assay.preferences.votes import read_votes
from assay.protocols.schema import Protocol

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
    if arguments.order:
        protocol = replace(protocol, pool=replace(protocol.pool, order=arguments.order))
    check_strategies(protocol)
    if arguments.votes and protocol.pool.pairs is None:
        raise InputError(f"--votes: {protocol.slug} judges no pairs; leave the option out")
    depths = dict(arguments.depth)
    with_depth(protocol.runs, depths)
    inputs, reports, formulas = read_pooled(arguments, protocol, topics)
    sources = [{"file": report.name, "sha256": report.sha256} for report in reports]
    limit = _limited(arguments, inputs, sources, protocol)
    pool = build_pool(
        inputs,
        protocol=protocol,
        seed=arguments.seed,
        depth=depths,
        formulas=formulas,
        known=read_docnos(arguments.known_items) if arguments.known_items else None,
        already=read_docnos(arguments.top_up) if arguments.top_up else None,
        nuggets=_nuggets(arguments, protocol),
        tied=read_docnos(arguments.top_up_members, column=2) if arguments.top_up_members else None,
        votes=read_votes(str(arguments.votes)) if arguments.votes else (),
    )
    data = pool_tsv(pool)
    sha256 = sha256_of(data)
    description = record(
        pool,
        inputs,
        protocol=protocol,
        seed=arguments.seed,
        sha256=sha256,
        sources=sources,
        others=_other_sources(arguments) | limit,
    )
    _write(arguments, pool, inputs, data, description)
    if not arguments.quiet:
        print(_summary(pool, description, sha256), file=sys.stderr)  # noqa: T201
    return 0


def _nuggets(arguments: argparse.Namespace, protocol: Protocol) -> dict[str, list[str]]:
    """The keys of the nuggets of each topic."""
    if arguments.nuggets is None:
        return {}
    if not protocol.is_of_answers:
        raise InputError("--nuggets is for generated answers, and the protocol has none")
    lists = read_nuggets(arguments.nuggets.read_bytes(), str(arguments.nuggets))
    if problems := [problem for nuggets in lists for problem in nuggets.problems(protocol.nuggets)]:
        raise InputError(f"{arguments.nuggets}: {problems[0]} ({len(problems)} in all: assay nuggets check)")
    return keys_by_topic(lists)


def _limited(
    arguments: argparse.Namespace, inputs: list[PoolInput], sources: list[dict[str, str]], protocol: Protocol
) -> dict[str, Any]:
    """Remove the runs beyond the limit per team; what the record says about it."""
    if arguments.runs_per_team is None:
        return {}
    beyond = beyond_team_limit(inputs, protocol.runs, dict(arguments.depth), arguments.runs_per_team)
    triples = list(zip(inputs, sources, beyond, strict=True))
    left_out = [
        {**source, "team": run.team, "tag": run.tag} for run, source, is_beyond in triples if is_beyond
    ]
    inputs[:] = [run for run, _, is_beyond in triples if not is_beyond]
    sources[:] = [source for _, source, is_beyond in triples if not is_beyond]
    return {"runs_per_team": arguments.runs_per_team, "left_out": left_out}


def _other_sources(arguments: argparse.Namespace) -> dict[str, Any]:
    """Name and sha256 of the files of which the pool was built, without the runs."""
    sources: dict[str, Any] = {}
    for option in ("known_items", "nuggets", "top_up", "votes", "top_up_members"):
        if path := getattr(arguments, option):
            sources[option] = _file_record(path)
    if arguments.formulas:
        sources["formulas"] = [_file_record(file) for file in files_of(arguments.formulas) if file.is_file()]
    return sources


def _file_record(path: Path) -> dict[str, str]:
    with path.open("rb") as file:
        return {"file": path.name, "sha256": sha256_of_file(file)}


def _write(
    arguments: argparse.Namespace,
    pool: BuiltPool,
    inputs: list[PoolInput],
    data: bytes,
    description: dict[str, Any],
) -> None:
    if arguments.contributions:
        arguments.contributions.write_bytes(contributions_tsv(pool, inputs))
    if arguments.members:
        arguments.members.write_bytes(members_tsv(pool))
    if arguments.member_contributions:
        arguments.member_contributions.write_bytes(member_contributions_tsv(pool, inputs))
    if arguments.teams:
        lines = ["team\ttopic\tunits\tbrought\talone"]
        for team in description["teams"]:
            by_topic = zip(team["brought_by_topic"], team["alone_by_topic"], strict=True)
            for topic, (contributed, alone) in zip(description["topics"], by_topic, strict=True):
                lines.append(f"{team['team']}\t{topic['topic']}\t{topic['n']}\t{contributed}\t{alone}")
        arguments.teams.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if arguments.output:
        arguments.output.write_bytes(data)
        record_path = arguments.output.with_name(arguments.output.name + ".json")
        text = json.dumps(description, ensure_ascii=False, indent=1) + "\n"
        record_path.write_text(text, encoding="utf-8", errors="backslashreplace")
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def _summary(pool: BuiltPool, description: Mapping[str, Any], sha256: str) -> str:
    sizes = pool.units.sizes
    by_topic = f"by topic {sizes.min()} to {sizes.max()}, mean {sizes.mean():.2f}"
    size = f"{len(pool.units):,} units of {len(sizes)} topics from {len(pool.depths)} runs"
    lines = [f"{size}; {by_topic}; sha256 {sha256}"]
    if pool.members is not None:
        members = description["members"]
        lines.append(f"{members['n']:,} members, {members['shown']:,} of them to be shown")
        lines.append(f"{partly_shown(description)} have more members than are shown")
    if sum(pool.skipped):
        lines.append(f"skipped {sum(pool.skipped):,} pooled instances without a visual id")
    if pool.n_already:
        lines.append(f"left out {pool.n_already:,} units of the earlier pool")
    lines += [
        f"without {team['team']}: {team['without']:,} units; "
        f"only {team['team']} contributed {team['alone']:,} of its {team['n']:,} units"
        for team in description["teams"]
    ]
    return "\n".join(lines)
