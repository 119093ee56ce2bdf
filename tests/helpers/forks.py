"""Processes of Assay as copies of one that has imported the site: an import takes two seconds of processor time.

A copy is a process as any other: it has a process group and a log of its own, and can be killed. It runs what Python
would run with the same words: `-m celery …`, `manage.py …` or `-c …`.
"""

import gc
import json
import os
import runpy
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NoReturn, cast

MODULE = "tests.helpers.forks"


class Fork:
    """A copy, with what the tests use of a `subprocess.Popen`."""

    def __init__(self, original: "Original", pid: int) -> None:
        self.original = original
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """None while it runs, and then its exit code, or the number of the signal that ended it, below zero."""
        if self.returncode is None:
            self.returncode = self.original.ask({"ended": self.pid})
        return self.returncode

    def wait(self, timeout: float = float("inf")) -> int:
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(MODULE, timeout)
            time.sleep(0.02)
        return code


class Original:
    """The process that has imported the site. It ends with `end`, or when its standard input does."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        command = [sys.executable, "-m", MODULE]
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.orders = cast("IO[str]", self.process.stdin)
        self.answers = cast("IO[str]", self.process.stdout)

    def fork(self, command: Sequence[str], log: Path) -> Fork:
        """Run what Python would run with these words."""
        return Fork(self, self.ask({"command": command, "log": str(log)}))

    def ask(self, order: dict[str, Any]) -> Any:
        self.orders.write(json.dumps(order) + "\n")
        self.orders.flush()
        return json.loads(self.answers.readline())

    def end(self) -> None:
        self.orders.close()
        self.process.wait()
        self.answers.close()


def main() -> None:
    for module in ("celery.apps.beat", "celery.apps.worker", "celery.bin.celery", "gunicorn.app.wsgiapp"):
        import_module(module)
    from django.urls import reverse

    from config.celery import app

    app.loader.import_default_modules()
    import_module("celery.concurrency.prefork")
    import_module("kombu.transport.redis")
    reverse("login")  # imports the pages
    gc.collect()
    gc.freeze()  # what a copy collects is its own
    for line in sys.stdin:
        order = json.loads(line)
        if "command" in order:
            answer: int | None = os.fork()
            if answer == 0:
                _separate(order["log"])
                _run(order["command"])
        else:
            pid, status = os.waitpid(order["ended"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if pid else None
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


def _separate(log: str) -> None:
    """Leave the original: its process group, its input and its output."""
    os.setsid()
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for old, new in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (out, 2)):
        os.dup2(old, new)


def _run(command: list[str]) -> NoReturn:
    option, *words = command
    if option == "-c":
        sys.argv = ["-c", *words[1:]]
        exec(words[0], {"__name__": "__main__"})
    elif option == "-m":
        sys.argv = words
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = command
        runpy.run_path(option, run_name="__main__")
    sys.exit()


if __name__ == "__main__":
    main()
