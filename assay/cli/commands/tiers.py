"""Rank runs, with confidence intervals and tiers. Runs of a tier do not differ significantly (randomized Tukey HSD)."""

import argparse

import numpy as np

from assay.cli.inputs import Inputs, add_random_options, add_scoring_options, read_inputs, steps
from assay.cli.options import add
from assay.cli.tables import print_tables
from assay.protocols.measures import Measure
from assay.statistics.intervals import bootstrap
from assay.statistics.rank_correlation import ranks
from assay.statistics.significance import PairTest, paired_t, permutations_for, randomization, wilcoxon
from assay.statistics.tukey import letters, tiers, tukey_hsd
from assay.tables import Cell, Table

EXAMPLE = "assay tiers --protocol arqmath-2020-task1 --qrels qrels.txt runs/abacus.tsv runs/lemma.tsv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_scoring_options(parser)
    add_random_options(parser)
    parser.add_argument(
        "--pairs", action="store_true", help="also print every two runs, with the p-values of each test"
    )
    add(parser, "runs")


def run(arguments: argparse.Namespace) -> int:
    inputs = read_inputs(arguments)
    permutations = f"{arguments.permutations} permutations, seed {arguments.seed}"
    ranking = Table(
        "ranking",
        f"mean with its {1 - arguments.alpha:g} interval; runs that share a letter do not differ significantly",
        ("measure", "rank", "run", "mean", "low", "high", "tier"),
    )
    tests = Table(
        "tests",
        f"pairs that differ significantly by randomized Tukey HSD at {arguments.alpha:g} ({permutations})",
        ("measure", "topics", "pairs", "significant", "share", "critical_0.05"),
    )
    n_of_holm = max(arguments.permutations, permutations_for(len(inputs.names)))
    of_holm = f", {n_of_holm} for Holm" if n_of_holm > arguments.permutations else ""
    pairs = Table(
        "pairs",
        f"every two runs; the p-values of Holm and Tukey are adjusted for all pairs ({permutations}{of_holm})",
        ("measure", "first", "second", "difference", "p_tukey",
         "p_randomization", "p_randomization_holm", "p_t", "p_t_holm", "p_wilcoxon", "p_wilcoxon_holm"),
    )  # fmt: skip
    is_by_pair = arguments.pairs or arguments.table == pairs.name
    for measure in inputs.measures:
        tukey = tukey_hsd(
            inputs.scores(measure),
            n_permutations=arguments.permutations,
            seed=arguments.seed,
            progress=steps(str(measure), is_quiet=arguments.quiet),
        )
        intervals = bootstrap(
            inputs.scores(measure),
            seed=arguments.seed,
            level=1 - arguments.alpha,
            n_resamples=arguments.resamples,
        )
        columns = (tukey.means, intervals.low, intervals.high)
        run_ranks = ranks(tukey.means).tolist()
        run_letters = letters(tiers(tukey, arguments.alpha), len(inputs.names))
        for i in np.argsort(-tukey.means, kind="stable").tolist():
            numbers = (float(column[i]) for column in columns)
            ranking.rows.append((str(measure), run_ranks[i], inputs.names[i], *numbers, run_letters[i]))
        n_pairs = len(inputs.names) * (len(inputs.names) - 1) // 2
        n_apart = int(np.triu(tukey.is_significant(arguments.alpha), 1).sum())
        share = tukey.share_significant(arguments.alpha)
        tests.rows.append((str(measure), len(inputs.topics), n_pairs, n_apart, share, tukey.critical))
        if is_by_pair:
            pairs.rows.extend(_pairs(inputs, measure, tukey, arguments))
    tables = [ranking, tests, pairs] if is_by_pair else [ranking, tests]
    return print_tables(tables, arguments)


def _pairs(
    inputs: Inputs, measure: Measure, tukey: PairTest, arguments: argparse.Namespace
) -> list[tuple[Cell, ...]]:
    scores = inputs.scores(measure)
    n_permutations = max(arguments.permutations, permutations_for(len(inputs.names)))
    permuted = randomization(scores, n_permutations=n_permutations, seed=arguments.seed)
    tests = (permuted, paired_t(scores), wilcoxon(scores))
    order = np.argsort(-tukey.means, kind="stable").tolist()
    values = (tukey.difference, tukey.p, *(p for test in tests for p in (test.p, test.adjusted)))
    return [
        (str(measure), inputs.names[i], inputs.names[j], *(float(value[i, j]) for value in values))
        for place, i in enumerate(order)
        for j in order[place + 1 :]
    ]
