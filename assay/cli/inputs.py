"""Shared parts of the commands that analyze runs: options, qrels and runs, and the scores of all runs by topic."""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from assay.cli.options import STDIN, add, add_seed, names_of_runs, positive, share
from assay.cli.tables import add_table_options
from assay.errors import InputError
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.qrels.reader import read_qrels
from assay.formats.runs.columns import Ranked, RunColumns
from assay.formats.runs.reader import read_run
from assay.formulas.columns import Formulas
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import RunScores
from assay.measures.units import (
    Prepared,
    judged_documents,
    prepare,
    read_units,
    score_prepared,
)
from assay.protocols.loader import load_protocol
from assay.protocols.measures import FAMILIES, Measure, parse_measures, qrels_of
from assay.protocols.schema import Average, Protocol

Item = TypeVar("Item")


def add_scoring_options(parser: argparse.ArgumentParser, *, has_measures: bool = True) -> None:
    """Add protocol, qrels, measures, units, and how to print."""
    add(parser, "--protocol", "--qrels", *(["--measure"] if has_measures else []))
    parser.set_defaults(measure=[])
    add(parser, "--average", words="the topics that every run has")
    add(parser, "--level", "--units", "--formulas", "--duplicates")
    add_table_options(parser)


def add_random_options(parser: argparse.ArgumentParser) -> None:
    """Add the seed, and the sizes of randomization tests and the bootstrap."""
    add_seed(parser)
    sizes = {
        "--permutations": "number of permutations of a randomization test",
        "--resamples": "number of resamples of the bootstrap",
    }
    for name, words in sizes.items():
        parser.add_argument(
            name, type=positive, default=10_000, metavar="N", help=f"{words} (default: 10000)"
        )
    parser.add_argument(
        "--alpha",
        type=share,
        default=0.05,
        help="significance level of tests; intervals have the level 1 - ALPHA (default: 0.05)",
    )


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of an analysis of runs. Arrays of runs are in the order of `names`.

    `rows` are the runs as in their files; `runs` consist of the units that are scored.
    """

    protocol: Protocol
    qrels: QrelsColumns
    names: list[str]
    rows: list[RunColumns]
    formulas: Formulas | None
    measures: list[Measure]
    average: Average
    level: int
    duplicates: str | None = None

    @cached_property
    def _prepared(self) -> list[Prepared]:
        return [prepare(run, self.formulas) for run in self.rows]

    @cached_property
    def runs(self) -> list[Ranked]:
        return [run.ranking for run in self._prepared]

    @cached_property
    def judged(self) -> JudgedDocuments:
        return self.judged_by(self.qrels)

    def judged_by(self, qrels: QrelsColumns) -> JudgedDocuments:
        """Qrels of documents, with the near-duplicates of the file that the arguments name."""
        return judged_documents(qrels, self.duplicates)

    @property
    def in_characters(self) -> bool:
        """True if a measure counts characters of citations; curves then do too."""
        return any(measure.in_characters for measure in self.measures)

    @cached_property
    def _scored(self) -> list[RunScores]:
        scored = []
        for name, run in zip(self.names, self._prepared, strict=True):
            result = score_prepared(run, self.judged, self.measures)
            if result.problem:
                print(f"warning: {name}: {result.problem}", file=sys.stderr)  # noqa: T201
            scored.append(result.scores)
        return scored

    @cached_property
    def is_counted(self) -> NDArray[np.bool_]:
        """(topics of the qrels,) whether runs are compared on the topic.

        Raises:
            InputError: No topic of the qrels is in every run.
        """
        counted = np.ones(self.judged.n_topics, dtype=np.bool_)
        for scores in self._scored:
            counted &= scores.averaged(self.average)
        if not counted.any():
            raise InputError(
                "no topic of the qrels is in every run; --average judged counts a missing topic as 0"
            )
        return counted

    @property
    def topics(self) -> list[str]:
        """Codes of the topics that runs are compared on."""
        codes: list[str] = self.judged.topics[self.is_counted].tolist()
        return codes

    def scores(self, measure: Measure) -> NDArray[np.float64]:
        """(runs, topics) values of a measure, for the topics that runs are compared on."""
        column = self.measures.index(measure)
        return np.array([scores.values[self.is_counted, column] for scores in self._scored])


def read_inputs(arguments: argparse.Namespace) -> Inputs:
    """Read the files that the arguments name.

    Raises:
        InputError: A file, the protocol or a measure cannot be used.
    """
    paths: Sequence[str] = arguments.runs
    repeated = {path for path in paths if paths.count(path) > 1}
    if repeated:
        raise InputError(f"{min(repeated)}: the run is given twice; give each run once")
    if [arguments.qrels, *paths].count(STDIN) > 1:
        raise InputError("standard input (-) can be read only once")
    protocol, names = load_protocol(arguments.protocol), names_of_runs(paths)
    return inputs_of(arguments, protocol, list(names.values()), list(names))


def inputs_of(
    arguments: argparse.Namespace, protocol: Protocol, run_names: list[str], paths: Sequence[str]
) -> Inputs:
    """Read the files, with a protocol that is loaded and names of the runs that are known."""
    measures = list(parse_measures(arguments.measure or protocol.scoring.measures))
    for measure in measures:
        if FAMILIES[measure.family].summary != "mean":
            raise InputError(f"{measure} is not a mean over topics; tests and intervals only compare means")
    units = read_units(protocol, arguments.units, arguments.formulas)
    qrels = read_qrels(arguments.qrels, protocol, kind=qrels_of(measures))
    shown = bar(paths, "reading", "run", is_quiet=arguments.quiet)
    rows = [read_run(path, protocol, units.formats) for path in shown]
    average = arguments.average or protocol.scoring.average
    level = arguments.level or protocol.scoring.relevant_from
    return Inputs(
        protocol, qrels, run_names, rows, units.formulas, measures, average, level, arguments.duplicates
    )


def bar(items: Sequence[Item], label: str, unit: str, *, is_quiet: bool) -> "tqdm[Item]":
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
