"""Show the size of a pool, and the hours of judging, at each depth, before it is built."""

import argparse
from pathlib import Path

from assay.cli import refusals
from assay.cli.commands.pool import add_inputs, checked_inputs, formulas_of, lookup_of, protocol_and_topics
from assay.formats.manifest import read_manifest
from assay.pools.files import read_docnos
from assay.pools.preview import FARTHEST, Preview, preview_pool, usual_seconds
from assay.pools.strategies import check_strategies
from assay.protocols.schema import Protocol

EXAMPLE = "assay preview --protocol arqmath-2021-task1 --runs manifest.csv --budget-hours 300"


def add_arguments(preview: argparse.ArgumentParser) -> None:
    """Add the options of `assay preview`."""
    add_inputs(preview)
    preview.add_argument("--deepest", type=_above_0, metavar="K", help="the last depth (default: 100)")
    preview.add_argument(
        "--rate", type=_number, metavar="S", help="seconds a judgment (default: 39.5 a formula, else 83.3)"
    )
    preview.add_argument("--budget-hours", type=_number, metavar="H", help="name the deepest pool that fits")
    preview.add_argument("--by-topic", type=Path, metavar="FILE", help="the sizes of each topic, by depth")


def run(arguments: argparse.Namespace) -> int:
    """Print the preview; 1 if a run has errors, 2 if a file cannot be used."""
    return refusals.run("preview", preview_files, arguments)


def _above_0(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= FARTHEST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 100000")
    return int(text)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number <= 10**9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def preview_files(options: argparse.Namespace) -> int:
    """Print the size of a pool at each depth, and the hours that it takes to judge it."""
    protocol, topics = protocol_and_topics(options)
    check_strategies(protocol)
    formulas = formulas_of(options)
    lookup = lookup_of(formulas, options)
    inputs, _ = checked_inputs(read_manifest(options.runs, protocol), protocol, topics, lookup)
    found = preview_pool(
        inputs,
        protocol=protocol,
        deepest=options.deepest,
        formulas=formulas,
        already=read_docnos(options.top_up) if options.top_up else None,
    )
    seconds = options.rate or usual_seconds(protocol)
    print(_preview_table(found, protocol, seconds))  # noqa: T201
    if options.by_topic:
        options.by_topic.write_text(_sizes_by_topic(found), encoding="utf-8")
    if options.budget_hours:
        print(_within_budget(found, options.budget_hours, seconds))  # noqa: T201
    return 0


def _preview_table(found: Preview, protocol: Protocol, seconds: float) -> str:
    """A line for each depth; that of the protocol has an asterisk."""
    kinds = list(found.depths)
    header = [*(kinds or ["rank"]), "units", "mean", "least", "most", "hours", ""]
    rows = [header]
    for i, (total, hours) in enumerate(
        zip(found.totals.tolist(), found.hours(seconds).tolist(), strict=True)
    ):
        depths = found.depth_by_kind(i + 1) or {"rank": i + 1}
        by_topic = found.sizes[i]
        mark = "*" if depths == protocol.pool.depth else ""
        rows.append(
            [
                *map(str, depths.values()),
                f"{total:,}",
                f"{by_topic.mean():.1f}",
                str(by_topic.min()),
                str(by_topic.max()),
                f"{hours:,.1f}",
                mark,
            ]
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    note = f"hours: {found.judges:g} judgments a unit at {seconds:g} s each; *: the protocol's depth"
    return "\n".join([*lines, note])


def _sizes_by_topic(found: Preview) -> str:
    lines = ["depth\t" + "\t".join(found.topics.tolist())]
    lines += [f"{depth}\t" + "\t".join(map(str, row)) for depth, row in enumerate(found.sizes.tolist(), 1)]
    return "\n".join(lines) + "\n"


def _within_budget(found: Preview, budget: float, seconds: float) -> str:
    depth = found.deepest_within(budget, seconds)
    if not depth:
        return f"Not even the pool of depth 1 is judged in {budget:g} hours: it takes {found.hours(seconds)[0]:,.1f}."
    options = " ".join(f"--depth {kind}={k}" for kind, k in found.depth_by_kind(depth).items())
    size = f"{found.totals[depth - 1]:,} units, {found.hours(seconds)[depth - 1]:,.1f} hours"
    return f"Within {budget:g} hours: depth {depth}{f' ({options})' if options else ''}, {size}."
