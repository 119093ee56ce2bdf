"""Test whether qrels can score runs that were not pooled: leave out a team, pool less deep, use fewer topics."""

import argparse
import math
from collections.abc import Sequence

from assay.cli.inputs import add_random_options, add_scoring_options, bar, check_ranks, inputs_of, steps
from assay.cli.main import add, positive
from assay.cli.tables import print_tables
from assay.formats.manifest import read_manifest
from assay.pools.depth import PooledUnits
from assay.pools.strategies import PoolInput, build_pool
from assay.protocols.loader import load_protocol
from assay.research.comparison import Inputs
from assay.statistics.tukey import tukey_of_measures
from assay.tables import Cell, Table
from assay_extensions.analyses.reusability import (
    DepthPoint,
    Scoring,
    TeamLeftOut,
    depth_curve,
    leave_one_team_out,
)
from assay_extensions.analyses.topic_stability import N_SAMPLES, topic_stability

STEPS = 10  # depths of the curve, in equal steps to the protocol's

EXAMPLE = "assay reuse --protocol arqmath-2020-task1 --qrels qrels.txt --runs manifest.csv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_scoring_options(parser)
    add(parser, "--runs")
    add_random_options(parser)
    parser.add_argument(
        "--samples",
        type=positive,
        default=N_SAMPLES,
        metavar="N",
        help=f"number of random samples of topics (default: {N_SAMPLES})",
    )


def run(arguments: argparse.Namespace) -> int:
    protocol = load_protocol(arguments.protocol)
    runs = read_manifest(arguments.runs, protocol)
    inputs = inputs_of(arguments, {listed.tag: str(listed.file) for listed in runs})
    check_ranks(inputs)
    pooled = [
        PoolInput(rows, listed.team, listed.tag, listed.kind, listed.pooled_as)
        for rows, listed in zip(inputs.rows, runs, strict=True)
    ]
    whole = Scoring(
        inputs.runs, inputs.qrels, inputs.measures, inputs.average, inputs.level, inputs.judged_by
    )
    is_quiet = arguments.quiet
    teams = leave_one_team_out(
        whole,
        _pool(pooled, inputs, arguments.seed, 1.0),
        [listed.team for listed in pooled],
        progress=steps("teams", is_quiet=is_quiet),
    )
    # a protocol without depths has only one pool
    parts = range(1, STEPS + 1) if inputs.protocol.runs.depths else [STEPS]
    depths = depth_curve(
        whole,
        [
            (f"{part / STEPS:.0%}", _pool(pooled, inputs, arguments.seed, part / STEPS))
            for part in bar(parts, "pooling", "depth", is_quiet=is_quiet)
        ],
        progress=steps("depths", is_quiet=is_quiet),
    )
    tables = [
        *_team_tables(inputs, teams),
        _depth_table(inputs, depths),
        _topic_table(inputs, arguments),
        _discrimination_table(inputs, arguments),
    ]
    return print_tables(tables, arguments)


def _pool(pooled: Sequence[PoolInput], inputs: Inputs, seed: int, part: float) -> PooledUnits:
    """The pool of these runs, to a part of the depth of each kind but at least one rank."""
    protocol, formulas = inputs.protocol, inputs.formulas
    depth = {kind: math.ceil(part * k) for kind, k in protocol.runs.depths.items()}
    return build_pool(pooled, protocol=protocol, seed=seed, depth=depth, formulas=formulas).units


def _team_tables(inputs: Inputs, teams: Sequence[TeamLeftOut]) -> list[Table]:
    left_out = Table(
        "teams",
        f"units that only one team contributed to the pool: all, judged, and relevant from grade {inputs.level}",
        ("team", "runs", "pooled_alone", "judged_alone", "relevant_alone"),
        [(team.team, len(team.changes), team.n_pooled, team.n_judged, team.n_relevant) for team in teams],
    )
    changes = Table(
        "left_out",
        "score and rank of each run without the judgments of units that only its team contributed",
        ("team", "run", "measure", "with", "without", "change", "rank_with", "rank_without"),
        [
            (
                *(team.team, inputs.names[change.run], str(measure), change.before[n], change.after[n]),
                *(change.after[n] - change.before[n], change.rank_before[n], change.rank_after[n]),
            )
            for team in teams
            for change in team.changes
            for n, measure in enumerate(inputs.measures)
        ],
    )
    taus = Table(
        "left_out_tau",
        "Kendall's tau-b of the rankings of all runs with and without the units that only the team contributed",
        ("team", "measure", "tau"),
        [
            (team.team, str(measure), tau)
            for team in teams
            for measure, tau in zip(inputs.measures, team.tau, strict=True)
        ],
    )
    return [left_out, changes, taus]


def _depth_table(inputs: Inputs, points: Sequence[DepthPoint]) -> Table:
    n_relevant = int((inputs.qrels.grade >= inputs.level).sum())
    rows: list[tuple[Cell, ...]] = [
        (
            *(point.label, point.n_pooled, point.n_judged, point.n_relevant),
            *(point.n_relevant / n_relevant if n_relevant else 0.0, str(measure)),
            *(point.tau[n], point.tau_ap[n], point.largest_move[n]),
        )
        for point in points
        for n, measure in enumerate(inputs.measures)
    ]
    return Table(
        "depths",
        "shallower pools of these runs: units, judged and relevant ones; the ranking compared with that by all qrels",
        ("depth", "pooled", "judged", "relevant", "of_all_relevant", "measure", "tau", "tau_ap", "largest_move"),
        rows,
    )  # fmt: skip


def _topic_table(inputs: Inputs, arguments: argparse.Namespace) -> Table:
    table = Table(
        "topics",
        f"rankings by some topics compared with that by all, and that by as many others ({arguments.samples} samples, "
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


def _discrimination_table(inputs: Inputs, arguments: argparse.Namespace) -> Table:
    table = Table(
        "discrimination",
        f"share of the pairs of runs that differ significantly by randomized Tukey HSD at {arguments.alpha:g} "
        f"({arguments.permutations} permutations, seed {arguments.seed})",
        ("measure", "pairs", "share", "critical_0.05"),
    )
    n_pairs = len(inputs.names) * (len(inputs.names) - 1) // 2
    tests = tukey_of_measures(
        [inputs.scores(measure) for measure in inputs.measures],
        n_permutations=arguments.permutations,
        seed=arguments.seed,
        progress=steps(", ".join(map(str, inputs.measures)), is_quiet=arguments.quiet),
    )
    for measure, test in zip(inputs.measures, tests, strict=True):
        is_tested = len(inputs.topics) > 1  # a single topic does not show how much values vary
        numbers = (test.share_significant(arguments.alpha), test.critical) if is_tested else (None, None)
        table.rows.append((str(measure), n_pairs, *numbers))
    return table
