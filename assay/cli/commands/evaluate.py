"""Score runs with qrels: the measures of the protocol, or those that you name, averaged over topics."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from assay.cli.options import STDIN, add, add_format, names_of_runs
from assay.errors import InputError
from assay.formats.qrels.reader import read_qrels
from assay.formats.runs.reader import read_run
from assay.measures import boards
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import HEADER, ScoreRow, TopicClass, are_words, as_json, classes_of
from assay.measures.units import Scored, Units, judged_documents, prepare, read_units, score_prepared
from assay.processes import map_forked, processors
from assay.protocols.loader import load_protocol
from assay.protocols.measures import Measure, parse_measures, qrels_of
from assay.protocols.schema import Average, Protocol
from assay.tables import as_tsv

SMALL = 2 << 20  # bytes; starting a second process takes longer than reading fewer bytes

EXAMPLE = "assay evaluate --protocol arqmath-2020-task1 --qrels qrels.txt runs/abacus.tsv runs/lemma.tsv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add(parser, "--protocol", "--qrels", "--measure")
    add(parser, "--average", words="the topics that the run has")
    add(parser, "--units", "--formulas")
    add(parser, "--scale", words="; multiply grades in names of measures likewise")
    add(parser, "--duplicates")
    parser.add_argument(
        "--per-topic", action="store_true", help="also print the value of each topic before the mean"
    )
    parser.add_argument(
        "--labels",
        type=Path,
        metavar="FILE",
        help="labels of topics: CSV, JSON, or topics as XML or JSON lines; also prints the mean over the topics with "
        "each value, as topic LABEL=VALUE",
    )
    add(parser, "--label")
    add_format(parser, "tsv", "json", *boards.FORMS)
    add(parser, "--processes", "--quiet", "runs")


class Request(NamedTuple):
    """The parts of the command line that score a run."""

    protocol: Protocol
    judged: JudgedDocuments
    measures: list[Measure]
    average: Average
    units: Units

    def score(self, path: str) -> Scored:
        """The scores of a run file."""
        run = read_run(path, self.protocol, self.units.formats)
        return score_prepared(prepare(run, self.units.formulas), self.judged, self.measures)


def run(arguments: argparse.Namespace) -> int:
    request = _read(arguments)
    topics = request.judged.topics.tolist()
    classes = (
        _classes(arguments.labels, arguments.label, topics, request.protocol) if arguments.labels else []
    )
    names = names_of_runs(arguments.runs)
    size = sum(Path(path).stat().st_size for path in names if Path(path).is_file())
    processes = arguments.processes or (processors() if size > SMALL else 1)
    with _bar(len(names), is_quiet=arguments.quiet) as started:
        results = map_forked(
            request.score, list(names), processes=processes, refusals=InputError, started=started
        )
    rows: list[ScoreRow] = []
    for name, scored in zip(names.values(), results, strict=True):
        if scored.problem:
            print(f"warning: {name}: {scored.problem}", file=sys.stderr)  # noqa: T201
        if not arguments.quiet:
            print(f"{name}: {_topics_note(scored, request.average)}", file=sys.stderr)  # noqa: T201
        rows += scored.scores.rows(
            request.judged,
            request.measures,
            request.average,
            per_topic=arguments.per_topic,
            run=name,
            classes=classes,
        )
    sys.stdout.write(_written(rows, arguments.format))
    return 0


def _written(rows: Sequence[ScoreRow], form: str) -> str:
    if form in boards.FORMS:
        return boards.write_board(rows, form)
    return as_json(rows) if form == "json" else as_tsv(HEADER, [row.cells() for row in rows])


def _read(arguments: argparse.Namespace) -> Request:
    """Read the files but for the runs and labels."""
    protocol = load_protocol(arguments.protocol)
    if [arguments.qrels, *arguments.runs].count(STDIN) > 1:
        raise InputError("standard input (-) can be read only once")
    if arguments.scale < 1:
        raise InputError(f"--scale {arguments.scale}: use a whole number from 1")
    measures = parse_measures(arguments.measure or protocol.scoring.measures)
    units = read_units(protocol, arguments.units, arguments.formulas)
    qrels = read_qrels(arguments.qrels, protocol, scale=arguments.scale, kind=qrels_of(measures))
    judged = judged_documents(qrels, arguments.duplicates)
    needs_duplicates = protocol.scoring.duplicates_are_false_alarms and arguments.duplicates is None
    if needs_duplicates and not arguments.quiet:
        print("no --duplicates: near-duplicates of judged documents count as unjudged", file=sys.stderr)  # noqa: T201
    average = arguments.average or protocol.scoring.average
    return Request(protocol, judged, measures, average, units)


def _classes(
    path: Path, chosen: Sequence[str], topics: Sequence[str], protocol: Protocol
) -> list[TopicClass]:
    """The classes of topics by the chosen labels of a file, or else by the topic classes of the protocol.

    If the topics have none of these labels, by all labels with a few values that are words.
    """
    from assay.formats.topics.reader import read_labels  # noqa: PLC0415 -- slow to import, and few calls have labels

    of_topics = read_labels(path.read_bytes(), path.name)
    known = {code: of_topics[code] for code in topics if code in of_topics}
    if not known:
        raise InputError(f"{path}: no label is for a topic of the qrels")
    names = dict.fromkeys(name for labels in known.values() for name in labels)
    missing = [name for name in chosen if name not in names]
    if missing:
        raise InputError(f"{path}: no label {missing[0]!r}; the labels are {', '.join(names)}")
    values = {name: {code: labels.get(name, "") for code, labels in known.items()} for name in names}
    by_class = {name.casefold(): name for name in values}
    kept = chosen or [by_class[name] for name in protocol.scoring.topic_classes if name in by_class]
    kept = kept or [name for name in names if are_words(set(values[name].values()) - {""})]
    return classes_of(topics, {name: values[name] for name in kept})


def _topics_note(scored: Scored, average: Average) -> str:
    """The topics that a run's means are taken over."""
    scores = scored.scores
    n_averaged, n_common = int(scores.averaged(average).sum()), int(scores.has_topic.sum())
    n_missing, n_extra = scores.n_missing, scored.n_topics - n_common
    text = f"averaged over {n_averaged} topics; {n_missing} of the qrels missing from the run"
    if n_missing:
        text += ", counted as 0" if average == "judged" else ", left out"
    if n_extra:
        text += f"; {n_extra} of the run not in the qrels, ignored"
    return text + (f"; {scored.note}" if scored.note else "")


@contextmanager
def _bar(total: int, *, is_quiet: bool) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal if there are several runs; call it with the number of runs that are started."""
    if is_quiet or total < 2 or not sys.stderr.isatty():
        yield lambda n: None
        return
    from tqdm import tqdm  # noqa: PLC0415 -- slow to import, and a single run has no bar

    with tqdm(total=total, desc="evaluate", unit="run", leave=False) as bar:

        def show(n: int) -> None:
            bar.update(n - bar.n)

        yield show
