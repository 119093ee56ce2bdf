"""Score runs with qrels: the measures of the protocol, or those that you name, averaged over topics."""

import argparse
import sys
from pathlib import Path

from assay.cli.main import NO_PROTOCOL, add, add_format, add_seed, check_stdin, progress_bar
from assay.measures import boards
from assay.measures.scores import HEADER, as_json
from assay.research.evaluation import evaluate
from assay.tables import as_tsv

EXAMPLE = "assay evaluate --protocol arqmath-2020-task1 --qrels qrels.txt runs/abacus.tsv runs/lemma.tsv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add(parser, "--protocol", required=False, words=NO_PROTOCOL)
    add(parser, "--qrels", "--measure")
    add(parser, "--average", words="the topics that the run has")
    add(parser, "--units", "--formulas")
    add(parser, "--scale", words="; multiply grades in names of measures likewise")
    add(parser, "--duplicates", "--ignore-topic-documents")
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
    parser.add_argument(
        "--folds",
        type=int,
        metavar="N",
        help="split the topics at random into N folds; also prints the mean over each, as topic fold=1, and over the "
        "others, as topic not-fold=1",
    )
    add_seed(parser)
    parser.add_argument(
        "--ties",
        action="store_true",
        help="also print the lowest, the expected and the highest value over the orders of documents with equal "
        "scores, as measure AP[lowest], AP[expected] and AP[highest]",
    )
    add_format(parser, "tsv", "json", *boards.FORMS)
    add(parser, "--processes", "--quiet", "runs")


def run(arguments: argparse.Namespace) -> int:
    check_stdin([arguments.qrels, *arguments.runs])
    is_quiet = arguments.quiet
    n_runs = len(arguments.runs)
    with progress_bar("evaluate", n_runs, unit="run", is_quiet=is_quiet or n_runs < 2) as started:
        evaluation = evaluate(
            arguments.qrels,
            arguments.runs,
            arguments.measure,
            protocol=arguments.protocol,
            average=arguments.average,
            units=arguments.units,
            formulas=arguments.formulas,
            scale=arguments.scale,
            duplicates=arguments.duplicates,
            ignore_topic_documents=arguments.ignore_topic_documents,
            labels=arguments.labels,
            label=arguments.label,
            folds=arguments.folds,
            seed=arguments.seed,
            ties=arguments.ties,
            processes=arguments.processes,
            progress=started,
        )
    if evaluation.needs_duplicates and not is_quiet:
        print("no --duplicates: near-duplicates of judged documents count as unjudged", file=sys.stderr)  # noqa: T201
    for name, note in zip(evaluation.names, evaluation.notes, strict=True):
        if not is_quiet:
            print(f"{name}: {note}", file=sys.stderr)  # noqa: T201
    rows = evaluation.rows(per_topic=arguments.per_topic)
    if arguments.format in boards.FORMS:
        text = boards.write_board(rows, arguments.format)
    elif arguments.format == "json":
        text = as_json(rows)
    else:
        text = as_tsv(HEADER, [row.cells() for row in rows])
    sys.stdout.write(text)
    return 0
