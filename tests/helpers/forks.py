"""Celery's processes as copies of one that has imported the site: an import takes more than a second of processor time.

A copy is a process as any other: it has a process group and a log of its own, and can be killed.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, cast

MODULE = "tests.helpers.forks"


class Fork:
    """A copy, with what the tests use of a `subprocess.Popen`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        """None while it runs; its exit code is not known."""
        return None if Path(f"/proc/{self.pid}").exists() else 0

    def wait(self, timeout: float = float("inf")) -> int:
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(MODULE, timeout)
            time.sleep(0.02)
        return 0


class Original:
    """The process that has imported the site. It ends with `end`, or when its standard input does."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = dict(environment)
        command = [sys.executable, "-m", MODULE]
        self.process = subprocess.Popen(
            command, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.orders = cast("IO[str]", self.process.stdin)
        self.answers = cast("IO[str]", self.process.stdout)

    def fork(self, words: Sequence[str], log: Path) -> Fork:
        """Start the command `celery` with words after it."""
        self.orders.write(json.dumps([*words, str(log)]) + "\n")
        self.orders.flush()
        return Fork(int(self.answers.readline()))

    def end(self) -> None:
        self.orders.close()
        self.process.wait()
        self.answers.close()


def main() -> None:
    from celery.bin import celery

    from config.celery import app

    app.loader.import_default_modules()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel removes copies that have ended
    for line in sys.stdin:
        *words, log = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _separate(log)
            sys.exit(celery.celery(words, prog_name="celery", auto_envvar_prefix="CELERY"))
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


def _separate(log: str) -> None:
    """Leave the original: its process group, its input and output, and how it treats children that end."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for old, new in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (out, 2)):
        os.dup2(old, new)


if __name__ == "__main__":
    main()
