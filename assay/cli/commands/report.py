"""What a lab's overview tells of qrels and runs: units a topic, rankings by topic label and by other qrels, curves."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from assay.cli.inputs import Inputs, add_common, read_inputs
from assay.cli.output import run_command
from assay.evaluation.curves import CUTOFFS, RECALLS, precision_at, recall_precision
from assay.evaluation.files import InputError, read_qrels, reason
from assay.formats.documents.sources import BadFile
from assay.formats.qrels.reader import QrelsColumns
from assay.formats.runs.columns import Ranked
from assay.formats.topics.reader import read_labels, read_topics
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import RunScores, score_run
from assay.protocols.measures import Measure
from assay.statistics.side_by_side import SideBySide, by_label, side_by_side
from assay.statistics.unit_counts import unit_counts
from assay.tables import Cell, Table

MOST_VALUES = 12  # a label with more of them is a name or a number of each topic
QRELS, INSTANCES = "qrels", "instances"  # how the columns of --qrels and --instances are called

EXAMPLE = "assay report --protocol arqmath-2021-task1 --qrels qrels.txt run1.tsv run2.tsv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `report`."""
    add_common(parser)
    parser.add_argument(
        "--labels",
        type=Path,
        metavar="FILE",
        help="labels of topics: CSV, JSON, or topics as JSON lines; rankings by each value are compared",
    )
    parser.add_argument(
        "--label",
        action="append",
        default=[],
        metavar="NAME",
        help="a label to report; may be given several times (default: all that are words)",
    )
    parser.add_argument(
        "--compare",
        action="append",
        default=[],
        type=named_file,
        metavar="NAME=QRELS",
        help="other qrels for the same runs, such as those of a group of judges; may be given several times",
    )
    parser.add_argument(
        "--instances",
        metavar="QRELS",
        help="qrels of formula instances: the same runs are also scored instance by instance",
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run files, plain, gz, xz or zip")


def named_file(text: str) -> tuple[str, str]:
    """`NAME=FILE` as an option of a command line."""
    name, equals, path = text.partition("=")
    if not equals or not name or not path:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=QRELS, such as students=qrels.txt")
    return name, path


def run(arguments: argparse.Namespace) -> int:
    """Print the report."""
    return run_command("report", _tables, arguments)


def _tables(arguments: argparse.Namespace) -> list[Table]:
    inputs = read_inputs(arguments, arguments.runs)
    beside = _beside(arguments)
    labels = _labels(arguments, inputs) if arguments.labels else {}
    compared = [*_by_labels(inputs, labels), *_by_qrels(inputs, beside)]
    return [
        _units(inputs, beside),
        *_comparisons(inputs, compared),
        _curves(inputs),
        _cutoffs(inputs),
    ]


def _beside(arguments: argparse.Namespace) -> dict[str, QrelsColumns]:
    found = {INSTANCES: read_qrels(arguments.instances)} if arguments.instances else {}
    for name, path in arguments.compare:
        if name in {QRELS, INSTANCES, *found}:
            raise InputError(f"--compare {name}: the name stands twice; --qrels is called {QRELS}")
        found[name] = read_qrels(path)
    return found


def _labels(arguments: argparse.Namespace, inputs: Inputs) -> dict[str, dict[str, str]]:
    """The values of each label, by topic: those asked for, or all that put several topics under few words."""
    of_topics = _read_labels(arguments.labels)
    known = {code: of_topics[code] for code in inputs.topics if code in of_topics}
    if not known:
        raise InputError(f"{arguments.labels}: it has labels for no topic of the qrels")
    names = dict.fromkeys(name for labels in known.values() for name in labels)
    missing = [name for name in arguments.label if name not in names]
    if missing:
        raise InputError(f"{arguments.labels}: there is no label {missing[0]!r}; there is {', '.join(names)}")
    values = {name: {code: labels.get(name, "") for code, labels in known.items()} for name in names}
    if arguments.label:
        return {name: values[name] for name in arguments.label}
    return {name: found for name, found in values.items() if _are_words(set(found.values()) - {""})}


def _are_words(values: set[str]) -> bool:
    return 1 < len(values) <= MOST_VALUES and not all(value.replace(".", "").isdecimal() for value in values)


def _read_labels(path: Path) -> Mapping[str, Mapping[str, str]]:
    try:
        data = path.read_bytes()
        if path.suffix.lower() in {".xml", ".jsonl", ".ndjson"}:
            return {topic.code: topic.labels for topic in read_topics(data, path.name) if topic.labels}
        return read_labels(data, path.name)
    except OSError as error:
        raise InputError(f"{path}: {reason(error)}") from None
    except BadFile as error:
        raise InputError(str(error)) from None


def _units(inputs: Inputs, beside: Mapping[str, QrelsColumns]) -> Table:
    table = Table(
        "units",
        f"judged and relevant units a topic; relevant from grade {inputs.level}",
        ("qrels", "topics", "judged_min", "judged_max", "judged_mean", "judged",
         "relevant_min", "relevant_max", "relevant_mean", "relevant"),
    )  # fmt: skip
    for name, qrels in {QRELS: inputs.qrels, **beside}.items():
        counts = unit_counts(qrels, level=inputs.level)
        table.rows.append((name, counts.n_topics, *counts.judged, *counts.relevant))
    return table


Compared = tuple[str, Measure, SideBySide]


def _by_labels(inputs: Inputs, labels: Mapping[str, Mapping[str, str]]) -> Iterator[Compared]:
    for label, values in labels.items():
        for measure in inputs.measures:
            yield label, measure, by_label(inputs.scores(measure), inputs.topics, values)


def _by_qrels(inputs: Inputs, beside: Mapping[str, QrelsColumns]) -> Iterator[Compared]:
    if not beside:
        return
    every = {QRELS: inputs.qrels, **beside}
    scored = {
        name: _scored(inputs.rows if name == INSTANCES else inputs.runs, qrels, inputs.measures)
        for name, qrels in every.items()
    }
    n_topics = [len(qrels.topics) for qrels in every.values()]
    for n, measure in enumerate(inputs.measures):
        means = np.array(
            [[scores.means(inputs.average)[n] for scores in of_runs] for of_runs in scored.values()]
        )
        yield QRELS, measure, side_by_side(list(every), means, n_topics)


def _scored(runs: Sequence[Ranked], qrels: QrelsColumns, measures: Sequence[Measure]) -> list[RunScores]:
    judged = JudgedDocuments(qrels)
    return [score_run(run, judged, measures) for run in runs]


def _comparisons(inputs: Inputs, compared: Sequence[Compared]) -> list[Table]:
    scores = Table(
        "scores",
        "means and places of the runs by the topics of each label, and by each qrels",
        ("by", "value", "topics", "measure", "run", "mean", "rank"),
    )
    correlations = Table(
        "correlations",
        "how alike the rankings by two values are: Kendall's tau-b, and AP correlation with ties",
        ("by", "measure", "first", "second", "tau", "tau_ap"),
    )
    gaps = Table(
        "gaps",
        "mean difference of neighbors in each ranking",
        ("by", "measure", "value", "topics", "gap"),
    )
    for by, measure, table in compared:
        scores.rows.extend(_score_rows(by, measure, table, inputs.names))
        correlations.rows.extend(_correlation_rows(by, measure, table))
        columns = zip(table.names, table.n_topics, table.gap.tolist(), strict=True)
        gaps.rows.extend((by, str(measure), *column) for column in columns)
    return [scores, correlations, gaps]


def _score_rows(
    by: str, measure: Measure, table: SideBySide, runs: Sequence[str]
) -> Iterator[tuple[Cell, ...]]:
    for n, value in enumerate(table.names):
        for run_name, mean, rank in zip(runs, table.means[n].tolist(), table.ranks[n].tolist(), strict=True):
            yield by, value, table.n_topics[n], str(measure), run_name, mean, rank


def _correlation_rows(by: str, measure: Measure, table: SideBySide) -> Iterator[tuple[Cell, ...]]:
    for i, first in enumerate(table.names):
        for j in range(i + 1, len(table.names)):
            tau, tau_ap = float(table.tau[i, j]), float(table.tau_ap[i, j])
            yield by, str(measure), first, table.names[j], tau, tau_ap


def _curves(inputs: Inputs) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, columns in zip(inputs.names, inputs.runs, strict=True):
        curve = recall_precision(inputs.judged.hits(columns), inputs.judged, level=inputs.level)
        means = curve[inputs.is_counted].mean(axis=0).tolist()
        rows += [(name, f"{recall:.1f}", mean) for recall, mean in zip(RECALLS, means, strict=True)]
    return Table(
        "recall_precision",
        f"interpolated precision, unjudged documents not relevant; relevant from grade {inputs.level}",
        ("run", "recall", "precision"),
        rows,
    )


def _cutoffs(inputs: Inputs) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, columns in zip(inputs.names, inputs.runs, strict=True):
        hits = inputs.judged.hits(columns)
        plain, primed = (
            precision_at(one, level=inputs.level)[inputs.is_counted].mean(axis=0).tolist()
            for one in (hits, hits.judged_only())
        )
        rows += [(name, k, p, primed_p) for k, p, primed_p in zip(CUTOFFS, plain, primed, strict=True)]
    return Table(
        "precision",
        f"precision at cutoffs, and that of judged documents alone; relevant from grade {inputs.level}",
        ("run", "k", "precision", "precision'"),
        rows,
    )
