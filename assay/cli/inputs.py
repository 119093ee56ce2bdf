"""What the commands that analyze runs share: options, qrels and runs, and the scores of all runs by topic."""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from assay.cli.options import (
    RUN_FILE,
    STDIN,
    add_average,
    add_duplicates,
    add_level,
    add_measures,
    add_protocol,
    add_qrels,
    add_seed,
    add_units,
    names_of_runs,
    positive,
    share,
)
from assay.cli.tables import add_table_options
from assay.errors import InputError
from assay.evaluation.duplicates import read_duplicates
from assay.evaluation.units import (
    FORMATS_OF_VISUAL_IDS,
    VISUAL_IDS,
    Prepared,
    prepare,
    read_units,
    why_unjudged,
)
from assay.formats.qrels.reader import QrelsColumns, read_qrels
from assay.formats.runs.columns import Ranked, RunColumns
from assay.formats.runs.reader import read_run
from assay.formulas.columns import Formulas
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import RunScores, score_hits
from assay.protocols.loader import load_protocol
from assay.protocols.measures import FAMILIES, Measure, parse_measures
from assay.protocols.schema import Average, Protocol

Item = TypeVar("Item")


def add_scoring_options(parser: argparse.ArgumentParser, *, has_measures: bool = True) -> None:
    """Add protocol, qrels, measures, units, and how to print."""
    add_protocol(parser)
    add_qrels(parser)
    if has_measures:
        add_measures(parser)
    else:
        parser.set_defaults(measure=[])
    add_average(parser, "the topics that every run has")
    add_level(parser)
    add_units(parser)
    add_duplicates(parser)
    add_table_options(parser)


def add_runs(parser: argparse.ArgumentParser) -> None:
    """Add the run files."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help=RUN_FILE)


def add_random_options(parser: argparse.ArgumentParser) -> None:
    """Add the seed, and the sizes of randomization tests and the bootstrap."""
    add_seed(parser)
    parser.add_argument(
        "--permutations",
        type=positive,
        default=10_000,
        metavar="N",
        help="number of permutations of a randomization test (default: 10000)",
    )
    parser.add_argument(
        "--resamples",
        type=positive,
        default=10_000,
        metavar="N",
        help="number of resamples of the bootstrap (default: 10000)",
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
        if self.formulas is None:
            return [Prepared(run) for run in self.rows]
        return [prepare(run, self.formulas) for run in self.rows]

    @cached_property
    def runs(self) -> list[Ranked]:
        return [run.ranking for run in self._prepared]

    @cached_property
    def judged(self) -> JudgedDocuments:
        return self.judged_by(self.qrels)

    def judged_by(self, qrels: QrelsColumns) -> JudgedDocuments:
        """Qrels of documents, with the near-duplicates of the file that the arguments name.

        Raises
        ------
        InputError
            The file cannot be used.
        """
        if self.duplicates is None:
            return JudgedDocuments(qrels)
        return JudgedDocuments(*read_duplicates(self.duplicates, qrels))

    @property
    def in_characters(self) -> bool:
        """Whether a measure counts characters of citations; curves then do too."""
        return any(measure.in_characters for measure in self.measures)

    @cached_property
    def _scored(self) -> list[RunScores]:
        return [self._score(name, run) for name, run in zip(self.names, self._prepared, strict=True)]

    def _score(self, name: str, run: Prepared) -> RunScores:
        hits = self.judged.hits(run.ranking)
        problem = why_unjudged(run, self.judged, hits)
        if problem:
            print(f"warning: {name}: {problem}", file=sys.stderr)  # noqa: T201
        return score_hits(hits, self.judged, self.measures)

    @cached_property
    def is_counted(self) -> NDArray[np.bool_]:
        """(topics of the qrels,) whether runs are compared on the topic.

        Raises
        ------
        InputError
            No topic of the qrels is in every run.
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


def read_inputs(arguments: argparse.Namespace, paths: Sequence[str]) -> Inputs:
    """Read the files that the arguments name.

    Raises
    ------
    InputError
        A file, the protocol or a measure cannot be used.
    """
    repeated = {path for path in paths if paths.count(path) > 1}
    if repeated:
        raise InputError(f"{min(repeated)}: the run is given twice; give each run once")
    if [arguments.qrels, *paths].count(STDIN) > 1:
        raise InputError("standard input (-) can be read only once")
    protocol = load_protocol(arguments.protocol)
    run_names = names_of_runs(paths)
    return inputs_of(arguments, protocol, list(run_names.values()), list(run_names))


def inputs_of(
    arguments: argparse.Namespace, protocol: Protocol, run_names: list[str], paths: Sequence[str]
) -> Inputs:
    """Read the files, with a protocol that is loaded and names of the runs that are known."""
    measures = _only_means(parse_measures(arguments.measure or protocol.scoring.measures))
    formulas = read_units(protocol, arguments.units, arguments.formulas)
    qrels = read_qrels(arguments.qrels, protocol)
    formats = FORMATS_OF_VISUAL_IDS if arguments.units == VISUAL_IDS else ()
    rows = [
        read_run(path, protocol, formats) for path in bar(paths, "reading", "run", is_quiet=arguments.quiet)
    ]
    average = arguments.average or protocol.scoring.average
    level = arguments.level or protocol.scoring.relevant_from
    return Inputs(protocol, qrels, run_names, rows, formulas, measures, average, level, arguments.duplicates)


def _only_means(measures: Sequence[Measure]) -> list[Measure]:
    for measure in measures:
        if FAMILIES[measure.family].summary != "mean":
            raise InputError(f"{measure} is not a mean over topics; tests and intervals only compare means")
    return list(measures)


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
