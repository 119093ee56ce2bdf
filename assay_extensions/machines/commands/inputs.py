"""The options and files that `assay judge` and `assay probe` share."""

import argparse
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from assay.cli.main import positive
from assay.errors import InputError
from assay.formats.compression import read_file
from assay.formats.judgments.cells import choice_of
from assay.formats.judgments.reader import parse_judgments
from assay.formats.text import read_text
from assay.formats.topics.reader import TopicRow
from assay.html.sanitize import plain
from assay.protocols.loader import load_protocol
from assay.protocols.schema import Grade, JudgingRules
from assay_extensions.machines.judge_files.judges import Judge
from assay_extensions.machines.model.classifier import Example, TrainedJudge
from assay_extensions.machines.work.units import (
    Text,
    Unit,
    question,
    read_documents,
    read_table,
    read_topics_of,
    read_units,
)

ON_FILES = ("protocol", "topics", "units", "documents")
NOT_OF_ROWS = ("topics", "units")  # the table has them


def _amount(text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal(0)
    if not (amount.is_finite() and amount > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive amount, such as 2.50")
    return amount


def _command(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a command: {error}") from None
    if not words:
        raise argparse.ArgumentTypeError("the command is empty")
    return words


UNIT_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "units": {"metavar": "FILE", "help": "pool: topic, docno and position per line, separated by tabs"},
    "documents": {
        "metavar": "FILE",
        "help": "documents as lines of JSON; plain, gz, xz, bz2 or zip. for a form, the table of rows, CSV or TSV",
    },
    "guidelines": {"metavar": "FILE", "help": "text that the program gets with every unit"},
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
        "help": "concurrent requests (default: 32)",
    },
    "max-calls": {"type": positive, "metavar": "N", "help": "stop after this many requests"},
    "max-tokens": {"type": positive, "metavar": "N", "help": "stop before more tokens, in and out"},
    "max-cost": {
        "type": _amount,
        "metavar": "AMOUNT",
        "help": "stop before the cost, by the prices of the judge file, exceeds this amount",
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
TRAIN_OPTION: Mapping[str, Mapping[str, Any]] = {
    "train": {"metavar": "QRELS", "help": "grades of people that the judge of provider assay learns from"},
}


def add_judges(parser: argparse.ArgumentParser) -> "argparse._MutuallyExclusiveGroup":
    """Add --with and --judge, one of which is required."""
    who = parser.add_mutually_exclusive_group(required=True)
    who.add_argument(
        "--with",
        dest="command",
        type=_command,
        metavar="COMMAND",
        help="the program, with its arguments",
    )
    who.add_argument("--judge", metavar="FILE", help="the judge file: which model judges, and how (TOML)")
    return who


def add_options(group: argparse._ActionsContainer, options: Mapping[str, Mapping[str, Any]]) -> None:
    for name, option in options.items():
        group.add_argument(f"--{name}", **option)


def given_of(arguments: argparse.Namespace, options: Mapping[str, Mapping[str, object]]) -> list[str]:
    """The options whose value is not the default."""
    values = (
        (name, getattr(arguments, name.replace("-", "_")), option.get("default"))
        for name, option in options.items()
    )
    return [name for name, value, usual in values if value not in {usual, False}]


def check_judge(
    arguments: argparse.Namespace, judge: Judge | None, options: Mapping[str, Mapping[str, object]]
) -> None:
    """Refuse options that have no effect with this judge.

    Raises InputError.
    """
    if judge is None:
        if given := given_of(arguments, options):
            raise InputError(f"--{given[0]} needs --judge")
    elif judge.is_trained and not arguments.train:
        raise InputError("--train is missing; it has the grades of people that this judge learns from")
    elif judge.is_trained and (given := given_of(arguments, MODEL_OPTIONS)):
        raise InputError(f"--{given[0]} is for models; this judge asks none")
    elif arguments.train and not judge.is_trained:
        raise InputError('--train: only a judge with provider = "assay" is trained')


@dataclass(frozen=True)
class Inputs:
    """Units of files, with what a judge gets about each. Rows of a table have neither topics nor documents."""

    rules: JudgingRules
    units: list[Unit]
    topics: Mapping[str, TopicRow]
    documents: Mapping[str, Text]
    guidelines: str
    is_html: bool
    assessor: str

    def question(self, unit: Unit) -> dict[str, Any]:
        return question(
            unit,
            self.topics[unit.topic],
            self.documents,
            self.rules,
            guidelines=self.guidelines,
            is_html=self.is_html,
            assessor=self.assessor,
        )


def read_inputs(arguments: argparse.Namespace, assessor: str, *needed: str) -> Inputs:
    """Read all files, so that nothing is missing later.

    Args:
        needed: more options that are required.

    Raises InputError: a file cannot be read, the protocol cannot be judged on files, or an option is missing or has
        no meaning here.
    """
    rules = _rules(arguments, needed)
    guidelines = read_text(arguments.guidelines) if arguments.guidelines else ""
    topics: Mapping[str, TopicRow]
    if rules.form:
        units = read_table(arguments.documents, rules.form)
        topics = {unit.topic: TopicRow(unit.topic, line=unit.line) for unit in units}
        return Inputs(rules, units, topics, {}, guidelines, arguments.html, assessor)
    units = read_units(arguments.units)
    topics = read_topics_of(str(arguments.topics), units, is_formula=rules.judged.is_formula)
    named = [
        (docno, unit)
        for unit in units
        for docno in (unit.sides(assessor) if rules.judged.has_votes else (unit.docno,))
    ]
    documents = read_documents(arguments.documents, named)
    return Inputs(rules, units, topics, documents, guidelines, arguments.html, assessor)


def _rules(arguments: argparse.Namespace, needed: Iterable[str]) -> JudgingRules:
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
    if missing := [
        name for name in (*ON_FILES, *needed) if name not in without and not getattr(arguments, name)
    ]:
        raise InputError(f"--{missing[0]} is missing; give it, or --server")
    if given := [name for name in without if getattr(arguments, name)]:
        raise InputError(f"--{given[0]} has no meaning for the rows of a table: --documents is the table")
    return rules


def trained_judge(arguments: argparse.Namespace, inputs: Inputs) -> TrainedJudge:
    """The classifier that learns from the grades of people in the topics of the units.

    Raises InputError: the units have no texts, or a graded document is not in the documents.
    """
    rules = inputs.rules
    if rules.form or rules.judged.has_votes:
        raise InputError("--judge: a text classifier grades documents, and neither pairs nor rows")
    shown = str if arguments.html else plain
    file = parse_judgments(read_file(arguments.train), arguments.train, judge="people")
    graded = [(row, choice_of(row, rules)) for row in file.rows if row.topic in inputs.topics]
    texts = read_documents(
        arguments.documents,
        [(row.docno, Unit(row.topic, row.docno, n)) for n, (row, _) in enumerate(graded, 1)],
    )
    return TrainedJudge(
        (row.topic, Example(f"{shown(texts[row.docno].title)}\n{shown(texts[row.docno].body)}", choice.value))
        for row, choice in graded
        if isinstance(choice, Grade)
    )
