"""Measure how far assessors agree: kappa of every two, and Krippendorff's alpha of all, also by topic and assessor.

The files are exports of judgments (CSV or lines of JSON), any CSV with the columns topic, docno, assessor and grade,
Turkle's results, or qrels. The judgments of all files are compared together. In qrels, the file is the assessor.
Replaced judgments (is_current is False) are left out, and judgments without a grade, which are non-answers.
With --question, the answers to a question of the protocol are compared instead of the grades. They are in the column
`answers` of exports and of the files of `assay judge`.
"""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.cli.options import add, names_of_runs
from assay.cli.tables import add_table_options, print_tables
from assay.errors import InputError
from assay.formats.compression import read_file
from assay.formats.judgments.cells import ANSWER_TO
from assay.formats.judgments.choices import grade_of
from assay.formats.judgments.reader import MAPPED, JudgmentsError, parse_judgments
from assay.formats.judgments.rows import JudgmentRow
from assay.formats.qrels.reader import Complaint
from assay.formats.topics.reader import read_topics
from assay.formats.topics.subtopics import labels_of
from assay.judging.scales import Scale, scale_named
from assay.protocols.loader import load_protocol
from assay.protocols.questions import WrongAnswer, from_text, problem_with, tidy
from assay.protocols.schema import JudgingRules, Protocol
from assay.statistics import agreement_report as report
from assay.statistics.agreement import krippendorff_alpha
from assay.tables import Cell, Table

ALPHA = "Krippendorff's alpha with nominal, ordinal and interval differences of grades"
COLUMNS = (
    "judgments", "units_judged_twice", *(f"alpha_{metric}" for metric in report.METRICS), "alpha_two_way",
)  # fmt: skip

FIELDS = f"{', '.join(MAPPED)} and {ANSWER_TO}KEY of a question"
NOTHING_COMPARED = 1  # exit status

EXAMPLE = """assay agreement --protocol arqmath-2020-task1 judgments.csv
  assay agreement --protocol arguments-lab.toml --question stance judgments.csv
  assay agreement --level 2 qrels.txt qrels-marek.txt
  assay agreement --level 2 --column docno=Input.post turkle-results.csv"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add(parser, "--protocol", required=False)
    add(parser, "--level")
    parser.add_argument(
        "--question",
        default="",
        metavar="KEY",
        help="compare the answers to this question of the protocol; of several choices, KEY:CHOICE",
    )
    parser.add_argument(
        "--topics", metavar="FILE", help="the topics with their subtopics, for a question about them"
    )
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
    protocol = load_protocol(arguments.protocol) if arguments.protocol else None
    scale = _scale(protocol, arguments.question)
    level = arguments.level or scale.level
    rows = _read(arguments, protocol.judging if protocol else None)
    # The last judgment of each assessor for each unit counts.
    last = {(row.topic, row.docno, row.assessor): row for row in rows}
    graded = _graded(last.values(), scale, protocol, _subtopics(arguments, scale))
    n_without_grade = sum(row.grade is None for row in last.values())
    left_out = (n_without_grade, len(rows) - len(last))
    status = print_tables(_tables(graded, level, left_out, scale), arguments)
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


def _scale(protocol: Protocol | None, key: str) -> Scale:
    """What is compared; without a protocol, the grade.

    Raises:
        InputError: There is a question but no protocol, or the protocol has no such question.
    """
    if protocol is not None:
        return scale_named(protocol, key)
    if key:
        raise InputError("--question needs --protocol, which has the choices of the question")
    return Scale("", "Grade", 1)


def _subtopics(arguments: argparse.Namespace, scale: Scale) -> dict[str, list[str]]:
    """The numbers of the subtopics of each topic, for a question about them.

    Raises:
        InputError: The question is about subtopics, and there is no file of topics; or the reverse.
    """
    if not scale.is_of_subtopics:
        if arguments.topics:
            raise InputError("--topics is only for a --question about subtopics")
        return {}
    if not arguments.topics:
        raise InputError(f"--question {scale.key} is about subtopics: name the file of topics with --topics")
    topics = read_topics(read_file(arguments.topics), arguments.topics)
    return {topic.code: [*labels_of(topic.subtopics)] for topic in topics}


def _graded(
    rows: Iterable[JudgmentRow],
    scale: Scale,
    protocol: Protocol | None,
    subtopics: Mapping[str, Sequence[str]],
) -> report.Graded:
    """The numbers of the judgments on a scale."""
    if protocol is None or not scale.key:
        return report.Graded.from_rows(
            (row.topic, row.docno, row.assessor, row.grade) for row in rows if row.grade is not None
        )
    return report.Graded.from_rows(
        (topic, row.docno, row.assessor, number)
        for row in rows
        for topic, number in scale.numbered(
            protocol.judging,
            row.topic,
            subtopics.get(row.topic, ()),
            row.choice,
            row.grade,
            row.answers,
        )
    )


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
                    answers = _answers(row, rules)
                    rows.append(replace(row, grade=grade_of(row, rules, is_named=is_named), answers=answers))
                except (ValueError, WrongAnswer) as error:
                    raise JudgmentsError(path, [Complaint(row.line, str(error))]) from None
    known = sorted({row.kind for row in rows} - {""})
    for kind in arguments.kind:
        if kind not in known:
            named = f"the kinds are {', '.join(known)}" if known else "no file has a column kind"
            raise InputError(f"--kind: no batch of the kind {kind!r}; {named}")
    return [row for row in rows if not arguments.kind or row.kind in arguments.kind]


def _answers(row: JudgmentRow, rules: JudgingRules | None) -> dict[str, Any]:
    """The answers of a row to questions of the protocol.

    Raises:
        WrongAnswer: A question does not accept its answer.
    """
    if rules is None:
        return {}
    questions = {each.key: each for each in rules.questions}
    given = {
        key: from_text(questions[key], answer) if isinstance(answer, str) else answer
        for key, answer in row.answers.items()
        if key in questions
    }
    answers = tidy(rules, given)
    for key, answer in answers.items():
        if problem := problem_with(questions[key], answer):
            raise WrongAnswer(key, problem, code="unknown-answer")
    return answers


def _tables(graded: report.Graded, level: int, left_out: tuple[int, int], scale: Scale) -> list[Table]:
    """The tables; `left_out` are the numbers of judgments without a grade, and of repeated ones."""
    of = f"“{scale.label}” ({scale.numbers}): " if scale.key else ""
    only = (
        "; the answers have no order, so read the nominal alpha and the unweighted kappa" * scale.is_nominal
    )
    return [
        Table(
            "all",
            f"{of}{ALPHA}{only}; two-way from grade {level}; without non-answers, and without earlier judgments by "
            "the same assessor",
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
