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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.cli.main import add, positive
from assay.client.server import require_httpx
from assay.errors import InputError
from assay_extensions.machines.commands import judging
from assay_extensions.machines.commands.inputs import (
    MODEL_OPTIONS,
    ON_FILES,
    TRAIN_OPTION,
    UNIT_OPTIONS,
    add_judges,
    add_options,
    check_judge,
    given_of,
    read_inputs,
    trained_judge,
)
from assay_extensions.machines.judge_files.judges import Judge
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
    Unit,
)

INCOMPLETE = 1  # exit status
ONLY_ON_FILES = (*ON_FILES, "assessor", "output", "guidelines", "evidence")

EXAMPLE = (
    'assay judge --with "python judge_by_words.py" --protocol arqmath-2020-task1 --topics topics.xml --units pool.tsv '
    "--documents documents.jsonl --assessor words --output judgments-words.jsonl"
)


OPTIONS: Mapping[str, Mapping[str, Any]] = {
    **UNIT_OPTIONS,
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
}
JUDGE_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    **MODEL_OPTIONS,
    **TRAIN_OPTION,
    "evidence": {
        "type": Path,
        "metavar": "FILE",
        "help": "replies, tokens and cost, as JSON Lines (default: OUTPUT with .evidence.jsonl)",
    },
    "machine": {
        "type": positive,
        "metavar": "ID",
        "help": "on a server, record the judge at this machine first",
    },
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    who = add_judges(parser)
    who.add_argument(
        "--replay",
        metavar="FILE",
        help="read the replies in a file of evidence again, and compare the grades",
    )
    add(parser, "--protocol", required=False)
    add(parser, "--topics")
    add_options(parser, OPTIONS)
    add_options(parser.add_argument_group("with --judge"), JUDGE_OPTIONS)
    add(parser, "--quiet")


def run(arguments: argparse.Namespace) -> int:
    if arguments.replay:
        if not arguments.protocol:
            raise InputError("--replay needs --protocol, which has the grades")
        if given := given_of(arguments, {"topics": {}, **OPTIONS, **JUDGE_OPTIONS}):
            raise InputError(f"--{given[0]} has no meaning with --replay")
        return judging.replay(arguments.replay, arguments.protocol)
    judge = judging.judge_in(arguments.judge) if arguments.judge else None
    check_judge(arguments, judge, JUDGE_OPTIONS)
    if judge is not None and judge.is_trained and arguments.server:
        raise InputError("--judge: on a site, this judge is started on the page of the machine")
    if arguments.machine and not arguments.server:
        raise InputError("--machine needs --server")
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


def _judge_files(arguments: argparse.Namespace, judge: Judge | None) -> Totals:
    """Judge the units of a pool. All files are read first, so that nothing is missing later."""
    arguments.assessor = (arguments.assessor or "").strip()
    inputs = read_inputs(arguments, arguments.assessor, "assessor", "output")
    rules, units = inputs.rules, inputs.units
    if judge is not None:
        trained = trained_judge(arguments, inputs) if judge.is_trained else None
        return judging.judge_files(arguments, judge, inputs, trained)

    def judged(units: list[Unit], program: Program) -> Iterator[tuple[str, str]]:
        for unit in units:
            asked = inputs.question(unit)
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
