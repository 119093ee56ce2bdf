"""Let a model or a program judge the units of a pool on files, or the tasks of a batch on a server.

With --judge, a model judges: the judge file names its address, template and decoding. Replies are kept in a cache, so
that a repeat asks only for what is missing.

With --with, a program judges. It gets one JSON object per line on its standard input: topic, title, description,
narrative, scenario, criteria, document, text, grades, non_answers and guidelines; a pair has `pair` with its two
documents, and a row of a table has `row`. For each it writes one line: {"topic": "A.1", "docno": "12", "grade": 2}.
The grade is a number, or the key of a grade or a non-answer; comment, seconds and answers are optional. The program
runs without a shell. It is started once, and again after it fails.

On files, it needs --protocol, --topics, --units, --documents, --assessor and --output; for the rows of a table,
--documents is the table, without --topics and --units. On a server, it needs --server, --batch and a token in the
variable ASSAY_TOKEN; several commands with --judge may judge the same batch. Each judgment is stored at once. Run the
command again to go on where it stopped, and to try failed units again.
"""

import argparse
import shlex
from collections.abc import Container, Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from assay.cli.main import add, positive
from assay.client.server import require_httpx
from assay.errors import InputError
from assay.formats.compression import read_file
from assay.formats.judgments.cells import choice_of
from assay.formats.judgments.reader import parse_judgments
from assay.formats.text import read_text
from assay.formats.topics.reader import TopicRow
from assay.html.sanitize import plain
from assay.protocols.loader import load_protocol
from assay.protocols.schema import Grade, JudgingRules
from assay_extensions.machines.commands import judging
from assay_extensions.machines.judge_files.judges import Judge
from assay_extensions.machines.model.classifier import Example, TrainedJudge
from assay_extensions.machines.work.batches import (
    Totals,
    ask,
    judge_batch,
    print_totals,
    report,
    rules_of,
    tally,
)
from assay_extensions.machines.work.output import Output
from assay_extensions.machines.work.program import Program
from assay_extensions.machines.work.units import (
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
ONLY_ON_FILES = (*ON_FILES, "guidelines", "evidence")
NOT_OF_ROWS = ("topics", "units")  # the table has them

EXAMPLE = (
    'assay judge --with "python judge_by_words.py" --protocol arqmath-2020-task1 --topics topics.xml --units pool.tsv '
    "--documents documents.jsonl --assessor words --output judgments-words.jsonl"
)


def _amount(text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal(0)
    if not (amount.is_finite() and amount > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount above 0, such as 2.50")
    return amount


def _command(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a command: {error}") from None
    if not words:
        raise argparse.ArgumentTypeError("the command is empty")
    return words


OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "units": {"metavar": "FILE", "help": "pool: topic, docno and position per line, separated by tabs"},
    "documents": {
        "metavar": "FILE",
        "help": "documents as lines of JSON; plain, gz, xz, bz2 or zip. for a form, the table of rows, CSV or TSV",
    },
    "guidelines": {"metavar": "FILE", "help": "text that the program gets with every unit"},
    "assessor": {"metavar": "NAME", "help": "who judges; on the site, the account of the machine"},
    "output": {
        "type": Path,
        "metavar": "FILE",
        "help": "judgments: .jsonl or .csv; an existing file grows",
    },
    "server": {"metavar": "URL", "help": "address of a site, such as https://assay.example.org"},
    "batch": {
        "default": "",
        "metavar": "BATCH",
        "help": "on a server, the number of the batch; on files, its name in the output (default: none)",
    },
    "html": {"action": "store_true", "help": "give the program texts as HTML (default: plain text)"},
    "timeout": {
        "type": positive,
        "default": 120,
        "metavar": "SECONDS",
        "help": "stop the program, or a request, if there is no answer within this time (default: 120)",
    },
}
MODEL_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "connections": {
        "type": positive,
        "default": 32,
        "metavar": "N",
        "help": "requests at the same time (default: 32)",
    },
    "max-calls": {"type": positive, "metavar": "N", "help": "stop after so many requests"},
    "max-tokens": {"type": positive, "metavar": "N", "help": "stop before more tokens, in and out"},
    "max-cost": {
        "type": _amount,
        "metavar": "AMOUNT",
        "help": "stop before a higher cost by the prices of the judge file",
    },
    "dry-run": {
        "action": "store_true",
        "help": "print a prompt and the estimated cost, and call nothing",
    },
    "keep-prompts": {"type": Path, "metavar": "FOLDER", "help": "keep each prompt, named by its digest"},
    "cache": {
        "type": Path,
        "metavar": "FILE",
        "help": "replies that are kept (default: ~/.cache/assay/replies.sqlite)",
    },
    "round": {
        "type": positive,
        "default": 1,
        "metavar": "N",
        "help": "more than 1 asks again for what is in the cache",
    },
}
JUDGE_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    **MODEL_OPTIONS,
    "evidence": {
        "type": Path,
        "metavar": "FILE",
        "help": "replies, tokens and cost, as JSON Lines (default: OUTPUT with .evidence.jsonl)",
    },
    "train": {"metavar": "QRELS", "help": "grades of people that the judge of provider assay learns from"},
    "machine": {
        "type": positive,
        "metavar": "ID",
        "help": "on a server, record the judge at this machine first",
    },
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    who = parser.add_mutually_exclusive_group(required=True)
    who.add_argument(
        "--with",
        dest="command",
        type=_command,
        metavar="COMMAND",
        help="the program, with its arguments",
    )
    who.add_argument("--judge", metavar="FILE", help="the judge file: which model judges, and how (TOML)")
    who.add_argument(
        "--replay",
        metavar="FILE",
        help="read the replies in a file of evidence again, and compare the grades",
    )
    add(parser, "--protocol", required=False)
    add(parser, "--topics")
    _add(parser, OPTIONS)
    _add(parser.add_argument_group("with --judge"), JUDGE_OPTIONS)
    add(parser, "--quiet")


def _add(group: argparse._ActionsContainer, options: Mapping[str, Mapping[str, Any]]) -> None:
    for name, option in options.items():
        group.add_argument(f"--{name}", **option)


def _given(arguments: argparse.Namespace, names: Iterable[str]) -> list[str]:
    """The options among these that have another value than by default."""
    usual = {name: option.get("default") for name, option in {**OPTIONS, **JUDGE_OPTIONS}.items()}
    values = ((name, getattr(arguments, name.replace("-", "_"))) for name in names)
    return [name for name, value in values if value not in {usual.get(name), False}]


def run(arguments: argparse.Namespace) -> int:
    if arguments.replay:
        if not arguments.protocol:
            raise InputError("--replay needs --protocol, which has the grades")
        if given := _given(arguments, ["topics", *OPTIONS, *JUDGE_OPTIONS]):
            raise InputError(f"--{given[0]} has no meaning with --replay")
        return judging.replay(arguments.replay, arguments.protocol)
    judge = judging.judge_in(arguments.judge) if arguments.judge else None
    _check(arguments, judge)
    if arguments.server:
        given = [name for name in ONLY_ON_FILES if getattr(arguments, name) is not None]
        if given:
            raise InputError(f"--{given[0]} is for files; with --server, the server knows it")
        if not (arguments.batch.isascii() and arguments.batch.isdigit()):
            raise InputError(
                "--server needs --batch with the number of the batch, as on the page of the machine"
            )
        require_httpx("--server")
        if judge is not None:
            totals = judging.judge_site(arguments, judge)
        else:
            with Program(arguments.command, timeout=arguments.timeout) as program:
                totals = judge_batch(arguments, program)
        where = f"batch {arguments.batch} on {arguments.server}"
    else:
        totals, where = _judge_files(arguments, judge), str(arguments.output)
    if arguments.dry_run:
        return 0
    print_totals(totals, where)
    return INCOMPLETE if totals.left else 0


def _check(arguments: argparse.Namespace, judge: Judge | None) -> None:
    """Refuse options that have no effect with this judge.

    Raises InputError.
    """
    if judge is None:
        if given := _given(arguments, JUDGE_OPTIONS):
            raise InputError(f"--{given[0]} needs --judge")
    elif judge.is_trained and arguments.server:
        raise InputError("--judge: on a site, this judge is started on the page of the machine")
    elif judge.is_trained and not arguments.train:
        raise InputError("--train is missing; it has the grades of people that this judge learns from")
    elif judge.is_trained and (given := _given(arguments, MODEL_OPTIONS)):
        raise InputError(f"--{given[0]} is for models; this judge asks none")
    elif arguments.train and not judge.is_trained:
        raise InputError('--train: only a judge with provider = "assay" is trained')
    elif arguments.machine and not arguments.server:
        raise InputError("--machine needs --server")


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


def _judge_files(arguments: argparse.Namespace, judge: Judge | None) -> Totals:
    """Judge the units of a pool. All files are read first, so that nothing is missing later."""
    rules = _rules(arguments)
    arguments.assessor = arguments.assessor.strip()
    units, topics, documents = _read(arguments, rules)
    guidelines = read_text(arguments.guidelines) if arguments.guidelines else ""

    def asked_about(unit: Unit) -> dict[str, Any]:
        return question(
            unit,
            topics[unit.topic],
            documents,
            rules,
            guidelines=guidelines,
            is_html=arguments.html,
            assessor=arguments.assessor,
        )

    if judge is not None:
        trained = _trained(arguments, rules, topics) if judge.is_trained else None
        return judging.judge_files(arguments, judge, rules, units, asked_about, trained)

    def judged(units: list[Unit], program: Program) -> Iterator[tuple[str, str]]:
        for unit in units:
            asked = asked_about(unit)
            answer = ask(program, asked, rules_of(asked) if rules.asks_about_subtopics else rules)
            if not isinstance(answer, str):
                left = unit.sides(arguments.assessor)[0] if rules.judged.has_votes else ""
                label = rules.label_of(answer[0].choice.key, unit.docno)
                output.add(unit, answer[0], label=label, left=left, seconds=answer[1])
            problem = answer if isinstance(answer, str) else ""
            yield f"line {unit.line} of the units, topic {unit.topic}, document {unit.docno}", problem

    output = Output(arguments.output, assessor=arguments.assessor, batch=arguments.batch, sync_seconds=0.0)
    with output, Program(arguments.command, timeout=arguments.timeout) as program:
        if output.n_cut:
            report(f"{output.path}: the last judgment was incomplete and is removed")

        left = [unit for unit in units if (unit.topic, unit.docno) not in output.done]
        n_judged, n_failed = tally(judged(left, program), len(left), is_quiet=arguments.quiet)
    return Totals(n_judged, len(units) - len(left), len(left) - n_judged, n_failed)


def _trained(arguments: argparse.Namespace, rules: JudgingRules, topics: Container[str]) -> TrainedJudge:
    """The classifier that learns from the grades of people in the topics of the units.

    Raises InputError: the units have no texts, or a graded document is not in the documents.
    """
    if rules.form or rules.judged.has_votes:
        raise InputError("--judge: a text classifier grades documents, and neither pairs nor rows")
    shown = str if arguments.html else plain
    file = parse_judgments(read_file(arguments.train), arguments.train, judge="people")
    graded = [(row, choice_of(row, rules)) for row in file.rows if row.topic in topics]
    texts = read_documents(
        arguments.documents,
        [(row.docno, Unit(row.topic, row.docno, n)) for n, (row, _) in enumerate(graded, 1)],
    )
    return TrainedJudge(
        (row.topic, Example(f"{shown(texts[row.docno].title)}\n{shown(texts[row.docno].body)}", choice.value))
        for row, choice in graded
        if isinstance(choice, Grade)
    )
