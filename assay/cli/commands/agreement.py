"""Measure how far assessors agree: kappa of every two, alpha and AC of all, also by topic and assessor.

The files are exports of judgments (CSV or lines of JSON), any CSV with the columns topic, docno, assessor and grade,
Turkle's results, or qrels. The judgments of all files are compared together. In qrels, the file is the assessor.
Replaced judgments (is_current is False) are left out, and judgments without a grade, which are non-answers.
With --question, the answers to a question of the protocol are compared instead of the grades. They are in the column
`answers` of exports and of the files of `assay judge`.
"""

import argparse
import sys

from assay.cli.main import add
from assay.cli.tables import add_table_options, print_tables
from assay.formats.judgments.cells import ANSWER_TO
from assay.formats.judgments.reader import MAPPED
from assay.research.agreement import agreement

FIELDS = f"{', '.join(MAPPED)} and {ANSWER_TO}KEY of a question"
NOTHING_COMPARED = 1  # exit status

EXAMPLE = """assay agreement --protocol arqmath-2020-task1 judgments.csv
  assay agreement --protocol arguments-lab.toml --question stance arguments-judgments.csv
  assay agreement --level 2 qrels.txt qrels-marek.txt
  assay agreement --level 2 --column docno=Input.post turkle-results.csv"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add(parser, "--protocol", required=False)
    add(parser, "--level")
    parser.add_argument(
        "--question",
        default="",
        metavar="KEY",
        help="compare the answers to this question of the protocol; of several choices, KEY:CHOICE; "
        "about subtopics, with --topics",
    )
    add(parser, "--topics")
    parser.add_argument(
        "--kind",
        action="append",
        default=[],
        metavar="KIND",
        help="only judgments from batches of this kind, such as dual; repeat it for more kinds",
    )
    parser.add_argument(
        "--column",
        action="append",
        type=_column,
        default=[],
        metavar="FIELD=COLUMN",
        help=f"the column of a field, where its name does not tell; the fields are {FIELDS}",
    )
    add_table_options(parser)
    parser.add_argument(
        "judgments",
        nargs="+",
        metavar="FILE",
        help="judgments as CSV or lines of JSON, Turkle's results, or qrels; - for standard input",
    )


def _column(text: str) -> tuple[str, str]:
    name, equals, column = text.partition("=")
    if not equals or not (name in MAPPED or name.startswith(ANSWER_TO)) or not column:
        accepted = f"FIELD=COLUMN, such as topic=Input.qid; the fields are {FIELDS}"
        raise argparse.ArgumentTypeError(f"{text!r} is not {accepted}")
    return name, column


def run(arguments: argparse.Namespace) -> int:
    result = agreement(
        arguments.judgments,
        protocol=arguments.protocol,
        level=arguments.level,
        question=arguments.question,
        topics=arguments.topics,
        kinds=arguments.kind,
        columns=dict(arguments.column),
    )
    status = print_tables(result.tables, arguments)
    if result.why_not_compared:
        sys.stdout.flush()
        print(result.why_not_compared, file=sys.stderr)  # noqa: T201
        return NOTHING_COMPARED
    return status
