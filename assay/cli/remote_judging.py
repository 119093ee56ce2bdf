"""`assay judge --server`: a program judges a batch of a site, through its API."""

import argparse
import os
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import uuid4

from tqdm import tqdm

from assay.cli.judging import IN_A_ROW, ask, report
from assay.client.server import Server
from assay.errors import InputError
from assay.judging.answers import Answer
from assay.judging.program import Program
from assay.protocols.schema import FollowUp, Grade, JudgingRules, NonAnswer

TOKEN = "ASSAY_TOKEN"  # noqa: S105 - the name of a variable
MAX_REASON = 500  # characters of the reason of a skip


class Totals(NamedTuple):
    """Units judged now and before, and those that are left."""

    now: int
    before: int
    left: int
    n_failed: int


def judge_batch(arguments: argparse.Namespace, program: Program) -> Totals:
    """Judge the tasks of a batch until none is left.

    A unit for which the program fails is skipped, with the reason: organizers see it, and it comes back last.

    Raises
    ------
    InputError
        There is no token.
    ServerError
        The site refuses a request, or cannot be reached.
    """
    token = os.environ.get(TOKEN, "")
    if not token:
        raise InputError(
            f"set the variable {TOKEN} to a token of the machine, with the scopes read and judge"
        )
    with Server(arguments.server, token) as server:
        batch = server.get(f"batches/{arguments.batch}/")
        n_judged, n_failed = _judge(server, arguments, program, batch)
        after = server.get(f"batches/{arguments.batch}/")
    return Totals(n_judged, batch["judged"], after["total"] - after["judged"], n_failed)


def _judge(
    server: Server, arguments: argparse.Namespace, program: Program, batch: Mapping[str, Any]
) -> tuple[int, int]:
    """The number of units that were judged, and of those that failed."""
    failed: set[int] = set()
    n_judged = in_a_row = 0
    texts = "?texts=html" if arguments.html else ""
    left, is_quiet = batch["total"] - batch["judged"], arguments.quiet or None
    with tqdm(total=left, desc="judging", unit="unit", disable=is_quiet, leave=False) as bar:
        while task := _post(server, f"batches/{arguments.batch}/next/{texts}"):
            if task["id"] in failed:  # only those are left
                _post(server, f"tasks/{task['id']}/give-back/")
                break
            problem = _judge_task(server, program, task)
            bar.update()
            n_judged, in_a_row = (n_judged, in_a_row + 1) if problem else (n_judged + 1, 0)
            if problem:
                failed.add(task["id"])
                unit = task["unit"]
                report(f"task {task['id']}, topic {unit['topic']}, document {unit['document']}: {problem}")
                _post(server, f"tasks/{task['id']}/skip/", {"reason": problem[:MAX_REASON]})
            if in_a_row == IN_A_ROW:
                report(f"{IN_A_ROW} units in a row failed, so the program is not called again")
                break
    return n_judged, len(failed)


def _post(server: Server, path: str, content: Any = None) -> Any:
    """Send a request of judging. All of them are repeatable: a submission has its own id."""
    return server.post(path, content, is_repeatable=True)


def _judge_task(server: Server, program: Program, task: Mapping[str, Any]) -> str:
    """Ask the program for a task, and submit its answer; what went wrong, or nothing."""
    unit, rules = task["unit"], rules_of(task["unit"])
    members = unit["members"] or [{}]
    answers: dict[str, tuple[Answer, float]] = {}
    for member in members:
        question = {key: value for key, value in (unit | member).items() if key != "members"}
        answer = ask(program, question, rules)
        if isinstance(answer, str):
            return answer
        answers[question["document"]] = answer
    _post(server, f"tasks/{task['id']}/judgments/", _submission(answers, has_members=bool(unit["members"])))
    return ""


def _submission(answers: Mapping[str, tuple[Answer, float]], *, has_members: bool) -> dict[str, Any]:
    seconds = sum(took if answer.seconds is None else answer.seconds for answer, took in answers.values())
    common = {"request_id": str(uuid4()), "seconds": round(seconds)}
    choices = [
        {"choice": each.choice.key, "comment": each.comment, "follow_ups": dict(each.follow_ups)}
        for each, _ in answers.values()
    ]
    if not has_members:
        return common | choices[0]
    return common | {
        "members": [{"document": name} | choice for name, choice in zip(answers, choices, strict=True)]
    }


def rules_of(unit: Mapping[str, Any]) -> JudgingRules:
    """The rules by which the answers to a unit are checked."""
    return JudgingRules(
        layout="topic-document",
        grades=tuple(
            Grade(each["key"], each["grade"], each["label"], each["definition"]) for each in unit["grades"]
        ),
        non_answers=tuple(
            NonAnswer(each["key"], each["label"], each["definition"], each["needs_comment"])
            for each in unit["non_answers"]
        ),
        follow_ups=tuple(
            FollowUp(each["key"], each["label"], each["choices"], tuple(each["after"]))
            for each in unit["follow_ups"]
        ),
    )


def print_totals(totals: Totals, arguments: argparse.Namespace) -> None:
    where = f"batch {arguments.batch} on {arguments.server}"
    print(f"{totals.now} judged now, {totals.before} before, {totals.left} left; {where}")  # noqa: T201
    if totals.n_failed:
        sys.stdout.flush()
        report(f"{totals.n_failed} failed; run the command again to go on")
