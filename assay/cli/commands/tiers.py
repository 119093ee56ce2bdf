"""Rank runs, with confidence intervals and tiers. Runs of a tier do not differ significantly (randomized Tukey HSD)."""

import argparse
from functools import partial

from assay.cli.inputs import add_random_options, add_scoring_options, inputs_of, randomness, steps
from assay.cli.main import add
from assay.cli.tables import print_tables
from assay.research.comparison import Tiers

EXAMPLE = "assay tiers --protocol arqmath-2020-task1 --qrels qrels.txt runs/abacus.tsv runs/lemma.tsv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_scoring_options(parser, needs_protocol=False)
    add_random_options(parser)
    parser.add_argument(
        "--pairs", action="store_true", help="also print every two runs, with the p-values of each test"
    )
    add(parser, "runs")


def run(arguments: argparse.Namespace) -> int:
    has_pairs = arguments.pairs or arguments.table == "pairs"
    progress = partial(steps, is_quiet=arguments.quiet)
    result = Tiers(inputs_of(arguments, keeps_rows=False), randomness(arguments), has_pairs, progress)
    return print_tables(result.tables, arguments)
