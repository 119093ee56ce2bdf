"""Score runs with qrels: the measures of the protocol, or those that you name, averaged over topics."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from assay.cli.options import (
    RUN_FILE,
    STDIN,
    add_average,
    add_duplicates,
    add_format,
    add_labels,
    add_measures,
    add_processes,
    add_protocol,
    add_qrels,
    add_quiet,
    add_units,
    names_of_runs,
)
from assay.errors import InputError
from assay.evaluation.classes import TopicClass, classes_of, means_over
from assay.evaluation.duplicates import read_duplicates
from assay.evaluation.score_table import HEADER, ScoreRow, as_json, as_tsv
from assay.evaluation.units import (
    FORMATS_OF_VISUAL_IDS,
    VISUAL_IDS,
    Prepared,
    prepare,
    read_units,
    why_unjudged,
)
from assay.formats.qrels.reader import read_qrels
from assay.formats.runs.reader import read_run
from assay.formulas.columns import Formulas
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import RunScores, score_hits
from assay.processes import map_forked, processors
from assay.protocols.loader import load_protocol
from assay.protocols.measures import Measure, parse_measures
from assay.protocols.schema import Average, Protocol, RunFormat

SMALL = 2 << 20  # bytes; starting a second process takes longer than reading fewer bytes

EXAMPLE = "assay evaluate --protocol arqmath-2020-task1 --qrels qrels.txt runs/abacus.tsv runs/lemma.tsv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_protocol(parser)
    add_qrels(parser)
    add_measures(parser)
    add_average(parser, "the topics that the run has")
    add_units(parser)
    parser.add_argument(
        "--scale",
        type=int,
        default=1,
        metavar="N",
        help="multiply every grade of the qrels by N, so that fractions become whole numbers; multiply grades in names "
        "of measures likewise (default: 1)",
    )
    add_duplicates(parser)
    parser.add_argument(
        "--per-topic", action="store_true", help="also print the value of each topic before the mean"
    )
    add_labels(parser, "also prints the mean over the topics with each value, as topic LABEL=VALUE")
    add_format(parser, "tsv", "json")
    add_processes(parser)
    add_quiet(parser)
    parser.add_argument("runs", nargs="+", metavar="RUN", help=RUN_FILE)


def run(arguments: argparse.Namespace) -> int:
    request = _read_request(arguments)
    scored = _score_all(list(request.names), request, arguments)
    rows: list[ScoreRow] = []
    for name, (scores, n_topics, note, problem) in zip(request.names.values(), scored, strict=True):
        if problem:
            print(f"warning: {name}: {problem}", file=sys.stderr)  # noqa: T201
        if not arguments.quiet:
            print(_topics_note(name, scores, n_topics, note, request.average), file=sys.stderr)  # noqa: T201
        by_topic = scores.rows(
            request.judged, request.measures, request.average, per_topic=arguments.per_topic
        )
        rows += [ScoreRow(name, *row) for row in by_topic]
        rows += _class_rows(name, scores, request)
    text = as_json(rows) if arguments.format == "json" else as_tsv(HEADER, [row.cells() for row in rows])
    sys.stdout.write(text)
    return 0


class Request(NamedTuple):
    """What the command line asks for. With formulas, each instance of a run counts as its distinct formula."""

    names: dict[str, str]  # of the runs, by path
    protocol: Protocol
    judged: JudgedDocuments
    measures: list[Measure]
    average: Average
    formulas: Formulas | None
    formats: Sequence[RunFormat]  # of runs; empty: those of the protocol
    classes: Sequence[TopicClass]


class Scored(NamedTuple):
    """The scores of a run, how many topics the run has, a note on its units, and why no document is judged."""

    scores: RunScores
    n_topics: int
    note: str
    mismatch: str


def _read_request(arguments: argparse.Namespace) -> Request:
    names = names_of_runs(arguments.runs)
    protocol = load_protocol(arguments.protocol)
    if [arguments.qrels, *arguments.runs].count(STDIN) > 1:
        raise InputError("standard input (-) can be read only once")
    if arguments.scale < 1:
        raise InputError(f"--scale {arguments.scale}: use a whole number from 1")
    measures = parse_measures(arguments.measure or protocol.scoring.measures)
    formulas = read_units(protocol, arguments.units, arguments.formulas)
    qrels = read_qrels(arguments.qrels, protocol, scale=arguments.scale)
    if arguments.duplicates is not None:
        judged = JudgedDocuments(*read_duplicates(arguments.duplicates, qrels))
    else:
        judged = JudgedDocuments(qrels)
        if protocol.scoring.duplicates_are_false_alarms and not arguments.quiet:
            print("no --duplicates: near-duplicates of judged documents count as unjudged", file=sys.stderr)  # noqa: T201
    average = arguments.average or protocol.scoring.average
    formats = FORMATS_OF_VISUAL_IDS if arguments.units == VISUAL_IDS else ()
    classes = _read_classes(arguments, judged, protocol)
    return Request(names, protocol, judged, measures, average, formulas, formats, classes)


def _read_classes(
    arguments: argparse.Namespace, judged: JudgedDocuments, protocol: Protocol
) -> list[TopicClass]:
    """The classes of the topics by --labels."""
    if arguments.labels is None:
        return []
    topics = judged.topics.tolist()
    labels = import_module("assay.cli.labels").chosen_labels(arguments, topics, protocol)  # slow to import
    return classes_of(topics, labels)


def _class_rows(name: str, scores: RunScores, request: Request) -> Iterator[ScoreRow]:
    """The means of a run over each class of topics."""
    for topics in request.classes:
        values = means_over(scores, topics, request.average).tolist()
        for measure, value in zip(request.measures, values, strict=True):
            yield ScoreRow(name, topics.name, str(measure), value)


def _score_all(paths: list[str], request: Request, arguments: argparse.Namespace) -> list[Scored]:
    score = partial(_score, request=request)
    with _bar(len(paths), is_quiet=arguments.quiet) as started:
        processes = arguments.processes or _processes(paths)
        return map_forked(score, paths, processes=processes, refusals=InputError, started=started)


def _score(path: str, *, request: Request) -> Scored:
    run = read_run(path, request.protocol, request.formats)
    prepared = Prepared(run, "") if request.formulas is None else prepare(run, request.formulas)
    hits = request.judged.hits(prepared.ranking)
    scores = score_hits(hits, request.judged, request.measures)
    problem = why_unjudged(prepared, request.judged, hits)
    return Scored(scores, len(prepared.ranking.topics), prepared.note, problem)


def _topics_note(name: str, scores: RunScores, n_topics: int, note: str, average: Average) -> str:
    """The topics that a run's means are taken over."""
    n_averaged, n_common = int(scores.averaged(average).sum()), int(scores.has_topic.sum())
    n_missing, n_extra = scores.n_missing, n_topics - n_common
    text = f"{name}: averaged over {n_averaged} topics; {n_missing} of the qrels missing from the run"
    if n_missing:
        text += ", counted as 0" if average == "judged" else ", left out"
    if n_extra:
        text += f"; {n_extra} of the run not in the qrels, ignored"
    return text + (f"; {note}" if note else "")


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
