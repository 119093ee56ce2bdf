"""Shared parts of `assay baseline` and `assay fuse`: options of the run that is written, topics, progress, writing."""

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from assay.cli.formulas import note
from assay.cli.inputs import steps
from assay.cli.main import add, positive
from assay.errors import plural
from assay.formats.compression import read_file
from assay.formats.topics.reader import TopicRow, read_topics
from assay.protocols.schema import Protocol
from assay.ranking import Progress, Ranked, run_of

N_NAMED = 10  # topics without documents that are named


def add_run_options(parser: argparse.ArgumentParser, *, tag: str) -> None:
    """Add depth, tag, and where to write the run."""
    parser.add_argument(
        "--depth",
        type=positive,
        metavar="K",
        help="documents per topic (default: as many as the protocol accepts)",
    )
    parser.add_argument("--tag", default=tag, help=f"tag of the run (default: {tag})")
    add(parser, "--output", "--quiet")


def read_topic_rows(path: Path, protocol: Protocol) -> list[TopicRow]:
    is_formula = protocol.unit in {"formula", "visually-distinct-formula"}
    return read_topics(read_file(str(path)), path.name, is_formula=is_formula)


def progress_bars(arguments: argparse.Namespace) -> Progress:
    """A progress bar on a terminal for each step."""
    bars: dict[str, Callable[[int, int], None]] = {}

    def move(step: str, done: int, size: int) -> None:
        if step not in bars:
            bars[step] = steps(step, is_quiet=arguments.quiet)
        bars[step](done, size)

    return move


def write_run_file(
    ranked: Iterable[Ranked],
    arguments: argparse.Namespace,
    *,
    protocol: Protocol,
    topics: Sequence[str],
    reason: str = "nothing was found",
    skipped: Mapping[str, int] | None = None,
) -> int:
    """Write a run, and print a summary that names the topics without documents; the exit status."""
    lists = list(ranked)
    content = run_of(lists, protocol=protocol, tag=arguments.tag, topics=topics)
    if arguments.output is None:
        sys.stdout.write(content.decode())
    else:
        arguments.output.write_bytes(content)
    for words, n in sorted((skipped or {}).items()):
        note(f"skipped {n:,}: {words}", arguments)
    empty = [ranking.topic for ranking in lists if not len(ranking.docno)]
    if empty:
        more = f" and {len(empty) - N_NAMED:,} more" if len(empty) > N_NAMED else ""
        note(f"no documents for {' '.join(empty[:N_NAMED])}{more}: {reason}", arguments)
    n_lines = sum(len(ranking.docno) for ranking in lists)
    size = f"{plural(n_lines, 'document')} for {plural(len(lists) - len(empty), 'topic')}"
    note(f"{size}, tag {arguments.tag}", arguments)
    return 0
