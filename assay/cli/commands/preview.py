"""Show the size of a pool, and the hours of judging, at every depth, before the pool is built.

Exit status: 0 success, 1 a run has errors, 2 a file or an option cannot be used.
"""

import argparse
from pathlib import Path

from assay.cli.main import add, whole_number
from assay.cli.pooling import add_pooling_options, read_pooled, read_protocol_and_topics
from assay.errors import plural
from assay.pools.files import read_docnos
from assay.pools.preview import MAX_DEPTH, Preview, preview_pool, usual_seconds
from assay.pools.strategies import check_strategies
from assay.protocols.schema import Protocol
from assay.research.pooling import beyond_team_limit

EXAMPLE = "assay preview --protocol arqmath-2020-task1 --runs manifest.csv --budget-hours 0.6"
NUMBERS_OF_UNITS = ("units", "mean", "least", "most", "hours")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_pooling_options(parser)
    add(parser, "--runs-per-team", words="in the order of the manifest")
    parser.add_argument(
        "--deepest",
        type=whole_number(1, MAX_DEPTH),
        metavar="K",
        help="last depth to show (default: 100, or max_ranks)",
    )
    parser.add_argument(
        "--rate",
        type=_positive_number,
        metavar="S",
        help="seconds per judgment (default: 39.5 for a formula, otherwise 83.3)",
    )
    parser.add_argument(
        "--budget-hours",
        type=_positive_number,
        metavar="H",
        help="name the deepest pool that can be judged in H hours",
    )
    parser.add_argument(
        "--by-topic", type=Path, metavar="FILE", help="write the size of each topic at every depth"
    )


def _positive_number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number <= 10**9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def run(arguments: argparse.Namespace) -> int:
    protocol, topics = read_protocol_and_topics(arguments)
    check_strategies(protocol)
    inputs, _, formulas = read_pooled(arguments, protocol, topics)
    beyond = beyond_team_limit(inputs, protocol.runs, {}, arguments.runs_per_team)
    preview = preview_pool(
        [pool_input for pool_input, is_beyond in zip(inputs, beyond, strict=True) if not is_beyond],
        protocol=protocol,
        deepest=arguments.deepest,
        formulas=formulas,
        already=read_docnos(arguments.top_up) if arguments.top_up else None,
    )
    seconds = arguments.rate or usual_seconds(protocol)
    print(_table(preview, protocol, seconds))  # noqa: T201
    if arguments.by_topic:
        lines = ["depth\t" + "\t".join(preview.topics.tolist())]
        for depth, row in enumerate(preview.sizes.tolist(), 1):
            lines.append(f"{depth}\t" + "\t".join(map(str, row)))
        arguments.by_topic.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if budget := arguments.budget_hours:
        hours, depth = preview.hours(seconds), preview.deepest_within(budget, seconds)
        options = " ".join(f"--depth {kind}={k}" for kind, k in preview.depth_by_kind(depth).items())
        size = f"{plural(preview.totals[depth - 1], 'unit')}, {hours[depth - 1]:,.1f} h"
        within = f"Within {budget:g} h: depth {depth}{f' ({options})' if options else ''}, {size}."
        too_small = f"No pool can be judged in {budget:g} h: depth 1 takes {hours[0]:,.1f} h."
        print(within if depth else too_small)  # noqa: T201
    return 0


def _table(preview: Preview, protocol: Protocol, seconds: float) -> str:
    """A line for each depth; an asterisk marks the protocol's."""
    rows = [[*(preview.depths or ["rank"]), *NUMBERS_OF_UNITS, ""]]
    hours = preview.hours(seconds).tolist()
    for i, total in enumerate(preview.totals.tolist()):
        depths = preview.depth_by_kind(i + 1) or {"rank": i + 1}
        by_topic = preview.sizes[i]
        mark = "*" if depths == protocol.runs.depths else ""
        sizes = f"{total:,}", f"{by_topic.mean():.1f}", str(by_topic.min()), str(by_topic.max())
        rows.append([*map(str, depths.values()), *sizes, f"{hours[i]:,.1f}", mark])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    per_unit = f"{preview.judges:g} judgment{'' if preview.judges == 1 else 's'} per unit"
    return "\n".join([*lines, f"hours: {per_unit}, {seconds:g} s each; *: the protocol's depth"])
