import os
import subprocess
import sys

import pytest

from tests.helpers.paths import ROOT

# Forking belongs into a process without threads, which that of the tests is not.
PROGRAM = """
import os, sys
from assay.processes import WorkerLost, in_parallel

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


def test_results_come_in_the_order_of_the_items() -> None:
    done = python("print([r for r, _ in in_parallel(work, range(10, 90), processes=3, refusals=TooOdd)])")

    assert done.stdout.strip() == str([n * n for n in range(10, 90)]), done.stderr


def test_several_processes_take_part() -> None:
    program = """
import time
def slow(n):
    time.sleep(0.01)
    return os.getpid()
print(len(set(in_parallel(slow, range(60), processes=3, refusals=TooOdd))))
"""
    assert python(program).stdout.strip() == "3"


@pytest.mark.parametrize("processes", [1, 3])
def test_the_refusal_of_the_first_item_is_raised_whoever_finds_it(processes: int) -> None:
    program = f"""
try:
    in_parallel(work, range(20), processes={processes}, refusals=TooOdd)
except TooOdd as refusal:
    print("refused", refusal)
"""
    assert python(program).stdout.strip() == "refused 7"


@pytest.mark.parametrize("item", [100, 200])
def test_a_process_that_dies_is_said_and_leaves_no_half_result(item: int) -> None:
    program = f"""
import time
def dies(n):
    if os.getpid() == parent:
        time.sleep(0.05)
    return work(n)
try:
    in_parallel(dies, [{item}] * 8, processes=2, refusals=TooOdd)
except WorkerLost as lost:
    print("lost:", lost)
"""
    done = python(program)

    assert done.stdout.startswith("lost: a process ended with status"), done.stderr


def test_what_was_taken_up_is_told() -> None:
    done = python("in_parallel(work, range(10, 13), processes=1, refusals=TooOdd, taken=print)")

    assert done.stdout.split() == ["0", "1", "2"]
