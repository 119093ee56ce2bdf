"""Follow a job, a pool, a leaderboard or a run of a site until its end, and print each change of its state.

A job ends as done or failed, a pool and a leaderboard as ready or failed. A run ends when its scores are released to
you, or when it is withdrawn or disqualified.

Exit status: 0 it ended well, 1 it failed, was withdrawn or disqualified, 2 an option is wrong, 3 you may not see it or
are not logged in, 4 the site cannot be reached.
"""

import argparse
import re
import sys
import time
from collections.abc import Mapping
from typing import Any, NamedTuple, TextIO

from assay.cli.main import add, positive
from assay.cli.site import connect
from assay.client.server import Server
from assay.errors import InputError

EXAMPLE = "assay watch jobs/9"
ADDRESS = re.compile(r"(?:.*/)?(jobs|pools|leaderboards|runs)/(\d{1,18})/?")


class State(NamedTuple):
    """The printed text, and whether it ended well; None while it goes on."""

    text: str
    is_good: bool | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "address",
        metavar="ADDRESS",
        help="jobs/9, pools/3, leaderboards/2 or runs/11, or an address that ends so",
    )
    add(parser, "--server")
    parser.add_argument(
        "--every", type=positive, default=2, metavar="SECONDS", help="time between two looks (default: 2)"
    )


def run(arguments: argparse.Namespace) -> int:
    match = ADDRESS.fullmatch(arguments.address)
    if match is None:
        raise InputError(
            f"{arguments.address} is no address to watch; use jobs/9, pools/3, leaderboards/2 or runs/11"
        )
    with connect(arguments) as server:
        is_good = follow(server, match[1], int(match[2]), every=arguments.every, file=sys.stdout)
    return 0 if is_good else 1


def follow(server: Server, noun: str, number: int, *, every: float, file: TextIO | None) -> bool:
    """Wait for the end of something, and return whether it is good. Each change of its state is printed to a file."""
    before = ""
    while True:
        state = _state(server, noun, number)
        if state.text != before and file is not None:
            print(f"{noun}/{number}: {state.text}", file=file, flush=True)
        if state.is_good is not None:
            return state.is_good
        before = state.text
        time.sleep(every)


def _state(server: Server, noun: str, number: int) -> State:
    answer = server.get(f"{noun}/{number}/")
    if noun == "runs":
        return _run(server, answer, number)
    if noun != "jobs":
        status: str = answer["status"]
        return State(status, {"ready": True, "failed": False}.get(status))
    if answer["status"] == "done":
        result = ", ".join(f"{name} {value}" for name, value in answer["result"].items())
        return State(f"done: {answer['title']}{f' ({result})' if result else ''}", is_good=True)
    if answer["status"] == "failed":
        return State(f"failed: {answer['title']}: {answer['error']}", is_good=False)
    progress = f", {answer['n_done']:,} of {answer['n_total']:,}" if answer["n_total"] else ""
    return State(f"{answer['status']}: {answer['title']}{progress}")


def _run(server: Server, submitted: Mapping[str, Any], number: int) -> State:
    if submitted["status"] != "submitted":
        reason = (
            f": {submitted['changes'][-1]['text']}"
            if submitted["changes"] and submitted["changes"][-1]["text"]
            else ""
        )
        return State(f"{submitted['status']}{reason}", is_good=False)
    for board in server.rows(f"tracks/{submitted['track']}/leaderboards/"):
        if board["status"] == "ready" and board["released_to"] != "hidden":
            rows = server.get(f"leaderboards/{board['id']}/")["runs"]
            if any(row["run"] == number for row in rows):
                text = f"scored: leaderboards/{board['id']}, assay results {submitted['track']} shows it"
                return State(text, is_good=True)
    pools = ", ".join(pool["pool"] for pool in submitted["pools"])
    if pools:
        return State(f"in the pool {pools}, not scored yet")
    return State(
        "submitted, can be withdrawn" if submitted["is_accepting_runs"] else "submitted, in no pool yet"
    )
