"""Shared parts of the commands that analyze runs: options, and what they name."""

import argparse
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeVar

from tqdm import tqdm

from assay.cli.main import NO_PROTOCOL, add, add_seed, check_stdin, positive, share
from assay.cli.tables import add_table_options
from assay.errors import InputError
from assay.research.comparison import Inputs, Randomness, read_inputs
from assay.research.evaluation import Scoring, named_runs

Item = TypeVar("Item")


def add_scoring_options(
    parser: argparse.ArgumentParser,
    *,
    has_measures: bool = True,
    needs_protocol: bool = True,
    needs_qrels: bool = True,
) -> None:
    """Add protocol, qrels, measures, units, and how to print."""
    add(parser, "--protocol", required=needs_protocol, words="" if needs_protocol else NO_PROTOCOL)
    add(parser, "--qrels", required=needs_qrels)
    if has_measures:
        add(parser, "--measure")
    parser.set_defaults(measure=[])
    add(parser, "--average", words="the topics that every run has")
    add(parser, "--level", "--units", "--formulas", "--duplicates", "--ignore-topic-documents")
    add_table_options(parser)


def add_random_options(parser: argparse.ArgumentParser) -> None:
    """Add the seed, the size of randomization tests, and the level of tests and intervals."""
    add_seed(parser)
    parser.add_argument(
        "--permutations",
        type=positive,
        default=10_000,
        metavar="N",
        help="number of permutations of a randomization test (default: 10000)",
    )
    parser.add_argument(
        "--alpha",
        type=share,
        default=0.05,
        help="significance level of tests; intervals have the level 1 - ALPHA (default: 0.05)",
    )


def randomness(arguments: argparse.Namespace) -> Randomness:
    """The options of `add_random_options`."""
    return Randomness(arguments.seed, arguments.permutations, arguments.alpha)


def inputs_of(
    arguments: argparse.Namespace, runs: Mapping[str, str] | None = None, *, keeps_rows: bool = True
) -> Inputs:
    """Read the files that the arguments name, or these runs by their names; `keeps_rows` as for `read_inputs`.

    Raises:
        InputError: A file, the protocol or a measure cannot be used.
    """
    if runs is None:
        runs = named_runs(arguments.runs)
        check_stdin([arguments.qrels, *arguments.runs])
    scoring = Scoring(
        protocol=arguments.protocol,
        average=arguments.average,
        level=arguments.level,
        units=arguments.units,
        formulas=arguments.formulas,
        duplicates=arguments.duplicates,
        ignore_topic_documents=arguments.ignore_topic_documents,
    )
    shown = partial(bar, label="reading", unit="run", is_quiet=arguments.quiet)
    return read_inputs(arguments.qrels, runs, arguments.measure, scoring, shown=shown, keeps_rows=keeps_rows)


def check_ranks(inputs: Inputs) -> None:
    """Refuse runs of generated answers, which have no ranks.

    Raises:
        InputError: The protocol is of generated answers.
    """
    if inputs.protocol.is_of_answers:
        raise InputError(
            f"{inputs.protocol.slug} is of generated answers, which have no ranks; use assay tiers or compare"
        )


def bar(items: Iterable[Item], label: str, unit: str, *, is_quiet: bool) -> "tqdm[Item]":
    """The items, with a progress bar on a terminal."""
    return tqdm(items, desc=label, unit=unit, disable=is_quiet or None, leave=False)


def steps(label: str, *, is_quiet: bool) -> Callable[[int, int], None]:
    """A progress bar on a terminal that a kernel moves: steps done, and steps in total."""
    progress = tqdm(desc=label, disable=is_quiet or None, leave=False)

    def move(done: int, total: int) -> None:
        progress.total = total
        progress.update(done - progress.n)
        if done >= total:
            progress.close()

    return move
