"""Measure how far assessors agree: kappa of every two, and Krippendorff's alpha of all, also by topic and assessor.

The files are exports of judgments (CSV or lines of JSON), any CSV with the columns topic, docno, assessor and grade,
Turkle's results, or qrels. The judgments of all files are compared together. In qrels, the file is the assessor.
Replaced judgments (is_current is False) are left out, and judgments without a grade, which are non-answers.
"""

import argparse
import sys
from dataclasses import replace

from assay.cli.options import add, names_of_runs
from assay.cli.tables import add_table_options, print_tables
from assay.errors import InputError
from assay.formats.compression import read_file
from assay.formats.judgments.choices import grade_of
from assay.formats.judgments.reader import MAPPED, JudgmentsError, parse_judgments
from assay.formats.judgments.rows import JudgmentRow
from assay.formats.qrels.reader import Complaint
from assay.protocols.loader import load_protocol
from assay.protocols.schema import JudgingRules
from assay.statistics import agreement_report as report
from assay.statistics.agreement import krippendorff_alpha
from assay.tables import Cell, Table

ALPHA = "Krippendorff's alpha with nominal, ordinal and interval differences of grades"
COLUMNS = (
    "judgments", "units_judged_twice", *(f"alpha_{metric}" for metric in report.METRICS), "alpha_two_way",
)  # fmt: skip

NOTHING_COMPARED = 1  # exit status

EXAMPLE = """assay agreement --protocol arqmath-2020-task1 judgments.csv
  assay agreement --level 2 qrels.txt qrels-marek.txt
  assay agreement --level 2 --column docno=Input.post turkle-results.csv"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add(parser, "--protocol", required=False)
    add(parser, "--level")
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
        help=f"the column of a field, where its name does not tell; the fields are {', '.join(MAPPED)}",
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
    if not equals or name not in MAPPED or not column:
        accepted = f"FIELD=COLUMN, such as topic=Input.qid; the fields are {', '.join(MAPPED)}"
        raise argparse.ArgumentTypeError(f"{text!r} is not {accepted}")
    return name, column


def run(arguments: argparse.Namespace) -> int:
    protocol = load_protocol(arguments.protocol) if arguments.protocol else None
    level = arguments.level or (protocol.agreement.binary_from if protocol else 1)
    rows = _read(arguments, protocol.judging if protocol else None)
    # The last judgment of each assessor for each unit counts.
    last = {(row.topic, row.docno, row.assessor): row.grade for row in rows}
    graded = report.Graded.from_rows([(*key, grade) for key, grade in last.items() if grade is not None])
    n_without_grade = sum(grade is None for grade in last.values())
    status = print_tables(_tables(graded, level, (n_without_grade, len(rows) - len(last))), arguments)
    if not graded.n_shared_units:
        n, n_assessors = len(graded.unit), len(graded.assessors)
        text = "no unit has grades from two assessors, so there is no agreement: "
        text += f"{n} grade{'s' * (n != 1)} by {n_assessors} assessor{'s' * (n_assessors != 1)}"
        text += f", {n_without_grade} judgments without a grade" if n_without_grade else ""
        text += "; give several files, or a file with several assessors" if n_assessors < 2 else ""
        sys.stdout.flush()
        print(text, file=sys.stderr)  # noqa: T201
        return NOTHING_COMPARED
    return status


def _read(arguments: argparse.Namespace, rules: JudgingRules | None) -> list[JudgmentRow]:
    """The current judgments of all files, from batches of the kinds of --kind.

    Raises:
        InputError: A file is not a file of judgments. The message names the lines.
    """
    judges, columns = names_of_runs(arguments.judgments), dict(arguments.column)
    rows: list[JudgmentRow] = []
    for path in arguments.judgments:
        read = parse_judgments(read_file(path), path, judge=judges[path], columns=columns)
        is_named = read.form == "turkle" or (read.form == "assay-csv" and "grade" not in read.columns)
        for row in read.rows:
            if row.is_current:
                try:
                    rows.append(replace(row, grade=grade_of(row, rules, is_named=is_named)))
                except ValueError as error:
                    raise JudgmentsError(path, [Complaint(row.line, str(error))]) from None
    known = sorted({row.kind for row in rows} - {""})
    for kind in arguments.kind:
        if kind not in known:
            named = f"the kinds are {', '.join(known)}" if known else "no file has a column kind"
            raise InputError(f"--kind: no batch of the kind {kind!r}; {named}")
    return [row for row in rows if not arguments.kind or row.kind in arguments.kind]


def _tables(graded: report.Graded, level: int, left_out: tuple[int, int]) -> list[Table]:
    """The tables; `left_out` are the numbers of judgments without a grade, and of repeated ones."""
    return [
        Table(
            "all",
            f"{ALPHA}; two-way from grade {level}; without non-answers, and without earlier judgments by the same "
            "assessor",
            ("judges", *COLUMNS, "without_grade", "repeated"),
            [(len(graded.assessors), *_agreement(graded, level), *left_out)],
        ),
        *(table for table in report.tables(graded, level) if table.name != "topics"),
        Table(
            "topics",
            f"{ALPHA}; two-way from grade {level}",
            ("topic", *COLUMNS),
            [(code, *_agreement(graded.of_topic(n), level)) for n, code in enumerate(graded.topics)],
        ),
    ]


def _agreement(graded: report.Graded, level: int) -> tuple[Cell, ...]:
    return (
        len(graded.unit),
        graded.n_shared_units,
        *(krippendorff_alpha(graded.unit, graded.grade, metric=metric) for metric in report.METRICS),
        krippendorff_alpha(graded.unit, graded.two_way(level), metric="nominal"),
    )
