"""Compare two runs: their difference by topic, its significance, and how similar their rankings are.

Without --qrels, it says how similar the rankings are.
"""

import argparse

from assay.cli.inputs import add_random_options, add_scoring_options, inputs_of, randomness
from assay.cli.main import add, check_stdin, share
from assay.cli.tables import print_tables
from assay.errors import InputError
from assay.measures.scores import prepare
from assay.research.comparison import Comparison, Randomness, overlap_table
from assay.research.evaluation import Scoring, named_runs, run_from_any
from assay.tables import Table

EXAMPLE = "assay compare --protocol arqmath-2020-task1 --qrels qrels.txt runs/abacus.tsv runs/lemma.tsv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_scoring_options(parser, needs_protocol=False, needs_qrels=False)
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
    if arguments.qrels is None:
        return print_tables([_overlap(arguments)], arguments)
    comparison = Comparison(inputs_of(arguments), randomness(arguments), arguments.persistence)
    return print_tables(comparison.tables, arguments)


def _overlap(arguments: argparse.Namespace) -> Table:
    tests = Randomness()
    defaults = {"seed": tests.seed, "permutations": tests.permutations, "alpha": tests.alpha, "measure": []}
    for name in ("measure", "average", "level", "duplicates", "seed", "permutations", "alpha"):
        if getattr(arguments, name) != defaults.get(name):
            raise InputError(f"--{name} needs --qrels; without it, only the rankings are compared")
    check_stdin(arguments.runs)
    scoring = Scoring(
        protocol=arguments.protocol,
        units=arguments.units,
        formulas=arguments.formulas,
        ignore_topic_documents=arguments.ignore_topic_documents,
    )
    units = scoring.read_units(scoring.rules)
    first, second = (
        prepare(run_from_any(path, name, scoring.rules, units.formats), units.formulas).ranking
        for name, path in named_runs(arguments.runs).items()
    )
    return overlap_table(first, second, persistence=arguments.persistence)
