"""Runs in order, with intervals, and the tiers that a randomized Tukey HSD test does not tell apart."""

import argparse

import numpy as np

from assay.cli.inputs import Inputs, add_common, add_lots, read_inputs, steps
from assay.cli.output import run_command
from assay.protocols.measures import Measure
from assay.statistics.intervals import bootstrap
from assay.statistics.rank_correlation import ranks
from assay.statistics.significance import PairTest, paired_t, randomization
from assay.statistics.tukey import letters, tiers, tukey_hsd
from assay.tables import Cell, Table

EXAMPLE = "assay tiers --protocol arqmath-2021-task1 --qrels qrels.txt run1.tsv run2.tsv run3.tsv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tiers`."""
    add_common(parser)
    add_lots(parser)
    parser.add_argument(
        "--pairs", action="store_true", help="also every two runs, with the p-values of each test"
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run files, plain, gz, xz or zip")


def run(arguments: argparse.Namespace) -> int:
    """Print ranking, tests and pairs."""
    return run_command("tiers", _tables, arguments)


def _tables(arguments: argparse.Namespace) -> list[Table]:
    inputs = read_inputs(arguments, arguments.runs)
    drawn = f"{arguments.permutations} permutations, seed {arguments.seed}"
    ranking = Table(
        "ranking",
        f"mean with its {1 - arguments.alpha:g} interval; runs that share a letter are not told apart",
        ("measure", "rank", "run", "mean", "low", "high", "tier"),
    )
    tests = Table(
        "tests",
        f"pairs that randomized Tukey HSD tells apart at {arguments.alpha:g} ({drawn})",
        ("measure", "topics", "pairs", "told_apart", "share", "critical_0.05"),
    )
    pairs = Table(
        "pairs",
        f"every two runs; Holm's p-values hold for all pairs together, and so do Tukey's ({drawn})",
        ("measure", "first", "second", "difference", "p_tukey", "p_randomisation", "p_randomisation_holm",
         "p_t", "p_t_holm"),
    )  # fmt: skip
    is_by_pair = arguments.pairs or arguments.table == pairs.name
    for measure in inputs.measures:
        tukey = tukey_hsd(
            inputs.scores(measure),
            n_permutations=arguments.permutations,
            seed=arguments.seed,
            progress=steps(str(measure), is_quiet=arguments.quiet),
        )
        ranking.rows.extend(_ranking(inputs, measure, tukey, arguments))
        tests.rows.append(_test(inputs, measure, tukey, arguments.alpha))
        if is_by_pair:
            pairs.rows.extend(_pairs(inputs, measure, tukey, arguments))
    return [ranking, tests, pairs] if is_by_pair else [ranking, tests]


def _ranking(
    inputs: Inputs, measure: Measure, tukey: PairTest, arguments: argparse.Namespace
) -> list[tuple[Cell, ...]]:
    intervals = bootstrap(
        inputs.scores(measure),
        seed=arguments.seed,
        level=1 - arguments.alpha,
        n_resamples=arguments.resamples,
    )
    places = ranks(tukey.means).tolist()
    named = letters(tiers(tukey, arguments.alpha), len(inputs.names))
    return [
        (
            str(measure),
            places[i],
            inputs.names[i],
            float(tukey.means[i]),
            float(intervals.low[i]),
            float(intervals.high[i]),
            named[i],
        )
        for i in np.argsort(-tukey.means, kind="stable").tolist()
    ]


def _test(inputs: Inputs, measure: Measure, tukey: PairTest, alpha: float) -> tuple[Cell, ...]:
    n_pairs = len(inputs.names) * (len(inputs.names) - 1) // 2
    n_apart = int(np.triu(tukey.told_apart(alpha), 1).sum())
    return str(measure), len(inputs.topics), n_pairs, n_apart, tukey.share_told_apart(alpha), tukey.critical


def _pairs(
    inputs: Inputs, measure: Measure, tukey: PairTest, arguments: argparse.Namespace
) -> list[tuple[Cell, ...]]:
    scores = inputs.scores(measure)
    drawn = randomization(scores, n_permutations=arguments.permutations, seed=arguments.seed)
    student = paired_t(scores)
    order = np.argsort(-tukey.means, kind="stable").tolist()
    values = (tukey.difference, tukey.p, drawn.p, drawn.adjusted, student.p, student.adjusted)
    return [
        (str(measure), inputs.names[i], inputs.names[j], *(float(value[i, j]) for value in values))
        for place, i in enumerate(order)
        for j in order[place + 1 :]
    ]
