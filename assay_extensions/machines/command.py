"""Let a program judge the units of a pool on files, or the tasks of a batch on a server.

The program gets one JSON object per line on its standard input: topic, title, description, narrative, scenario,
criteria, document, text, grades, non_answers and guidelines; a pair has `pair` with its two documents, and a row
of a table has `row`. For each it writes one line: {"topic": "A.1", "docno": "12", "grade": 2}. The grade is a
number, or the key of a grade or a non-answer; comment, seconds and answers are optional. The program runs without a
shell. It is started once, and again after it fails.

On files, it needs --protocol, --topics, --units, --documents, --assessor and --output; for the rows of a table,
--documents is the table, without --topics and --units. On a server, it needs --server,
--batch and a token in the variable ASSAY_TOKEN. Each judgment is stored at once. Run the command again to go on where
it stopped, and to try failed units again.
"""

import argparse
import shlex
from collections.abc import Iterator
from pathlib import Path

from assay.cli.main import add, positive
from assay.client.server import require_httpx
from assay.errors import InputError
from assay.formats.text import read_text
from assay.formats.topics.reader import TopicRow
from assay.protocols.loader import load_protocol
from assay.protocols.schema import JudgingRules
from assay_extensions.machines.batches import Totals, ask, judge_batch, print_totals, report, rules_of, tally
from assay_extensions.machines.output import Output
from assay_extensions.machines.program import Program
from assay_extensions.machines.units import (
    Text,
    Unit,
    question,
    read_documents,
    read_table,
    read_topics_of,
    read_units,
)

INCOMPLETE = 1  # exit status
ON_FILES = ("protocol", "topics", "units", "documents", "assessor", "output")
ONLY_ON_FILES = (*ON_FILES, "guidelines")
NOT_OF_ROWS = ("topics", "units")  # the table has them

EXAMPLE = (
    'assay judge --with "python judge_by_words.py" --protocol arqmath-2020-task1 --topics topics.xml --units pool.tsv '
    "--documents documents.jsonl --assessor words --output judgments-words.jsonl"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--with",
        dest="command",
        required=True,
        type=_command,
        metavar="COMMAND",
        help="the program, with its arguments",
    )
    add(parser, "--protocol", required=False)
    add(parser, "--topics")
    parser.add_argument(
        "--units", metavar="FILE", help="pool: topic, docno and position per line, separated by tabs"
    )
    parser.add_argument(
        "--documents",
        metavar="FILE",
        help="documents as lines of JSON; plain, gz, xz or zip. for a form, the table of rows, CSV or TSV",
    )
    parser.add_argument("--guidelines", metavar="FILE", help="text that the program gets with every unit")
    parser.add_argument(
        "--assessor", metavar="NAME", help="who judges; on the site, the account of the machine"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="judgments: .jsonl or .csv; an existing file grows"
    )
    parser.add_argument(
        "--server", metavar="URL", help="address of a site, such as https://assay.example.org"
    )
    parser.add_argument(
        "--batch",
        default="",
        metavar="BATCH",
        help="on a server, the number of the batch; on files, its name in the output (default: none)",
    )
    parser.add_argument(
        "--html", action="store_true", help="give the program texts as HTML (default: plain text)"
    )
    parser.add_argument(
        "--timeout",
        type=positive,
        default=120,
        metavar="SECONDS",
        help="stop the program if it does not answer within this time (default: 120)",
    )
    add(parser, "--quiet")


def _command(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a command: {error}") from None
    if not words:
        raise argparse.ArgumentTypeError("the command is empty")
    return words


def run(arguments: argparse.Namespace) -> int:
    if arguments.server:
        given = [name for name in ONLY_ON_FILES if getattr(arguments, name) is not None]
        if given:
            raise InputError(f"--{given[0]} is for files; with --server, the server knows it")
        if not (arguments.batch.isascii() and arguments.batch.isdigit()):
            raise InputError(
                "--server needs --batch with the number of the batch, as on the page of the machine"
            )
        require_httpx("--server")
        with Program(arguments.command, timeout=arguments.timeout) as program:
            totals = judge_batch(arguments, program)
        where = f"batch {arguments.batch} on {arguments.server}"
    else:
        totals, where = _judge_files(arguments), str(arguments.output)
    print_totals(totals, where)
    return INCOMPLETE if totals.left else 0


def _rules(arguments: argparse.Namespace) -> JudgingRules:
    """The rules of the protocol, if it can be judged on files, and each file for it is given.

    Raises InputError: it cannot, or an option is missing or has no meaning here.
    """
    if not arguments.protocol:
        raise InputError("--protocol is missing; give it, or --server")
    rules = load_protocol(arguments.protocol).judging
    if rules.judged.beyond_files:
        raise InputError(
            f"--protocol: {arguments.protocol} judges {rules.judged.beyond_files}, which needs --server"
        )
    without = NOT_OF_ROWS if rules.form else ()
    if missing := [name for name in ON_FILES if name not in without and not getattr(arguments, name)]:
        raise InputError(f"--{missing[0]} is missing; give it, or --server")
    if given := [name for name in without if getattr(arguments, name)]:
        raise InputError(f"--{given[0]} has no meaning for the rows of a table: --documents is the table")
    return rules


def _read(
    arguments: argparse.Namespace, rules: JudgingRules
) -> tuple[list[Unit], dict[str, TopicRow], dict[str, Text]]:
    """The units, their topics and their documents; rows of a table have neither topics nor documents of their own."""
    if rules.form:
        units = read_table(arguments.documents, rules.form)
        return units, {unit.topic: TopicRow(unit.topic, line=unit.line) for unit in units}, {}
    units = read_units(arguments.units)
    topics = read_topics_of(str(arguments.topics), units, is_formula=rules.judged.is_formula)
    named = [
        (docno, unit)
        for unit in units
        for docno in (unit.sides(arguments.assessor) if rules.judged.has_votes else (unit.docno,))
    ]
    return units, topics, read_documents(arguments.documents, named)


def _judge_files(arguments: argparse.Namespace) -> Totals:
    """Judge the units of a pool. All files are read first, so that nothing is missing later."""
    rules = _rules(arguments)
    arguments.assessor = arguments.assessor.strip()
    units, topics, documents = _read(arguments, rules)
    guidelines = read_text(arguments.guidelines) if arguments.guidelines else ""

    def judged(units: list[Unit], program: Program) -> Iterator[tuple[str, str]]:
        for unit in units:
            asked = question(
                unit,
                topics[unit.topic],
                documents,
                rules,
                guidelines=guidelines,
                is_html=arguments.html,
                assessor=arguments.assessor,
            )
            answer = ask(program, asked, rules_of(asked) if rules.asks_about_subtopics else rules)
            if not isinstance(answer, str):
                left = unit.sides(arguments.assessor)[0] if rules.judged.has_votes else ""
                label = rules.label_of(answer[0].choice.key, unit.docno)
                output.add(unit, answer[0], label=label, left=left, seconds=answer[1])
            problem = answer if isinstance(answer, str) else ""
            yield f"line {unit.line} of the units, topic {unit.topic}, document {unit.docno}", problem

    output = Output(arguments.output, assessor=arguments.assessor, batch=arguments.batch)
    with output, Program(arguments.command, timeout=arguments.timeout) as program:
        if output.n_cut:
            report(f"{output.path}: the last judgment was incomplete and is removed")

        left = [unit for unit in units if (unit.topic, unit.docno) not in output.done]
        n_judged, n_failed = tally(judged(left, program), len(left), is_quiet=arguments.quiet)
    return Totals(n_judged, len(units) - len(left), len(left) - n_judged, n_failed)
