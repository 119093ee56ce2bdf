"""Whether qrels will serve runs that were not pooled: a team left out, shallower pools, fewer topics."""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

from assay.cli.inputs import Inputs, add_common, add_lots, bar, inputs_of, positive, steps
from assay.cli.output import run_command
from assay.evaluation.files import InputError
from assay.formats.manifest import read_manifest
from assay.pools.depth import PooledUnits
from assay.pools.strategies import PoolInput, build_pool
from assay.protocols.loader import load_protocol
from assay.statistics.reusability import DepthPoint, Scoring, TeamLeftOut, depth_curve, leave_one_team_out
from assay.statistics.topic_stability import N_SAMPLES, topic_stability
from assay.statistics.tukey import tukey_hsd
from assay.tables import Cell, Table

STEPS = 10  # depths of the curve, in equal parts of the protocol's

EXAMPLE = "assay reuse --protocol arqmath-2021-task1 --qrels qrels.txt --runs manifest.csv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `reuse`."""
    add_common(parser)
    add_lots(parser)
    parser.add_argument(
        "--runs", type=Path, required=True, metavar="MANIFEST", help="CSV: file,team,tag,kind[,pooled_as]"
    )
    parser.add_argument(
        "--samples",
        type=positive,
        default=N_SAMPLES,
        metavar="N",
        help=f"rankings by some topics that are drawn (default: {N_SAMPLES})",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print what was found."""
    return run_command("reuse", _tables, arguments)


def _tables(arguments: argparse.Namespace) -> list[Table]:
    inputs, pooled = _read(arguments)
    whole = Scoring(inputs.runs, inputs.qrels, inputs.measures, inputs.average, inputs.level)
    is_quiet = arguments.quiet
    teams = leave_one_team_out(
        whole,
        _pool(pooled, inputs, arguments.seed, 1.0),
        [one.team for one in pooled],
        progress=steps("teams", is_quiet=is_quiet),
    )
    # one pool where the protocol has no depth that could be less
    parts = range(1, STEPS + 1) if inputs.protocol.pool.depth else [STEPS]
    depths = depth_curve(
        whole,
        [
            (f"{part / STEPS:.0%}", _pool(pooled, inputs, arguments.seed, part / STEPS))
            for part in bar(parts, "pooling", "depth", is_quiet=is_quiet)
        ],
        progress=steps("depths", is_quiet=is_quiet),
    )
    return [
        *_team_tables(inputs, teams),
        _depth_table(inputs, depths),
        _topic_table(inputs, arguments),
        _discrimination(inputs, arguments),
    ]


def _read(arguments: argparse.Namespace) -> tuple[Inputs, list[PoolInput]]:
    protocol = load_protocol(arguments.protocol)
    try:
        listed = read_manifest(arguments.runs, protocol)
    except OSError as error:
        raise InputError(f"{arguments.runs}: {error.strerror}") from None
    paths = [str(one.file) for one in listed]
    inputs = inputs_of(arguments, protocol, [one.tag for one in listed], paths)
    pooled = [
        PoolInput(rows, one.team, one.tag, one.kind, one.pooled_as)
        for rows, one in zip(inputs.rows, listed, strict=True)
    ]
    return inputs, pooled


def _pool(pooled: Sequence[PoolInput], inputs: Inputs, seed: int, part: float) -> PooledUnits:
    """The pool of these runs, to a part of the depth of each kind, one rank at least."""
    protocol, formulas = inputs.protocol, inputs.units.formulas
    depth = {kind: math.ceil(part * k) for kind, k in protocol.pool.depth.items()}
    return build_pool(pooled, protocol=protocol, seed=seed, depth=depth, formulas=formulas).units


def _team_tables(inputs: Inputs, teams: Sequence[TeamLeftOut]) -> list[Table]:
    left_out = Table(
        "teams",
        f"units that a team alone brought to the pool; those judged; those relevant, from grade {inputs.level}",
        ("team", "runs", "pooled_alone", "judged_alone", "relevant_alone"),
        [(one.team, len(one.changes), one.n_pooled, one.n_judged, one.n_relevant) for one in teams],
    )
    changes = Table(
        "left_out",
        "each run scored without the judgments that its team alone found, and its place among all runs then",
        ("team", "run", "measure", "with", "without", "change", "rank_with", "rank_without"),
        [row for one in teams for row in _changes(inputs, one)],
    )
    taus = Table(
        "left_out_tau",
        "Kendall's tau-b of the rankings of all runs with and without what the team alone found",
        ("team", "measure", "tau"),
        [
            (one.team, str(measure), tau)
            for one in teams
            for measure, tau in zip(inputs.measures, one.tau, strict=True)
        ],
    )
    return [left_out, changes, taus]


def _changes(inputs: Inputs, team: TeamLeftOut) -> list[tuple[Cell, ...]]:
    return [
        (
            team.team,
            inputs.names[change.run],
            str(measure),
            change.before[n],
            change.after[n],
            change.after[n] - change.before[n],
            change.rank_before[n],
            change.rank_after[n],
        )
        for change in team.changes
        for n, measure in enumerate(inputs.measures)
    ]


def _depth_table(inputs: Inputs, points: Sequence[DepthPoint]) -> Table:
    n_relevant = int((inputs.qrels.grade >= inputs.level).sum())
    rows: list[tuple[Cell, ...]] = [
        (
            point.label,
            point.n_pooled,
            point.n_judged,
            point.n_relevant,
            point.n_relevant / n_relevant if n_relevant else 0.0,
            str(measure),
            point.tau[n],
            point.tau_ap[n],
            point.largest_move[n],
        )
        for point in points
        for n, measure in enumerate(inputs.measures)
    ]
    return Table(
        "depths",
        "shallower pools of these runs: units, those judged, those relevant; the ranking beside that by all qrels",
        ("depth", "pooled", "judged", "relevant", "of_all_relevant", "measure", "tau", "tau_ap", "largest_move"),
        rows,
    )  # fmt: skip


def _topic_table(inputs: Inputs, arguments: argparse.Namespace) -> Table:
    table = Table(
        "topics",
        f"rankings by some topics beside that by all, and by as many others ({arguments.samples} samples, "
        f"seed {arguments.seed})",
        ("measure", "topics", "tau", "low", "high", "split_tau", "swaps"),
    )
    for measure in inputs.measures:
        points = topic_stability(
            inputs.scores(measure),
            seed=arguments.seed,
            n_samples=arguments.samples,
            progress=steps(f"topics, {measure}", is_quiet=arguments.quiet),
        )
        table.rows.extend((str(measure), *point) for point in points)
    return table


def _discrimination(inputs: Inputs, arguments: argparse.Namespace) -> Table:
    table = Table(
        "discrimination",
        f"share of the pairs of runs that randomized Tukey HSD tells apart at {arguments.alpha:g} "
        f"({arguments.permutations} permutations, seed {arguments.seed})",
        ("measure", "pairs", "share", "critical_0.05"),
    )
    n_pairs = len(inputs.names) * (len(inputs.names) - 1) // 2
    for measure in inputs.measures:
        test = tukey_hsd(
            inputs.scores(measure),
            n_permutations=arguments.permutations,
            seed=arguments.seed,
            progress=steps(str(measure), is_quiet=arguments.quiet),
        )
        table.rows.append((str(measure), n_pairs, test.share_told_apart(arguments.alpha), test.critical))
    return table
