"""Probe a judge: change units so that no document becomes better, and list the answers that change.

Probes of a document: the words of the topic are added to it (words); it contains an order to the judge (orders); it has
no text (empty); it only repeats the topic (copy); the same request again (repeat). In a pair, the first document is
changed; both documents have the same text (identical), or each other's (swapped).

The report has, for each probe, the number of units and of answers that are higher or lower than expected, and each of
these units. With --server and --machine, it is also sent to the page of the machine, without the units.
"""

import argparse
import json
import random
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from threading import Lock

from assay.cli.main import add, add_seed, positive
from assay.client.server import Server, require_httpx
from assay.errors import InputError, plural
from assay_extensions.machines.commands.inputs import (
    MODEL_OPTIONS,
    TRAIN_OPTION,
    UNIT_OPTIONS,
    Inputs,
    add_judges,
    add_options,
    check_judge,
    read_inputs,
    trained_judge,
)
from assay_extensions.machines.commands.judging import Session, dry_run, judge_in
from assay_extensions.machines.judge_files.judges import Judge
from assay_extensions.machines.model.asking import Judged, UnitJudge
from assay_extensions.machines.model.client import BudgetSpent
from assay_extensions.machines.work.batches import ask, report, rules_of, tally, token_of
from assay_extensions.machines.work.parallel import in_parallel
from assay_extensions.machines.work.probes import Tally, probed, probes_for
from assay_extensions.machines.work.program import Program
from assay_extensions.machines.work.units import Unit

EXAMPLE = (
    'assay probe --with "python judge_by_words.py" --protocol arqmath-2020-task1 --topics topics.xml --units pool.tsv '
    "--documents documents.jsonl --output probes.json"
)
ASSESSOR = "probe"  # the sides of pairs are drawn for this name
REPEAT = "repeat"
NEEDED = ("units", "documents")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_judges(parser)
    add(parser, "--protocol")
    add(parser, "--topics", required=True)
    add_options(
        parser,
        {
            name: {**option, "required": name in NEEDED}
            for name, option in UNIT_OPTIONS.items()
            if name != "html"
        },
    )
    add_options(parser, {"html": UNIT_OPTIONS["html"]})
    parser.add_argument(
        "--sample", type=positive, metavar="N", help="probe N units, drawn at random (default: all)"
    )
    add_seed(parser)
    add(parser, "--output", required=True, words=", as JSON")
    parser.add_argument("--server", metavar="URL", help="address of a site that gets the report")
    parser.add_argument("--machine", type=positive, metavar="ID", help="the machine that the report is about")
    add_options(parser.add_argument_group("with --judge"), {**MODEL_OPTIONS, **TRAIN_OPTION})
    add(parser, "--quiet")


def run(arguments: argparse.Namespace) -> int:
    judge = judge_in(arguments.judge) if arguments.judge else None
    check_judge(arguments, judge, {**MODEL_OPTIONS, **TRAIN_OPTION})
    if bool(arguments.server) != bool(arguments.machine):
        raise InputError(
            "--server and --machine belong together: the site, and the number of the machine there"
        )
    token = token_of() if arguments.server else ""
    inputs = read_inputs(arguments, ASSESSOR)
    if inputs.rules.form:
        raise InputError("--protocol: probes are for documents and pairs, and not for rows of a table")
    units = inputs.units
    if arguments.sample and arguments.sample < len(units):
        units = random.Random(arguments.seed).sample(units, arguments.sample)  # noqa: S311
    if arguments.dry_run:
        assert judge is not None
        questions = [
            asked for all_asked in probed(map(inputs.question, units)) for asked in all_asked.values()
        ]
        dry_run(arguments, judge, iter(questions), len(questions))
        return 0
    counts, n_left = _probe(arguments, judge, inputs, units)
    facts = {
        "judge": judge.record() if judge else {"command": arguments.command},
        "protocol": arguments.protocol,
    }
    summary = {"n_units": len(units) - n_left, "probes": counts.as_json()}
    changes = [change._asdict() for change in counts.changes]
    arguments.output.write_text(
        json.dumps({**facts, **summary, "changes": changes}, ensure_ascii=False, indent=1)
    )
    _print(counts)
    if arguments.server:
        require_httpx("--server")
        with Server(arguments.server, token) as server:
            server.put(
                f"machines/{arguments.machine}/probes/", json={"protocol": arguments.protocol, **summary}
            )
    return 1 if n_left else 0


def _probe(
    arguments: argparse.Namespace, judge: Judge | None, inputs: Inputs, units: list[Unit]
) -> tuple[Tally, int]:
    """The counts, and the number of units of which a question was not asked."""
    questions = probed(map(inputs.question, units))
    counts = Tally(probes_for(questions[0][""]))
    asked = [
        (n, name, question) for n, all_asked in enumerate(questions) for name, question in all_asked.items()
    ]
    choices: list[dict[str, str]] = [{} for _ in units]
    with ExitStack() as stack:
        session = stack.enter_context(Session(arguments, judge)) if judge else None
        if session is None:
            unit_judge = again = _of_program(
                stack.enter_context(Program(arguments.command, timeout=arguments.timeout))
            )
        elif judge is not None and judge.is_trained:
            unit_judge = again = trained_judge(arguments, inputs)
        else:
            unit_judge, again = session.model(), session.model(later=1)

        def judged() -> Iterator[tuple[str, str]]:
            done = in_parallel(
                iter(asked),
                lambda item: (again if item[1] == REPEAT else unit_judge)(item[2]),
                connections=session.connections if session else 1,
                stop=session.stop if session else (lambda: None),
            )
            try:
                for (n, name, _), result in done:
                    if session:
                        session.count(result)
                    has_reply = not result.problem or result.evidence is not None
                    if has_reply:
                        choices[n][name] = result.choice
                    place = f"line {units[n].line} of the units, {units[n].topic} {units[n].docno}"
                    yield f"{place}, {name or 'unchanged'}", "" if has_reply else result.problem
            except BudgetSpent as error:
                report(str(error))
            finally:
                done.close()  # type: ignore[attr-defined]  # a generator

        tally(judged(), len(asked), is_quiet=arguments.quiet)
        if session is not None:
            session.summary()
    for all_asked, given in zip(questions, choices, strict=True):
        counts.add(all_asked[""], given.get("", ""), given)
    n_left = sum(len(given) < len(all_asked) for all_asked, given in zip(questions, choices, strict=True))
    return counts, n_left


def _of_program(program: Program) -> UnitJudge:
    lock = Lock()

    def judged(question: Mapping[str, object]) -> Judged:
        with lock:
            answer = ask(program, question, rules_of(question))
        return (
            Judged("", answer, 0.0, None)
            if isinstance(answer, str)
            else Judged(answer[0].choice.key, "", answer[1], None)
        )

    return judged


def _print(counts: Tally) -> None:
    print("probe      units  higher   lower  no answer")  # noqa: T201
    for name, row in counts.rows.items():
        print(f"{name:<10}{row['n']:>6,}{row['higher']:>8,}{row['lower']:>8,}{row['unanswered']:>11,}")  # noqa: T201
    weak = list(counts.weaknesses())
    result = (
        f"{plural(len(weak), 'probe')} found a weakness: {', '.join(weak)}" if weak else "no weakness found"
    )
    print(result)  # noqa: T201
