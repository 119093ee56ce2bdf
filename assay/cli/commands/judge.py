"""Let a program judge the units of a pool, and write its judgments to a file.

The program gets one JSON object per line on its standard input: topic, title, description, narrative, document, text,
grades, non_answers and guidelines. For each it writes one line: {"topic": "A.1", "document": "12", "grade": 2}. The
grade is a number, or the key of a grade or a non-answer; comment, seconds and follow_ups are optional. The program runs
without a shell. It is started once, and again after it fails.

Each judgment is stored at once. Run the command again to go on where it stopped, and to try failed units again.
"""

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic
from typing import Any

from tqdm import tqdm

from assay.cli.options import add_protocol, add_quiet, add_topics, positive
from assay.errors import InputError
from assay.formats.compression import read_text
from assay.judging.answers import BadAnswer, read_answer
from assay.judging.output import Output
from assay.judging.program import Program, ProgramFailed
from assay.judging.units import Unit, question, read_documents, read_topics_of, read_units
from assay.protocols.loader import load_protocol
from assay.protocols.schema import JudgingRules

INCOMPLETE = 1  # exit status
IN_A_ROW = 5  # failures after which the program is not called again

EXAMPLE = (
    'assay judge --with "python judge_by_words.py" --protocol arqmath-2020-task1 --topics topics.xml --units pool.tsv '
    "--documents documents.jsonl --assessor words --output judgments-words.jsonl"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_protocol(parser)
    parser.add_argument(
        "--with",
        dest="command",
        required=True,
        type=_command,
        metavar="COMMAND",
        help="the program, with its arguments",
    )
    add_topics(parser, is_required=True)
    parser.add_argument(
        "--units",
        required=True,
        metavar="FILE",
        help="pool: topic, docno and position per line, separated by tabs",
    )
    parser.add_argument(
        "--documents", required=True, metavar="FILE", help="documents as lines of JSON; plain, gz, xz or zip"
    )
    parser.add_argument("--guidelines", metavar="FILE", help="text that the program gets with every unit")
    parser.add_argument(
        "--html", action="store_true", help="give the program texts as HTML (default: plain text)"
    )
    parser.add_argument(
        "--assessor",
        required=True,
        metavar="NAME",
        help="who judges; on the site, the account of the machine",
    )
    parser.add_argument(
        "--batch",
        default="",
        metavar="NAME",
        help="the batch of the judgments, for their import (default: none)",
    )
    parser.add_argument(
        "--output",
        required=True,
        type=Path,
        metavar="FILE",
        help="judgments: .jsonl or .csv; an existing file grows",
    )
    parser.add_argument(
        "--timeout",
        type=positive,
        default=120,
        metavar="SECONDS",
        help="stop the program if it does not answer within this time (default: 120)",
    )
    add_quiet(parser)


def _command(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a command: {error}") from None
    if not words:
        raise argparse.ArgumentTypeError("the command is empty")
    return words


def run(arguments: argparse.Namespace) -> int:
    if not arguments.assessor.strip():
        raise InputError("--assessor: the name is empty")
    rules = load_protocol(arguments.protocol).judging
    units = read_units(arguments.units)
    asked = _questions(arguments, units, rules)
    output = Output(arguments.output, assessor=arguments.assessor.strip(), batch=arguments.batch)
    with output, Program(arguments.command, timeout=arguments.timeout) as program:
        if output.n_cut:
            _report(f"{output.path}: the last judgment was incomplete and is removed")
        n_before = len(output.done)
        left = [unit for unit in units if (unit.topic, unit.docno) not in output.done]
        n_failed = _judge(left, asked, program, output, rules, is_quiet=arguments.quiet)
        n_judged = len(output.done) - n_before
    n_open = len(left) - n_judged
    print(f"{n_judged} judged now, {len(units) - len(left)} before, {n_open} left; {output.path}")  # noqa: T201
    if n_failed:
        _report(f"{n_failed} failed; run the command again to go on")
    return INCOMPLETE if n_open else 0


def _questions(
    arguments: argparse.Namespace, units: list[Unit], rules: JudgingRules
) -> Callable[[Unit], dict[str, Any]]:
    """What the program gets about a unit. All files are read now, so that nothing is missing later."""
    topics = read_topics_of(str(arguments.topics), units)
    documents = read_documents(arguments.documents, units)
    guidelines = read_text(arguments.guidelines) if arguments.guidelines else ""
    return lambda unit: question(
        unit,
        topics[unit.topic],
        documents[unit.docno],
        rules,
        guidelines=guidelines,
        is_html=arguments.html,
    )


def _judge(
    units: list[Unit],
    asked: Callable[[Unit], dict[str, Any]],
    program: Program,
    output: Output,
    rules: JudgingRules,
    *,
    is_quiet: bool,
) -> int:
    """Ask the program for each unit; returns how many units failed."""
    n_failed = in_a_row = 0
    for unit in tqdm(units, desc="judging", unit="unit", disable=is_quiet or None, leave=False):
        problem = _ask(unit, asked(unit), program, output, rules)
        in_a_row = in_a_row + 1 if problem else 0
        if problem:
            n_failed += 1
            _report(f"line {unit.line} of the units, topic {unit.topic}, document {unit.docno}: {problem}")
        if in_a_row == IN_A_ROW:
            _report(f"{IN_A_ROW} units in a row failed, so the program is not called again")
            break
    return n_failed


def _ask(unit: Unit, asked: Mapping[str, Any], program: Program, output: Output, rules: JudgingRules) -> str:
    """Ask for one unit and store the judgment; what went wrong, or nothing."""
    start = monotonic()
    try:
        line = program.ask(json.dumps(asked, ensure_ascii=False).encode() + b"\n")
        answer = read_answer(line, topic=unit.topic, docno=unit.docno, rules=rules)
    except ProgramFailed as error:
        return str(error)
    except BadAnswer as error:
        if error.is_lost:
            program.stop()
        return f"line {program.n_answers} of the answers: {error}"
    output.add(unit, answer, seconds=monotonic() - start)
    return ""


def _report(message: str) -> None:
    with tqdm.external_write_mode(file=sys.stderr):
        print(f"assay judge: {message}", file=sys.stderr)  # noqa: T201
