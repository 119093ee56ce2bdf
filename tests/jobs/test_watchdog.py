"""A process in which no Python runs any more ends by itself."""

import subprocess
import sys

from jobs.watchdog import watched

ENDLESS = """
import re
from jobs.watchdog import watched
with watched(0.5):
    print("started", flush=True)
    re.match("(a|a)*b", "a" * 100)
"""


def test_process_that_is_stuck_in_c_code_ends_with_a_traceback() -> None:
    process = subprocess.run([sys.executable, "-c", ENDLESS], capture_output=True, text=True, check=False)

    assert (process.returncode, process.stdout) == (1, "started\n")
    assert "Timeout" in process.stderr
    assert "re.match" in process.stderr or "__init__.py" in process.stderr


def test_process_that_runs_is_left_alone() -> None:
    with watched(60):
        pass
