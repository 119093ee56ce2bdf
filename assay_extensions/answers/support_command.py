"""Score how far citations support the sentences of answers.

Judged answers are JSON lines with topic_id, run_id and sentences, each with citations, and each of these with support:
2 (full), 1 (partial), 0 (none), or -1 if it is not judged. Precision is over the sentences with a citation, recall
over all. A sentence whose citations are not judged leaves both. `first` counts the first citation of each sentence,
`all` the mean of its judged citations, and `hard` full support by the first citation.
"""

import argparse
from collections import defaultdict

from assay.cli.tables import add_table_options, print_tables
from assay.formats.compression import read_file
from assay.tables import Cell, Table, natural
from assay_extensions.answers.support import HARD, Answer, of_all, of_first, read_support

EXAMPLE = "assay support rag/support.jsonl"
SCORES = ("first_precision", "first_recall", "all_precision", "all_recall", "hard_precision", "hard_recall")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="judged answers in JSON lines; - for standard input")
    add_table_options(parser)


def run(arguments: argparse.Namespace) -> int:
    answers = read_support(read_file(arguments.file), arguments.file)
    by_run: defaultdict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        by_run[answer.run].append(answer)
    runs: list[tuple[Cell, ...]] = []
    rows: list[tuple[Cell, ...]] = []
    for run_id, own in sorted(by_run.items()):
        own.sort(key=lambda answer: (natural(answer.topic), answer.topic))
        values = [(*of_first(answer), *of_all(answer), *of_first(answer, HARD)) for answer in own]
        means = [sum(column) / len(own) for column in zip(*values, strict=True)]
        runs.append((run_id, len(own), *means))
        rows += [
            (run_id, answer.topic, len(answer.sentences), *each)
            for answer, each in zip(own, values, strict=True)
        ]
    return print_tables(
        [
            Table("runs", "answers, and means over them", ("run", "answers", *SCORES), runs),
            Table(
                "answers",
                "sentences and support of each answer",
                ("run", "topic", "sentences", *SCORES),
                rows,
            ),
        ],
        arguments,
    )
