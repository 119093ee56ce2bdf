"""`python -m scoring evaluate`: scores of run files against a qrels file, without settings or a database."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from tqdm import tqdm

from pooling.columns import RunColumns
from pooling.containers import Limits, Unreadable, opened, unwrap
from pooling.run_format import UnknownForm, check_run
from protocols.loader import ProtocolError, load_protocol
from protocols.measure_names import Measure, MeasureError, parse_measure
from protocols.schema import Average, Protocol
from scoring.matching import JudgedDocuments
from scoring.measures import RunScores, score_run
from scoring.protocol_rules import NotComputed, measures_of
from scoring.qrels_format import QrelsError, parse_qrels
from scoring.tables import HEADER, ScoreRow, as_json, as_tsv, score_rows

STDIN = "-"
SUFFIXES = {".gz", ".xz", ".zip", ".tsv", ".txt", ".trec", ".run", ".res"}


class InputError(Exception):
    """Input that cannot be used: file, line where there is one, and what is wrong."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for."""

    protocol: Protocol
    qrels: str
    runs: list[str]
    measures: list[Measure]
    average: Average


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
    parser.add_argument(
        "--quiet", action="store_true", help="say nothing on standard error unless something is wrong"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the scores; 2 if the input cannot be used, and then nothing is printed but the reason."""
    try:
        text = _output(_request(arguments), arguments)
    except (InputError, ProtocolError, MeasureError, NotComputed, UnknownForm) as error:
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
    return Request(protocol, arguments.qrels, runs, measures_of(protocol, names), average)


def _sorted_words(words: Sequence[str], runs: Sequence[str]) -> tuple[list[str], list[str]]:
    """Measures and runs. A run file that follows `--measure M` directly is a run, whatever argparse takes it for."""
    files = [word for word in words if not _is_measure(word) and (word == STDIN or Path(word).is_file())]
    return [word for word in words if word not in files], [*files, *runs]


def _is_measure(word: str) -> bool:
    try:
        parse_measure(word)
    except MeasureError:
        return False
    return True


def _output(request: Request, arguments: argparse.Namespace) -> str:
    judged = _judged(request.qrels)
    rows: list[ScoreRow] = []
    for name, columns in _columns(request):
        scores = score_run(columns, judged, request.measures)
        rows += score_rows(
            name, scores, judged, request.measures, average=request.average, per_topic=arguments.per_topic
        )
        if not arguments.quiet:
            tqdm.write(_averaged(name, columns, scores, request.average), file=sys.stderr)
    return as_json(rows) if arguments.format == "json" else as_tsv(HEADER, [row.cells() for row in rows])


def _averaged(name: str, columns: RunColumns, scores: RunScores, average: Average) -> str:
    """Over which topics a run's means are taken."""
    n_averaged, n_common = int(scores.averaged(average).sum()), int(scores.has_topic.sum())
    counted = "counted as 0" if average == "judged" else "left out"
    said = f"{name}: averaged over {n_averaged} topics; {scores.n_missing} of the qrels missing from the run"
    said += f", {counted}" if scores.n_missing else ""
    n_extra = len(columns.topics) - n_common
    return said + (f"; {n_extra} of the run not in the qrels, ignored" if n_extra else "")


def _judged(path: str) -> JudgedDocuments:
    try:
        return JudgedDocuments(parse_qrels(b"".join(_text(path))))
    except (OSError, Unreadable, QrelsError) as error:
        raise InputError(f"{path}: {_reason(error)}") from None


def _text(path: str) -> Iterator[bytes]:
    with _opened(path) as file:
        size = file.seek(0, os.SEEK_END)
        yield from unwrap(file, size, Limits())


def _opened(path: str) -> AbstractContextManager[BinaryIO]:
    return BytesIO(sys.stdin.buffer.read()) if path == STDIN else opened(Path(path), Limits())


def _reason(error: OSError | Unreadable | QrelsError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def _columns(request: Request) -> Iterator[tuple[str, RunColumns]]:
    """Name and columns of each run, with a bar on a terminal where there are several."""
    names = _names(request.runs)
    is_hidden = True if len(names) == 1 else None  # None: shown on a terminal only
    for path, name in tqdm(names.items(), desc="evaluate", unit="run", disable=is_hidden, leave=False):
        yield name, _read(path, request.protocol)


def _names(paths: Sequence[str]) -> dict[str, str]:
    """What the output calls each run: its file name without endings, or the whole path where two would be alike."""
    names = {path: _stem(path) for path in paths}
    taken = list(names.values())
    return {path: path if taken.count(name) > 1 else name for path, name in names.items()}


def _stem(path: str) -> str:
    name = Path(path)
    while name.suffix.lower() in SUFFIXES and name.stem:
        name = name.with_suffix("")
    return name.name if path != STDIN else "stdin"


def _read(path: str, protocol: Protocol) -> RunColumns:
    try:
        with _opened(path) as file:
            checked = check_run(file, protocol=protocol, name=path)
    except OSError as error:
        raise InputError(f"{path}: {_reason(error)}") from None
    if checked.columns is None:
        first, *more = checked.report.errors
        said = f"{path}: {first}"
        raise InputError(
            f"{said} (and {len(more)} more: python -m pooling check tells all)" if more else said
        )
    return checked.columns
