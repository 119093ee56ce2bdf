"""Compare two runs: their difference by topic, its significance, and how similar their rankings are."""

import argparse

import numpy as np

from assay.cli.inputs import Inputs, add_random_options, add_scoring_options, read_inputs
from assay.cli.options import add, share
from assay.cli.tables import print_tables
from assay.measures.scores import ALL
from assay.protocols.measures import Measure
from assay.statistics.intervals import bootstrap
from assay.statistics.rank_correlation import overlap_of_runs
from assay.statistics.significance import paired_t, randomization, t_statistics, wilcoxon
from assay.tables import Cell, Table

EXAMPLE = "assay compare --protocol arqmath-2020-task1 --qrels qrels.txt runs/abacus.tsv runs/lemma.tsv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_scoring_options(parser)
    add_random_options(parser)
    parser.add_argument(
        "--persistence",
        type=share,
        default=0.9,
        metavar="P",
        help="persistence of rank-biased overlap: the probability that a reader goes to the next rank (default: 0.9)",
    )
    add(parser, "runs", nargs=2)


def run(arguments: argparse.Namespace) -> int:
    inputs = read_inputs(arguments)
    overlap = overlap_of_runs(*inputs.runs, p=arguments.persistence)
    counted = {code: values for code, values in overlap.items() if code in set(inputs.topics)}
    by_topic: list[tuple[Cell, ...]] = [(code, *values) for code, values in counted.items()]
    if counted:
        by_topic.insert(0, (ALL, *np.mean(list(counted.values()), axis=0).tolist()))
    first, second = inputs.names
    tables = [
        Table(
            "summary",
            f"means of {first} and {second}; intervals and p-values of the difference, seed {arguments.seed}",
            ("measure", "topics", "first", "second", "mean_first", "mean_second", "difference", "low", "high",
             "wins", "ties", "losses", "t", "p_t", "p_randomization", "p_wilcoxon"),
            [_summary(inputs, measure, arguments) for measure in inputs.measures],
        ),
        Table(
            "overlap",
            f"rank-biased overlap of the runs, p = {arguments.persistence:g}: lower bound, residual, point estimate",
            ("topic", "minimum", "residual", "extrapolated"),
            by_topic,
        ),
        Table(
            "topics",
            f"values by topic: first {first}, second {second}; a positive difference favors the first",
            ("measure", "topic", "first", "second", "difference"),
            [
                (str(measure), topic, value, other, value - other)
                for measure in inputs.measures
                for topic, value, other in zip(inputs.topics, *inputs.scores(measure).tolist(), strict=True)
            ],
        ),
    ]  # fmt: skip
    return print_tables(tables, arguments)


def _summary(inputs: Inputs, measure: Measure, arguments: argparse.Namespace) -> tuple[Cell, ...]:
    scores = inputs.scores(measure)
    differences = scores[:1] - scores[1:]
    interval = bootstrap(
        differences, seed=arguments.seed, level=1 - arguments.alpha, n_resamples=arguments.resamples
    )
    permuted = randomization(scores, n_permutations=arguments.permutations, seed=arguments.seed)
    is_tied = np.isclose(differences, 0.0, atol=1e-12)
    wins = int(((differences > 0) & ~is_tied).sum())
    ties = int(is_tied.sum())
    n = scores.shape[1]
    p_values = (float(test.p[0, 1]) for test in (paired_t(scores), permuted, wilcoxon(scores)))
    return (
        *(str(measure), n, *inputs.names, *scores.mean(axis=1).tolist()),
        *(float(interval.means[0]), float(interval.low[0]), float(interval.high[0])),
        *(wins, ties, n - wins - ties, float(t_statistics(scores)[0, 1]), *p_values),
    )
