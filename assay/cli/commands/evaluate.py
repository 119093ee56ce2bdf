"""`assay evaluate`: scores of run files against a qrels file, without settings or a database."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from assay.cli.units import add_unit_arguments, read_units
from assay.evaluation.files import STDIN, InputError, names, read_judged, read_run
from assay.evaluation.protocol_rules import NotComputed, measures_of
from assay.evaluation.scores import HEADER, ScoreRow, as_json, as_tsv, score_rows
from assay.evaluation.units import Units
from assay.formats.runs.reader import UnknownForm
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import RunScores, score_run
from assay.processes import WorkerLost, in_parallel, processors
from assay.protocols.loader import ProtocolError, load_protocol
from assay.protocols.measures import Measure, MeasureError, parse_measure
from assay.protocols.schema import Average, Protocol

SMALL = 2 << 20  # bytes of runs that one process reads before another would be there

EXAMPLE = "assay evaluate --protocol arqmath-2020-task1 --qrels qrels.txt run1.tsv run2.tsv --per-topic"


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for."""

    protocol: Protocol
    qrels: str
    runs: list[str]
    measures: list[Measure]
    average: Average
    units: Units


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `evaluate`."""
    parser.add_argument(
        "--protocol", required=True, help="slug of a shipped protocol, or path of a .toml file"
    )
    parser.add_argument(
        "--qrels", required=True, help="qrels file: topic, 0, docno, grade; - for standard input"
    )
    parser.add_argument(
        "runs", nargs="*", metavar="RUN", help="run files, plain, gz, xz or zip; - for standard input"
    )
    parser.add_argument(
        "--per-topic", action="store_true", help="also the values of each topic averaged over"
    )
    parser.add_argument("--format", choices=["tsv", "json"], default="tsv")
    parser.add_argument(
        "--average",
        choices=["judged", "common"],
        help="topics averaged over: all of the qrels, a missing one counting 0, or those that the run has as well "
        "(default: as the protocol says)",
    )
    parser.add_argument(
        "--measure",
        nargs="+",
        action="extend",
        default=[],
        metavar="M",
        help='measures instead of the protocol\'s, such as "nDCG\'" "AP(rel=2)\'" "P(rel=2)@10\'" judged@10',
    )
    add_unit_arguments(parser)
    parser.add_argument(
        "--scale",
        type=int,
        default=1,
        metavar="N",
        help="multiply every grade of the qrels by N, which makes whole numbers of fractions; levels grow with it",
    )
    parser.add_argument(
        "--duplicates",
        metavar="FILE",
        help="near-duplicates: topic, docno, and the docno judged in its place; a repeated one is a false alarm",
    )
    parser.add_argument(
        "--processes",
        type=int,
        metavar="N",
        help="processes that read and score runs (default: one for each processor, where the files are large)",
    )
    parser.add_argument(
        "--quiet", action="store_true", help="say nothing on standard error unless something is wrong"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the scores; 2 if the input cannot be used, and then nothing is printed but the reason."""
    try:
        text = _output(_request(arguments), arguments)
    except (InputError, ProtocolError, MeasureError, NotComputed, UnknownForm, WorkerLost) as error:
        print(f"evaluate: {error}", file=sys.stderr)  # noqa: T201
        return 2
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough; nothing may be flushed at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _request(arguments: argparse.Namespace) -> Request:
    protocol = load_protocol(arguments.protocol)
    names, runs = _sorted_words(arguments.measure, arguments.runs)
    if not runs:
        raise InputError("no run given; name at least one run file, or - for standard input")
    if [arguments.qrels, *runs].count(STDIN) > 1:
        raise InputError("standard input (-) can be read once only")
    average = arguments.average or protocol.scoring.average
    measures = measures_of(protocol, names)
    return Request(protocol, arguments.qrels, runs, measures, average, read_units(arguments, protocol))


def _sorted_words(words: Sequence[str], runs: Sequence[str]) -> tuple[list[str], list[str]]:
    """Measures and runs. A run file that follows `--measure M` directly is a run, whatever argparse takes it for."""
    files = [word for word in words if not _is_measure(word) and (word == STDIN or _is_file(word))]
    return [word for word in words if word not in files], [*files, *runs]


def _is_file(word: str) -> bool:
    try:
        return Path(word).is_file()
    except OSError:  # longer than names may be
        return False


def _is_measure(word: str) -> bool:
    try:
        parse_measure(word)
    except MeasureError:
        return False
    return True


def _output(request: Request, arguments: argparse.Namespace) -> str:
    judged = read_judged(request.qrels, scale=arguments.scale, duplicates=arguments.duplicates)
    called = names(request.runs)
    if request.protocol.scoring.duplicates_are_false_alarms and not (arguments.duplicates or arguments.quiet):
        print("no --duplicates: near-duplicates of judged documents are unjudged", file=sys.stderr)  # noqa: T201
    with _bar(len(called), is_wanted=not arguments.quiet) as taken:
        scored = in_parallel(
            partial(_score, request=request, judged=judged),
            list(called),
            processes=_processes(arguments.processes, list(called)),
            refusals=InputError,
            taken=taken,
        )
    rows: list[ScoreRow] = []
    for name, one in zip(called.values(), scored, strict=True):
        rows += score_rows(
            name,
            one.scores,
            judged,
            request.measures,
            average=request.average,
            per_topic=arguments.per_topic,
        )
        if not arguments.quiet:
            print(_averaged(name, one, request.average), file=sys.stderr)  # noqa: T201
    return as_json(rows) if arguments.format == "json" else as_tsv(HEADER, [row.cells() for row in rows])


class Scored(NamedTuple):
    """What is left of a run once it is scored."""

    scores: RunScores
    n_topics: int
    note: str


def _score(path: str, *, request: Request, judged: JudgedDocuments) -> Scored:
    run, note = request.units.prepared(read_run(path, request.protocol))
    return Scored(score_run(run, judged, request.measures), len(run.topics), note)


def _averaged(name: str, one: Scored, average: Average) -> str:
    """Over which topics a run's means are taken."""
    n_averaged, n_common = int(one.scores.averaged(average).sum()), int(one.scores.has_topic.sum())
    counted = "counted as 0" if average == "judged" else "left out"
    said = (
        f"{name}: averaged over {n_averaged} topics; {one.scores.n_missing} of the qrels missing from the run"
    )
    said += f", {counted}" if one.scores.n_missing else ""
    n_extra = one.n_topics - n_common
    said += f"; {n_extra} of the run not in the qrels, ignored" if n_extra else ""
    return said + (f"; {one.note}" if one.note else "")


def _processes(asked: int | None, paths: Sequence[str]) -> int:
    """As many as there are processors, where the files are large enough to gain by it."""
    if asked is not None:
        return asked
    size = sum(Path(path).stat().st_size for path in paths if Path(path).is_file())
    return processors() if size > SMALL else 1


@contextmanager
def _bar(total: int, *, is_wanted: bool) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal where there are several runs; it is told how many were taken up."""
    if not is_wanted or total < 2 or not sys.stderr.isatty():
        yield lambda n: None
        return
    tqdm = import_module("tqdm").tqdm  # a third of the start, and a single run has no bar
    with tqdm(total=total, desc="evaluate", unit="run", leave=False) as bar:
        yield lambda n: bar.update(n - bar.n)
