"""`assay judge`: what it does with one unit, and how it judges a batch of a site, through its API."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from time import monotonic
from typing import Any, NamedTuple
from uuid import uuid4

from tqdm import tqdm

from assay.cli.main import TOKEN
from assay.client.server import Server, ServerError
from assay.errors import InputError
from assay.protocols.schema import FormRules, Grade, JudgingRules, NonAnswer, Question
from assay.structure import structured
from assay_extensions.machines.work.answers import Answer, BadAnswer, read_answer
from assay_extensions.machines.work.program import Program, ProgramFailed

IN_A_ROW = 5  # failures after which the program is not called again
MAX_REASON = 500  # characters of the reason of a skip


def ask(program: Program, question: Mapping[str, Any], rules: JudgingRules) -> tuple[Answer, float] | str:
    """The program's answer to a unit, and the seconds that it took; or what went wrong."""
    start = monotonic()
    try:
        line = program.ask(json.dumps(question, ensure_ascii=False).encode() + b"\n")
        answer = read_answer(line, topic=question["topic"], docno=question["docno"], rules=rules)
    except ProgramFailed as error:
        return str(error)
    except BadAnswer as error:
        if error.is_lost:
            program.stop()
        return f"line {program.n_answers} of the answers: {error}"
    return answer, monotonic() - start


def report(message: str) -> None:
    """Print a message above the progress bar."""
    with tqdm.external_write_mode(file=sys.stderr):
        print(f"assay judge: {message}", file=sys.stderr)  # noqa: T201


def tally(results: Iterable[tuple[str, str]], total: int, *, is_quiet: bool) -> tuple[int, int]:
    """The numbers of units that were judged, and of those that failed, with a progress bar on a terminal.

    `results` has the name of each unit, and what went wrong. After several failures in a row, it is not read further.
    """
    n_judged = n_failed = in_a_row = 0
    for name, problem in tqdm(
        results, total=total, desc="judging", unit="unit", disable=is_quiet or None, leave=False
    ):
        if not problem:
            n_judged, in_a_row = n_judged + 1, 0
            continue
        n_failed, in_a_row = n_failed + 1, in_a_row + 1
        report(f"{name}: {problem}")
        if in_a_row == IN_A_ROW:
            report(f"{IN_A_ROW} units in a row failed, so no more units are judged now")
            break
    return n_judged, n_failed


class Totals(NamedTuple):
    """Units judged now and before, and those that are left."""

    now: int
    before: int
    left: int
    n_failed: int


def print_totals(totals: Totals, where: str) -> None:
    print(f"{totals.now} judged now, {totals.before} before, {totals.left} left; {where}")  # noqa: T201
    if totals.n_failed:
        sys.stdout.flush()
        report(f"{totals.n_failed} failed; run the command again to go on")


def token_of() -> str:
    """The token of the machine.

    Raises InputError: it is not set.
    """
    if token := os.environ.get(TOKEN, ""):
        return token
    raise InputError(f"set the variable {TOKEN} to a token of the machine, with the scopes read and judge")


def judge_batch(arguments: argparse.Namespace, program: Program) -> Totals:
    """Judge the tasks of a batch of a site until none is left.

    A unit for which the program fails is skipped, with the reason: organizers see it, and it comes back last.

    Raises:
        InputError: There is no token.
        ServerError: The site refuses a request, or cannot be reached.
    """
    with Server(arguments.server, token_of()) as server:
        batch = server.get(f"batches/{arguments.batch}/")
        left = batch["n_units"] - batch["n_judged"]
        n_judged, n_failed = tally(_judged(server, arguments, program), left, is_quiet=arguments.quiet)
        after = server.get(f"batches/{arguments.batch}/")
    return Totals(n_judged, batch["n_judged"], after["n_units"] - after["n_judged"], n_failed)


def _judged(server: Server, arguments: argparse.Namespace, program: Program) -> Iterator[tuple[str, str]]:
    """Judge the tasks of a batch; yields the name of each, and what went wrong."""
    post = partial(server.post, is_repeatable=True)  # all requests are: a submission has its own id
    failed: set[int] = set()
    texts = "?texts=html" if arguments.html else ""
    while task := post(f"batches/{arguments.batch}/next/{texts}"):
        number, unit = task["id"], task["unit"]
        if number in failed:  # only those are left
            post(f"tasks/{number}/give-back/")
            return
        try:
            problem = _judge_task(post, program, task)
        except ServerError as error:
            if error.code != "judged-elsewhere":
                raise
            report(f"task {number}: another program judged it meanwhile; its judgment stays")
            continue
        if problem:
            failed.add(number)
            post(f"tasks/{number}/skip/", {"reason": problem[:MAX_REASON]})
        yield f"task {number}, topic {unit['topic']}, document {unit['docno']}", problem


def _judge_task(post: Callable[..., Any], program: Program, task: Mapping[str, Any]) -> str:
    """Ask the program for a task, and submit its answer; what went wrong, or nothing."""
    unit, rules, seconds = task["unit"], rules_of(task["unit"]), 0.0
    choices: list[dict[str, Any]] = []
    for member in unit["members"] or [{}]:
        question = {key: value for key, value in (unit | member).items() if key != "members"}
        result = ask(program, question, rules)
        if isinstance(result, str):
            return result
        answer, took = result
        seconds += took if answer.seconds is None else answer.seconds
        choice = {"choice": answer.choice.key, "comment": answer.comment}
        choices.append({"docno": question["docno"], **choice, "answers": dict(answer.answers)})
    content: dict[str, Any] = {"request_id": str(uuid4()), "seconds": round(seconds)}
    if unit["members"]:
        content["members"] = choices
    else:
        content |= {key: value for key, value in choices[0].items() if key != "docno"}
    post(f"tasks/{task['id']}/judgments/", content)
    return ""


def rules_of(unit: Mapping[str, Any]) -> JudgingRules:
    """The rules by which the answers to a unit are checked."""
    takes_others = unit.get("has_other_answers", False)  # of a frame
    return JudgingRules(
        layout="form" if takes_others else "topic-document",
        form=FormRules(fields=(), html="", frame=True) if takes_others else None,
        given_grades=tuple(
            Grade(grade["key"], grade["grade"], grade["label"], grade["definition"])
            for grade in unit["grades"]
        ),
        non_answers=tuple(
            NonAnswer(
                non_answer["key"], non_answer["label"], non_answer["definition"], non_answer["needs_comment"]
            )
            for non_answer in unit["non_answers"]
        ),
        questions=tuple(
            structured(
                Question,
                {key: value for key, value in question.items() if key != "choices"}
                | {"choice": question["choices"] if question["kind"] != "yes-no" else []},
            )
            for question in unit["questions"]
        ),
    )
