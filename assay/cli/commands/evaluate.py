"""Score runs with qrels: the measures of the protocol, or those that you name, averaged over topics."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from assay.cli.options import (
    RUN_FILE,
    add_average,
    add_format,
    add_measures,
    add_processes,
    add_protocol,
    add_qrels,
    add_quiet,
)
from assay.cli.units import add_unit_arguments, read_units
from assay.errors import InputError
from assay.evaluation.files import STDIN, names, read_judged, read_run
from assay.evaluation.score_table import HEADER, ScoreRow, as_json, as_tsv, score_rows
from assay.evaluation.units import Units
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import RunScores, measures_of, score_run
from assay.processes import map_forked, processors
from assay.protocols.loader import load_protocol
from assay.protocols.measures import Measure
from assay.protocols.schema import Average, Protocol

SMALL = 2 << 20  # bytes; starting a second process takes longer than reading fewer bytes

EXAMPLE = "assay evaluate --protocol arqmath-2020-task1 --qrels qrels.txt runs/abacus.tsv runs/lemma.tsv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_protocol(parser)
    add_qrels(parser)
    add_measures(parser)
    add_average(parser, "the topics that the run has")
    add_unit_arguments(parser)
    parser.add_argument(
        "--scale",
        type=int,
        default=1,
        metavar="N",
        help="multiply every grade of the qrels by N, so that fractions become whole numbers; multiply grades in names "
        "of measures likewise (default: 1)",
    )
    parser.add_argument(
        "--duplicates",
        metavar="FILE",
        help="near-duplicates: topic, docno, and the docno that was judged instead, per line; a repeated one is not "
        "relevant",
    )
    parser.add_argument(
        "--per-topic", action="store_true", help="also print the value of each topic before the mean"
    )
    add_format(parser, "tsv", "json")
    add_processes(parser)
    add_quiet(parser)
    parser.add_argument("runs", nargs="+", metavar="RUN", help=RUN_FILE)


def run(arguments: argparse.Namespace) -> int:
    rows = _score_all(_read_request(arguments), arguments)
    text = as_json(rows) if arguments.format == "json" else as_tsv(HEADER, [row.cells() for row in rows])
    sys.stdout.write(text)
    return 0


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for."""

    protocol: Protocol
    judged: JudgedDocuments
    measures: list[Measure]
    average: Average
    units: Units


class Scored(NamedTuple):
    """The scores of a run, how many topics the run has, and a note on its units."""

    scores: RunScores
    n_topics: int
    note: str


def _read_request(arguments: argparse.Namespace) -> Request:
    protocol = load_protocol(arguments.protocol)
    if [arguments.qrels, *arguments.runs].count(STDIN) > 1:
        raise InputError("standard input (-) can be read only once")
    measures = measures_of(protocol, arguments.measure)
    units = read_units(arguments, protocol)
    judged = read_judged(arguments.qrels, scale=arguments.scale, duplicates=arguments.duplicates)
    return Request(protocol, judged, measures, arguments.average or protocol.scoring.average, units)


def _score_all(request: Request, arguments: argparse.Namespace) -> list[ScoreRow]:
    run_names = names(arguments.runs)
    paths = list(run_names)
    needs_duplicates = request.protocol.scoring.duplicates_are_false_alarms and not arguments.duplicates
    if needs_duplicates and not arguments.quiet:
        print("no --duplicates: near-duplicates of judged documents count as unjudged", file=sys.stderr)  # noqa: T201
    with _bar(len(paths), is_quiet=arguments.quiet) as started:
        scored = map_forked(
            partial(_score, request=request),
            paths,
            processes=arguments.processes or _processes(paths),
            refusals=InputError,
            started=started,
        )
    rows: list[ScoreRow] = []
    for name, scored_run in zip(run_names.values(), scored, strict=True):
        rows += score_rows(
            name,
            scored_run.scores,
            request.judged,
            request.measures,
            average=request.average,
            per_topic=arguments.per_topic,
        )
        if not arguments.quiet:
            print(_topics_note(name, scored_run, request.average), file=sys.stderr)  # noqa: T201
    return rows


def _score(path: str, *, request: Request) -> Scored:
    run, note = request.units.prepared(read_run(path, request.protocol))
    return Scored(score_run(run, request.judged, request.measures), len(run.topics), note)


def _topics_note(name: str, scored: Scored, average: Average) -> str:
    """The topics that a run's means are taken over."""
    n_averaged, n_common = int(scored.scores.averaged(average).sum()), int(scored.scores.has_topic.sum())
    n_missing, n_extra = scored.scores.n_missing, scored.n_topics - n_common
    text = f"{name}: averaged over {n_averaged} topics; {n_missing} of the qrels missing from the run"
    if n_missing:
        text += ", counted as 0" if average == "judged" else ", left out"
    if n_extra:
        text += f"; {n_extra} of the run not in the qrels, ignored"
    return text + (f"; {scored.note}" if scored.note else "")


def _processes(paths: Sequence[str]) -> int:
    size = sum(Path(path).stat().st_size for path in paths if Path(path).is_file())
    return processors() if size > SMALL else 1


@contextmanager
def _bar(total: int, *, is_quiet: bool) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal if there are several runs; call it with the number of runs that are started."""
    if is_quiet or total < 2 or not sys.stderr.isatty():
        yield lambda n: None
        return
    tqdm = import_module("tqdm").tqdm  # slow to import, and a single run has no bar
    with tqdm(total=total, desc="evaluate", unit="run", leave=False) as bar:
        yield lambda n: bar.update(n - bar.n)
