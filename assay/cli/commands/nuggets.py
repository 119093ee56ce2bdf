"""Work with the nuggets of generated answers: check and convert lists, and make qrels from assignments.

A list of nuggets is a file of nuggetizer, AutoJudge or RAGTIME; its form is detected. `check` prints what is wrong with
lists. `changes` shows what a new version of a list changes, and which nuggets must be assigned again. `qrels` makes
qrels from assignments, for `assay evaluate`; `assignments` writes them for other programs. `cited` writes the documents
that answers cite as a run, which can be pooled and judged for relevance. `scores` converts tables of scores.

Exit status: 0 success, 1 a list has problems, 2 a file or an option cannot be used.
"""

import argparse
import sys
from collections.abc import Mapping

from assay.answers import Answer
from assay.cli.formulas import note
from assay.cli.main import add, add_actions, input_path
from assay.cli.tables import add_table_options, print_tables, write_output
from assay.errors import InputError, plural
from assay.formats.compression import read_file
from assay.formats.qrels.reader import format_qrels, read_qrels
from assay.formats.runs.answers import cited_run
from assay.formats.runs.reader import check_run
from assay.measures.boards import FORMS as BOARDS
from assay.measures.boards import read_board, write_board
from assay.nuggets.assignments import Assignment, grades_of, qrels_of, read_assignments, write_assignments
from assay.nuggets.files import read_nuggets, write_nuggets
from assay.nuggets.formats import FORMS
from assay.nuggets.lists import NuggetList, changes
from assay.protocols.loader import load_protocol
from assay.protocols.schema import NuggetRules
from assay.tables import Cell, Table

OPTIONS = "assay nuggets {} --protocol trec-rag-2024 --nuggets rag/nuggets.jsonl"
EXAMPLE = "assay nuggets check rag/nuggets.jsonl --protocol trec-rag-2024"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = add_actions(parser)
    check = actions.add_parser(
        "check", help="print lists of nuggets, and what is wrong with them", example=EXAMPLE
    )
    add(check, "--protocol", required=False)
    check.add_argument("file", metavar="FILE", help="lists of nuggets")
    add_table_options(check)
    convert = actions.add_parser(
        "convert",
        help="write lists in another form",
        example="assay nuggets convert rag/nuggets.jsonl --to nugget-bank --output bank.jsonl",
    )
    convert.add_argument("file", metavar="FILE", help="lists of nuggets")
    convert.add_argument("--to", choices=list(FORMS), required=True, help="the form")
    add(convert, "--output")
    differ = actions.add_parser(
        "changes",
        help="compare two versions of lists",
        example="assay nuggets changes rag/nuggets.jsonl bank.jsonl",
    )
    differ.add_argument("old", metavar="OLD", help="the earlier lists")
    differ.add_argument("new", metavar="NEW", help="the later lists")
    add_table_options(differ)
    qrels = actions.add_parser(
        "qrels",
        help="make qrels from assignments",
        example=f"{OPTIONS.format('qrels')} rag/assigned.jsonl --output rag-qrels.txt",
    )
    add(qrels, "--protocol")
    _add_nuggets(qrels)
    qrels.add_argument("assignments", nargs="+", metavar="FILE", help="assignments of nuggets or citations")
    add(qrels, "--output", "--quiet")
    write = actions.add_parser(
        "assignments",
        help="write the assignments in qrels as nuggetizer does",
        example=f"{OPTIONS.format('assignments')} --qrels rag-qrels.txt rag/owls.jsonl",
    )
    add(write, "--protocol", "--qrels", "runs")
    _add_nuggets(write)
    add(write, "--output")
    cited = actions.add_parser(
        "cited",
        help="write the documents that a run cites as a run of TREC",
        example="assay nuggets cited --protocol trec-rag-2024 rag/owls.jsonl --output cited.txt",
    )
    add(cited, "--protocol", "--output")
    cited.add_argument("run", metavar="RUN", help="run of generated answers")
    scores = actions.add_parser(
        "scores",
        help="convert a table of scores",
        example="assay nuggets scores rag/board.txt --from ir_measures --to tot",
    )
    scores.add_argument("file", metavar="FILE", help="scores, with the topic all for means")
    for name, words in (("--from", "of the file"), ("--to", "of the output")):
        dest = name.strip("-") + "_form"
        scores.add_argument(name, dest=dest, choices=BOARDS, required=True, help=f"the form {words}")
    scores.add_argument("--run", default="", help="the name of the run, if the file has none")
    add(scores, "--output")


def _add_nuggets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--nuggets", required=True, metavar="FILE", help="lists of nuggets")


def run(arguments: argparse.Namespace) -> int:
    if arguments.action == "convert":
        return write_output(write_nuggets(_lists(arguments.file), arguments.to), arguments.output)
    if arguments.action == "cited":
        tag, answers = _answers(arguments.run, arguments)
        return write_output(cited_run(answers, tag), arguments.output)
    if arguments.action == "scores":
        data = read_file(arguments.file)
        rows = read_board(data, arguments.from_form, name=arguments.file, run=arguments.run)
        return write_output(write_board(rows, arguments.to_form).encode(), arguments.output)
    status: int = {"check": _check, "changes": _changes, "qrels": _qrels, "assignments": _assignments}[
        arguments.action
    ](arguments)
    return status


def _lists(path: str) -> list[NuggetList]:
    return read_nuggets(read_file(path), path)


def _check(arguments: argparse.Namespace) -> int:
    rules = load_protocol(arguments.protocol).nuggets if arguments.protocol else NuggetRules()
    lists = _lists(arguments.file)
    problems = [problem for nuggets in lists for problem in nuggets.problems(rules)]
    for problem in problems:
        print(f"{arguments.file}: {problem}", file=sys.stderr)  # noqa: T201
    for topic in (nuggets.topic for nuggets in lists if not nuggets.has_score):
        words = "no criterion has a positive weight, so the rubric gives no score"
        print(f"{arguments.file}: topic {topic}: {words}", file=sys.stderr)  # noqa: T201
    header = ("topic", "version", "nuggets", "vital", "okay", "questions", "merged")
    rows: list[tuple[Cell, ...]] = []
    for nugget_list in lists:
        importance = [nugget.importance for nugget in nugget_list.nuggets]
        n_questions = sum(bool(nugget.answers) for nugget in nugget_list.nuggets)
        n_merged = sum(bool(nugget.merged) for nugget in nugget_list.nuggets)
        counts = (len(importance), importance.count("vital"), importance.count("okay"), n_questions, n_merged)
        rows.append((nugget_list.topic, nugget_list.version, *counts))
    words = "number of nuggets of each topic; how many are vital, okay, questions, and merged from others"
    print_tables([Table("lists", words, header, rows)], arguments)
    return 1 if problems else 0


def _changes(arguments: argparse.Namespace) -> int:
    old = {nuggets.topic: nuggets for nuggets in _lists(arguments.old)}
    new = {nuggets.topic: nuggets for nuggets in _lists(arguments.new)}
    rows: list[tuple[Cell, ...]] = []
    for topic in dict.fromkeys((*old, *new)):
        before, after = (lists.get(topic, NuggetList(topic)) for lists in (old, new))
        for change in changes(before, after):
            again = "yes" if change.is_assigned_again else "no"
            rows.append((topic, change.key, change.words, again, change.nugget.shown))
    words = "nuggets that changed; whether all answers must be judged for them again"
    return print_tables(
        [Table("changes", words, ("topic", "key", "change", "again", "nugget"), rows)], arguments
    )


def _qrels(arguments: argparse.Namespace) -> int:
    protocol, lists = load_protocol(arguments.protocol), _lists(arguments.nuggets)
    assignments: list[Assignment] = []
    for path in arguments.assignments:
        assignments += read_assignments(read_file(path), path, protocol.judging)
    if again := len(assignments) - len({(assignment.topic, assignment.unit) for assignment in assignments}):
        raise InputError(f"{plural(again, 'unit is,units are')} in several files; give each once")
    n_failed = sum(assignment.grade < 0 for assignment in assignments)
    note(
        f"{plural(len(assignments), 'unit')}, {n_failed} of them failed; lists of nuggets: {len(lists)}",
        arguments,
    )
    return write_output(format_qrels(qrels_of(assignments, lists)), arguments.output)


def _answers(path: str, arguments: argparse.Namespace) -> tuple[str, Mapping[str, Answer]]:
    """The tag and the answers of a run."""
    checked = check_run(input_path(path), protocol=load_protocol(arguments.protocol), name=path)
    return checked.report.tag, checked.usable_answers()


def _assignments(arguments: argparse.Namespace) -> int:
    protocol, lists = load_protocol(arguments.protocol), _lists(arguments.nuggets)
    grades = grades_of(read_qrels(arguments.qrels, protocol, kind="nuggets"))
    runs = dict(_answers(path, arguments) for path in arguments.runs)
    text = write_assignments(runs, lists, grades, protocol.judging, citations=protocol.runs.answers.citations)
    return write_output(text, arguments.output)
