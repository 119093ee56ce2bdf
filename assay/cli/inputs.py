"""What the commands of analysis share: arguments, reading of qrels and runs, and the scores by topic of all runs."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from assay.cli.units import add_unit_arguments, read_units
from assay.evaluation.files import STDIN, InputError, names, read_qrels, read_run
from assay.evaluation.protocol_rules import measures_of
from assay.evaluation.units import Units
from assay.formats.qrels.reader import QrelsColumns
from assay.formats.runs.columns import Ranked, RunColumns
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import RunScores, score_run
from assay.protocols.loader import load_protocol
from assay.protocols.measures import FAMILIES, Measure
from assay.protocols.schema import Average, Protocol

Item = TypeVar("Item")

SEED = 1


def add_common(parser: argparse.ArgumentParser) -> None:
    """Protocol, qrels, measures, and how to print."""
    parser.add_argument(
        "--protocol", required=True, help="slug of a shipped protocol, or path of a .toml file"
    )
    parser.add_argument(
        "--qrels", required=True, help="qrels file: topic, 0, docno, grade; - for standard input"
    )
    parser.add_argument(
        "--measure",
        action="append",
        default=[],
        metavar="M",
        help="a measure instead of the protocol's, such as \"nDCG'\"; may be given several times",
    )
    parser.add_argument(
        "--average",
        choices=["judged", "common"],
        help="topics compared on: all of the qrels, a missing one counting 0, or those alone that every run has "
        "(default: as the protocol says)",
    )
    parser.add_argument(
        "--level",
        type=positive,
        help="grade from which a document counts as relevant (default: the protocol's)",
    )
    add_unit_arguments(parser)
    add_printing(parser)


def add_printing(parser: argparse.ArgumentParser) -> None:
    """Form of the output, and progress."""
    parser.add_argument("--format", choices=["tsv", "json"], default="tsv")
    parser.add_argument("--table", metavar="NAME", help="print this table only")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")


def add_lots(parser: argparse.ArgumentParser) -> None:
    """What is drawn, and by which seed."""
    parser.add_argument("--seed", type=seed, default=SEED, help=f"of all lots drawn (default: {SEED})")
    parser.add_argument(
        "--permutations",
        type=positive,
        default=10_000,
        metavar="N",
        help="of randomization tests (default: 10000)",
    )
    parser.add_argument(
        "--resamples", type=positive, default=10_000, metavar="N", help="of the bootstrap (default: 10000)"
    )
    parser.add_argument(
        "--alpha",
        type=share,
        default=0.05,
        help="of the tests, and 1 - level of the intervals (default: 0.05)",
    )


def positive(text: str) -> int:
    """A whole number from 1."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 10**7:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 10000000")
    return int(text)


def seed(text: str) -> int:
    """A whole number from 0."""
    if not text.isascii() or not text.isdigit() or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2^63 - 1")
    return int(text)


def share(text: str) -> float:
    """A number between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number between 0 and 1")
    return value


@dataclass(frozen=True, eq=False)
class Inputs:
    """Everything that an analysis of runs starts from. Arrays of runs are in the order of `names`.

    `rows` are the runs as their files have them; `runs` are made of the units that are scored.
    """

    protocol: Protocol
    qrels: QrelsColumns
    names: list[str]
    rows: list[RunColumns]
    units: Units
    measures: list[Measure]
    average: Average
    level: int

    @cached_property
    def runs(self) -> list[Ranked]:
        return [self.units.prepared(run).ranking for run in self.rows]

    @cached_property
    def judged(self) -> JudgedDocuments:
        return JudgedDocuments(self.qrels)

    @cached_property
    def _scored(self) -> list[RunScores]:
        return [score_run(run, self.judged, self.measures) for run in self.runs]

    @cached_property
    def is_counted(self) -> NDArray[np.bool_]:
        """(topics of the qrels,) those that runs are compared on.

        Raises
        ------
        InputError
            There is none: no topic of the qrels is in every run.
        """
        counted = np.ones(self.judged.n_topics, dtype=np.bool_)
        for scores in self._scored:
            counted &= scores.averaged(self.average)
        if not counted.any():
            raise InputError(
                "no topic of the qrels is in every run; --average judged counts a missing one as 0"
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
    """Read what the arguments name.

    Raises
    ------
    InputError
        A file cannot be used, or a measure is no mean over topics.
    ProtocolError, MeasureError, NotComputed, UnknownForm
        Protocol or measures cannot be used.
    """
    check_runs(paths)
    if [arguments.qrels, *paths].count(STDIN) > 1:
        raise InputError("standard input (-) can be read once only")
    protocol = load_protocol(arguments.protocol)
    called = names(paths)
    return inputs_of(arguments, protocol, list(called.values()), list(called))


def inputs_of(
    arguments: argparse.Namespace, protocol: Protocol, called: list[str], paths: Sequence[str]
) -> Inputs:
    """The same, with names of the runs and a protocol that is read already."""
    measures = means_only(measures_of(protocol, arguments.measure))
    units = read_units(arguments, protocol)
    qrels = read_qrels(arguments.qrels)
    rows = [read_run(path, protocol) for path in bar(paths, "reading", "run", is_quiet=arguments.quiet)]
    average = arguments.average or protocol.scoring.average
    level = arguments.level or protocol.scoring.relevant_from
    return Inputs(protocol, qrels, called, rows, units, measures, average, level)


def check_runs(paths: Sequence[str]) -> None:
    """Raises InputError if a run is named twice: it would be compared with itself."""
    repeated = {path for path in paths if paths.count(path) > 1}
    if repeated:
        raise InputError(f"{min(repeated)}: named twice")


def means_only(measures: Sequence[Measure]) -> list[Measure]:
    """The measures, all of them means over topics: tests and intervals compare means.

    Raises
    ------
    InputError
        One is summed up otherwise.
    """
    for measure in measures:
        if FAMILIES[measure.family].summary != "mean":
            raise InputError(f"{measure} is no mean over topics; tests and intervals compare means alone")
    return list(measures)


def bar(items: Sequence[Item], what: str, unit: str, *, is_quiet: bool) -> "tqdm[Item]":
    """The items, with a bar on a terminal."""
    return tqdm(items, desc=what, unit=unit, disable=is_quiet or None, leave=False)


def steps(what: str, *, is_quiet: bool) -> Callable[[int, int], None]:
    """A bar on a terminal that a kernel moves: what is done, of how much."""
    shown = tqdm(desc=what, disable=is_quiet or None, leave=False)

    def move(done: int, total: int) -> None:
        shown.total = total
        shown.update(done - shown.n)
        if done >= total:
            shown.close()

    return move
