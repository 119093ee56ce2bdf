"""Shared parts of `assay check`, `assay pool` and `assay preview`: options, formulas, and checked runs."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from assay.cli.main import add, progress_bar
from assay.errors import AssayError, InputError
from assay.formats.documents import forum
from assay.formats.formulas import read_index
from assay.formats.manifest import ManifestRun, read_manifest
from assay.formats.reports import Report, print_report
from assay.formats.runs.citations import CitedPost, PostLookup
from assay.formats.runs.reader import UNUSED_RANKS, check_run
from assay.formats.topics.codes import read_topic_codes
from assay.formulas.columns import Formulas
from assay.pools.strategies import PoolInput, ranks_read
from assay.processes import map_forked
from assay.protocols.loader import load_protocol
from assay.protocols.schema import Protocol
from assay.research.evaluation import processes_for
from assay.research.pooling import formula_lookup


class RunsRefused(AssayError):
    """Runs to be pooled have errors; the reports are printed, so the message is empty."""

    exit_status = 1


def add_pooling_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the runs, and what is pooled already."""
    add(parser, "--protocol", "--runs", "--topics", "--formulas")
    parser.add_argument(
        "--allow-unknown",
        action="store_true",
        help="skip formulas that are missing from the --formulas files, instead of refusing the run",
    )
    parser.add_argument(
        "--top-up", type=Path, metavar="POOL", help="earlier pool: leave out the units that it contains"
    )
    add(parser, "--quiet")


def read_protocol_and_topics(arguments: argparse.Namespace) -> tuple[Protocol, list[str] | None]:
    """The protocol, and the topics that runs may name; None if no topic file is given."""
    topics = read_topic_codes(arguments.topics) if arguments.topics else None
    return load_protocol(arguments.protocol), topics


def read_formulas(paths: Sequence[Path]) -> Formulas | None:
    """The formulas of the files; None if there are no files.

    Raises:
        assay.errors.Refused: A file is neither a formula index nor an id map.
        InputError: The files contain no formula.
    """
    if not paths:
        return None
    formulas = read_index(paths)
    if not len(formulas):
        raise InputError(f"{', '.join(path.name for path in paths)}: the files contain no formula")
    return formulas


def read_posts(paths: Sequence[Path]) -> PostLookup | None:
    """Return the lookup of posts of some forums for a check of runs; None if there are no files.

    Raises:
        assay.errors.Refused: A file is not a forum, or is not well-formed.
    """
    if not paths:
        return None
    posts = {docno: CitedPost(source, language) for docno, source, language in forum.sources(paths)}
    return lambda docnos: {docno: posts[docno] for docno in docnos if docno in posts}


class Pooled(NamedTuple):
    """The input of a pool, the reports of the checks of the runs, and the formulas of the files."""

    inputs: list[PoolInput]
    reports: list[Report]
    formulas: Formulas | None


def read_pooled(
    arguments: argparse.Namespace,
    protocol: Protocol,
    topics: list[str] | None,
    depths: Mapping[str, int] | None = None,
) -> Pooled:
    """Read the runs of the manifest; with depths, only the ranks that a pool to these depths reads.

    Raises:
        RunsRefused: Some runs have errors; the reports are printed.
    """
    runs = read_manifest(arguments.runs, protocol)
    formulas = read_formulas(arguments.formulas)
    lookup = formula_lookup(formulas, allows_unknown=arguments.allow_unknown)

    def read(run: ManifestRun) -> tuple[Report, PoolInput | None]:
        check = partial(
            check_run,
            run.file,
            protocol=protocol,
            topics=topics,
            formulas=lookup,
            name=run.file.name,
            tolerated=UNUSED_RANKS,
        )
        most = None if depths is None else ranks_read(protocol, run.kind, run.tag, run.pooled_as, depths)
        checked = check(warns=False, depth=most)
        if checked.columns is None:
            return check().report, None
        return checked.report, PoolInput(checked.columns, run.team, run.tag, run.kind, run.pooled_as)

    with progress_bar("reading runs", len(runs), unit="run", is_quiet=arguments.quiet) as show:
        processes = processes_for(run.file for run in runs)
        results = map_forked(read, runs, processes=processes, refusals=OSError, started=show)
    inputs = [pooled for _, pooled in results if pooled is not None]
    for run, (report, pooled) in zip(runs, results, strict=True):
        if pooled is None:
            print_report(report, str(run.file), sys.stderr)
    if len(inputs) < len(runs):
        raise RunsRefused
    return Pooled(inputs, [report for report, _ in results], formulas)
