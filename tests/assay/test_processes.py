import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from math import isqrt
from pathlib import Path

import pytest

from assay.processes import WorkerLost, map_fresh
from server.paths import ROOT

# A process with threads must not fork, and the process of the tests has threads.
PROGRAM = """
import os, sys, time
from functools import partial
from assay.processes import WorkerLost, map_forked, map_fresh

class TooOdd(Exception):
    pass

def work(n):
    if n in {7, 9}:
        raise TooOdd(n)
    if n == 100:
        os._exit(3) if os.getpid() != parent else None
    if n == 200 and os.getpid() != parent:
        raise ZeroDivisionError(n)
    return n * n, os.getpid()

parent = os.getpid()
"""


def python(program: str) -> "subprocess.CompletedProcess[str]":
    line = [sys.executable, "-W", "error", "-c", PROGRAM + program]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_forked_results_come_in_the_order_of_the_items() -> None:
    done = python("print([r for r, _ in map_forked(work, range(10, 90), processes=3, refusals=TooOdd)])")

    assert done.stdout.strip() == str([n * n for n in range(10, 90)]), done.stderr


def test_warning_of_newer_pythons_about_forks_is_no_error() -> None:
    done = python("""
import warnings
fork = os.fork
def warning_fork():
    child = fork()
    warnings.warn("This process is multi-threaded, use of fork() may lead to deadlocks", DeprecationWarning)
    return child
os.fork = warning_fork
print(len(map_forked(work, range(10, 20), processes=2)))
""")

    assert (done.stdout.strip(), done.stderr) == ("10", "")


def test_several_forked_processes_take_part() -> None:
    done = python("""
def slow(n):
    time.sleep(0.01)
    return os.getpid()
print(len(set(map_forked(slow, range(60), processes=3))))
""")

    assert done.stdout.strip() == "3", done.stderr


@pytest.mark.parametrize("processes", [1, 3])
def test_refusal_of_the_first_refused_item_is_raised(processes: int) -> None:
    done = python(f"""
try:
    map_forked(work, range(20), processes={processes}, refusals=TooOdd)
except TooOdd as refusal:
    print("refused", refusal)
""")

    assert done.stdout.strip() == "refused 7", done.stderr


@pytest.mark.parametrize("item", [100, 200])
def test_forked_process_that_dies_is_reported(item: int) -> None:
    done = python(f"""
def dies(n):
    if os.getpid() == parent:
        time.sleep(0.05)
    return work(n)
try:
    map_forked(dies, [{item}] * 8, processes=2, refusals=TooOdd)
except WorkerLost as lost:
    print("lost:", lost)
""")

    assert done.stdout.startswith("lost: a process ended with status"), done.stderr


def test_number_of_begun_items_is_reported() -> None:
    done = python("map_forked(work, range(10, 13), processes=1, refusals=TooOdd, started=print)")

    assert done.stdout.split() == ["0", "1", "2"]


def test_error_in_the_parent_ends_the_forked_processes() -> None:
    done = python("""
def sleeps(n):
    if os.getpid() == parent:
        time.sleep(0.2)
        raise ZeroDivisionError(n)
    time.sleep(600)
try:
    map_forked(sleeps, range(9), processes=3)
except ZeroDivisionError:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        print("no children")
""")

    assert done.stdout.strip() == "no children", done.stderr


@pytest.mark.parametrize("processes", [0, 1, 3])
def test_fresh_results_come_with_their_items_in_order(processes: int) -> None:
    results = list(map_fresh(isqrt, iter(range(200)), processes=processes))

    assert results == [(n, isqrt(n)) for n in range(200)]


def test_fresh_processes_accept_large_items_and_bound_arguments() -> None:
    items = [b"x" * 3_000_000, b"y"]

    results = list(map_fresh(partial(bytes.join, b"-"), [[item, item] for item in items], processes=2))

    assert [result for _, result in results] == [item + b"-" + item for item in items]


def test_no_items_give_no_results() -> None:
    assert list(map_fresh(isqrt, [], processes=2)) == []


def test_fresh_processes_hold_one_item_each() -> None:
    read: list[int] = []

    def items() -> Iterator[int]:
        for n in range(100):
            read.append(n)
            yield n

    with closing(map_fresh(isqrt, items(), processes=3)) as results:
        next(results)

    assert read == [0, 1, 2, 3]


def test_error_of_a_fresh_process_is_reported(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(WorkerLost, match="a process ended with status 1 before it was done"):
        list(map_fresh(isqrt, [4, -1], processes=2))
    assert "ValueError" in capfd.readouterr().err


def test_killed_fresh_process_is_reported() -> None:
    with pytest.raises(WorkerLost, match=f"status -{signal.SIGKILL:d} "):
        list(map_fresh(signal.raise_signal, [signal.SIGKILL], processes=2))


def test_printing_does_not_disturb_the_results(capfd: pytest.CaptureFixture[str]) -> None:
    assert list(map_fresh(print, ["a line"], processes=2)) == [("a line", None)]
    assert capfd.readouterr().err == "a line\n"


@pytest.mark.parametrize(
    "program",
    [
        "map_forked(time.sleep, [0.3] * 100, processes=3)",
        "list(map_fresh(time.sleep, [0.3] * 100, processes=3))",
    ],
    ids=["forked", "fresh"],
)
def test_killed_parent_leaves_no_processes(program: str) -> None:
    assert_children_end(program, n=2)


def test_command_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run")  # the command waits for somebody who writes

    assert_children_end(
        f"""
from assay.processes import command
words = ["check", "--protocol", "trec-adhoc", {str(tmp_path / "run")!r}]
with command(words, errors=sys.stderr, environment={{}}) as process:
    process.wait()
""",
        n=1,
    )


def assert_children_end(program: str, *, n: int) -> None:
    """Kill a process that has started others, at least `n`, and wait until they end."""
    line = [sys.executable, "-c", PROGRAM + program]
    with subprocess.Popen(line, cwd=ROOT) as parent:
        children = _children(parent.pid, at_least=n)
        parent.kill()

    deadline = time.monotonic() + 60
    while any(map(_is_running, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(_is_running, children))


def _children(parent: int, *, at_least: int) -> list[int]:
    """The children of a process, once there are enough of them."""
    deadline = time.monotonic() + 60
    children: list[int] = []
    while len(children) < at_least and time.monotonic() < deadline:
        time.sleep(0.05)
        children = [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
    assert len(children) >= at_least
    return children


def _is_running(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2]
    except FileNotFoundError:
        return False
    return not status.startswith("Z")
