"""Report on a test collection: units per topic, rankings by topic label and by other qrels, curves."""

import argparse
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from assay.cli.inputs import Inputs, add_runs, add_scoring_options, read_inputs
from assay.cli.labels import chosen_labels
from assay.cli.options import add_labels
from assay.cli.tables import print_tables
from assay.errors import InputError
from assay.evaluation.curves import (
    CUTOFFS,
    RECALLS,
    precision_at,
    precision_of_characters,
    recall_precision,
    recall_precision_of_characters,
)
from assay.formats.qrels.reader import QrelsColumns, read_qrels
from assay.formats.runs.columns import Ranked
from assay.measures.scores import RunScores, score_run
from assay.protocols.measures import Measure
from assay.protocols.schema import Protocol
from assay.statistics.qrels_summary import summarize_qrels
from assay.statistics.ranking_comparison import RankingComparison, compare_by_label, compare_rankings
from assay.tables import Cell, Table

QRELS, INSTANCES = "qrels", "instances"  # names of --qrels and --instances in the output
_IN_CHARACTERS = ", in characters of citations"

EXAMPLE = "assay report --protocol arqmath-2020-task1 --qrels qrels.txt runs/abacus.tsv runs/lemma.tsv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_scoring_options(parser)
    add_labels(parser, "compares the rankings by each value")
    parser.add_argument(
        "--compare",
        action="append",
        default=[],
        type=named_file,
        metavar="NAME=QRELS",
        help="other qrels for the same runs, such as those of a group of assessors; repeat it for more",
    )
    parser.add_argument(
        "--instances",
        metavar="QRELS",
        help="qrels of formula instances: also score the same runs instance by instance",
    )
    add_runs(parser)


def named_file(text: str) -> tuple[str, str]:
    """Qrels with a name: `NAME=QRELS`."""
    name, equals, path = text.partition("=")
    if not equals or not name or not path:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=QRELS, such as students=qrels.txt")
    return name, path


def run(arguments: argparse.Namespace) -> int:
    inputs = read_inputs(arguments, arguments.runs)
    other_qrels = _read_other_qrels(arguments, inputs.protocol)
    labels = chosen_labels(arguments, inputs.topics, inputs.protocol) if arguments.labels else {}
    compared = [*_by_labels(inputs, labels), *_by_qrels(inputs, other_qrels)]
    tables = [
        _units(inputs, other_qrels),
        *_comparisons(inputs, compared),
        _curves(inputs),
        _cutoffs(inputs),
    ]
    return print_tables(tables, arguments)


def _read_other_qrels(arguments: argparse.Namespace, protocol: Protocol) -> dict[str, QrelsColumns]:
    other_qrels = {INSTANCES: read_qrels(arguments.instances, protocol)} if arguments.instances else {}
    for name, path in arguments.compare:
        if name in {QRELS, INSTANCES, *other_qrels}:
            raise InputError(f"--compare {name}: the name is in use; use a name of its own for each qrels")
        other_qrels[name] = read_qrels(path, protocol)
    return other_qrels


def _units(inputs: Inputs, other_qrels: Mapping[str, QrelsColumns]) -> Table:
    table = Table(
        "units",
        f"judged and relevant units per topic; relevant from grade {inputs.level}",
        ("qrels", "topics", "judged_min", "judged_max", "judged_mean", "judged",
         "relevant_min", "relevant_max", "relevant_mean", "relevant"),
    )  # fmt: skip
    for name, qrels in {QRELS: inputs.qrels, **other_qrels}.items():
        counts = summarize_qrels(qrels, level=inputs.level)
        table.rows.append((name, counts.n_topics, *counts.judged, *counts.relevant))
    return table


Compared = tuple[str, Measure, RankingComparison]


def _by_labels(inputs: Inputs, labels: Mapping[str, Mapping[str, str]]) -> Iterator[Compared]:
    for label, values in labels.items():
        for measure in inputs.measures:
            yield label, measure, compare_by_label(inputs.scores(measure), inputs.topics, values)


def _by_qrels(inputs: Inputs, other_qrels: Mapping[str, QrelsColumns]) -> Iterator[Compared]:
    if not other_qrels:
        return
    every = {QRELS: inputs.qrels, **other_qrels}
    scored = {
        name: _scored(inputs, inputs.rows if name == INSTANCES else inputs.runs, qrels)
        for name, qrels in every.items()
    }
    n_topics = [len(qrels.topics) for qrels in every.values()]
    for n, measure in enumerate(inputs.measures):
        means = np.array(
            [[scores.means(inputs.average)[n] for scores in of_runs] for of_runs in scored.values()]
        )
        yield QRELS, measure, compare_rankings(list(every), means, n_topics)


def _scored(inputs: Inputs, runs: Sequence[Ranked], qrels: QrelsColumns) -> list[RunScores]:
    judged = inputs.judged_by(qrels)
    return [score_run(run, judged, inputs.measures) for run in runs]


def _comparisons(inputs: Inputs, compared: Sequence[Compared]) -> list[Table]:
    scores = Table(
        "scores",
        "means and ranks of the runs on the topics of each label, and with each qrels",
        ("by", "value", "topics", "measure", "run", "mean", "rank"),
    )
    correlations = Table(
        "correlations",
        "how similar the rankings by two values are: Kendall's tau-b, and AP correlation with ties",
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
    by: str, measure: Measure, table: RankingComparison, runs: Sequence[str]
) -> Iterator[tuple[Cell, ...]]:
    for n, value in enumerate(table.names):
        for run_name, mean, rank in zip(runs, table.means[n].tolist(), table.ranks[n].tolist(), strict=True):
            yield by, value, table.n_topics[n], str(measure), run_name, mean, rank


def _correlation_rows(by: str, measure: Measure, table: RankingComparison) -> Iterator[tuple[Cell, ...]]:
    for i, first in enumerate(table.names):
        for j in range(i + 1, len(table.names)):
            tau, tau_ap = float(table.tau[i, j]), float(table.tau_ap[i, j])
            yield by, str(measure), first, table.names[j], tau, tau_ap


def _curves(inputs: Inputs) -> Table:
    rows: list[tuple[Cell, ...]] = []
    curve_of = recall_precision_of_characters if inputs.in_characters else recall_precision
    for name, columns in zip(inputs.names, inputs.runs, strict=True):
        curve = curve_of(inputs.judged.hits(columns), inputs.judged, level=inputs.level)
        means = curve[inputs.is_counted].mean(axis=0).tolist()
        rows += [(name, f"{recall:.1f}", mean) for recall, mean in zip(RECALLS, means, strict=True)]
    return Table(
        "recall_precision",
        f"interpolated precision{_IN_CHARACTERS if inputs.in_characters else ', unjudged documents not relevant'}; "
        f"relevant from grade {inputs.level}",
        ("run", "recall", "precision"),
        rows,
    )


def _cutoffs(inputs: Inputs) -> Table:
    return _cutoffs_of_characters(inputs) if inputs.in_characters else _cutoffs_of_documents(inputs)


def _cutoffs_of_characters(inputs: Inputs) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, columns in zip(inputs.names, inputs.runs, strict=True):
        hits = inputs.judged.hits(columns)
        values = precision_of_characters(hits, inputs.judged, level=inputs.level)
        means = values[inputs.is_counted].mean(axis=0).tolist()
        rows += [(name, k, mean) for k, mean in zip(CUTOFFS, means, strict=True)]
    title = f"precision at cutoffs{_IN_CHARACTERS}; relevant from grade {inputs.level}"
    return Table("precision", title, ("run", "k", "precision"), rows)


def _cutoffs_of_documents(inputs: Inputs) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, columns in zip(inputs.names, inputs.runs, strict=True):
        hits = inputs.judged.hits(columns)
        plain, primed = (
            precision_at(counted, level=inputs.level)[inputs.is_counted].mean(axis=0).tolist()
            for counted in (hits, hits.judged_only())
        )
        rows += [(name, k, p, primed_p) for k, p, primed_p in zip(CUTOFFS, plain, primed, strict=True)]
    return Table(
        "precision",
        f"precision at cutoffs, of all documents and of only the judged ones; relevant from grade {inputs.level}",
        ("run", "k", "precision", "precision'"),
        rows,
    )
