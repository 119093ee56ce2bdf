"""Compare two runs: their difference by topic, its significance, and how similar their rankings are."""

import argparse

from assay.cli.inputs import add_random_options, add_scoring_options, inputs_of, randomness
from assay.cli.main import add, share
from assay.cli.tables import print_tables
from assay.research.comparison import Comparison

EXAMPLE = "assay compare --protocol arqmath-2020-task1 --qrels qrels.txt runs/abacus.tsv runs/lemma.tsv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_scoring_options(parser, needs_protocol=False)
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
    comparison = Comparison(inputs_of(arguments), randomness(arguments), arguments.persistence)
    return print_tables(comparison.tables, arguments)
