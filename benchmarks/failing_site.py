"""The processes of a site that are killed while it is used, for `judging_under_failure.py`."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from benchmarks.judging_speed import ROOT, wait_for


class Site:
    """gunicorn, a Celery worker and Celery beat. A killed one is started again."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        bind = f"127.0.0.1:{self.port}"
        # fmt: off
        self.commands = {
            "web": ["gunicorn", "-c", "server/gunicorn.py", "-b", bind, "config.wsgi"],
            "worker": ["celery", "-A", "config", "worker", "--concurrency", "1", "--loglevel", "ERROR"],
            "beat": ["celery", "-A", "config", "beat", "--loglevel", "ERROR"],
        }
        # fmt: on
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.kills: Counter[str] = Counter()
        self.lost: set[tuple[int, int]] = set()  # id and attempt of the jobs whose worker was killed

    def start(self) -> None:
        for name in self.commands:
            self._start(name)
        wait_for(f"http://127.0.0.1:{self.port}/health/")

    def _start(self, name: str) -> None:
        quiet = subprocess.DEVNULL
        self.processes[name] = subprocess.Popen(
            [sys.executable, "-m", *self.commands[name]],
            cwd=ROOT,
            start_new_session=True,
            stdout=quiet,
            stderr=quiet,
        )

    def kill(self, rng: random.Random) -> None:
        """Mostly one web process of several; sometimes all of them with their parent, the worker in a job, or beat."""
        victim = rng.choice(["one web process"] * 4 + ["all of web"] * 2 + ["worker"] * 3 + ["beat"])
        if victim == "one web process":
            self._kill_web_process(rng)
            return
        job = self._wait_for_job(rng) if victim == "worker" else None
        name = "web" if victim == "all of web" else victim
        os.killpg(self.processes[name].pid, signal.SIGKILL)
        self.processes[name].wait()
        if job in running_jobs():
            self.lost.add(job)
            victim += " with a running job"
        self.kills[victim] += 1
        self._start(name)

    def _kill_web_process(self, rng: random.Random) -> None:
        children = _children(self.processes["web"].pid)
        if children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rng.choice(children), signal.SIGKILL)
                self.kills["one web process"] += 1

    def _wait_for_job(self, rng: random.Random) -> tuple[int, int] | None:
        """Wait until a worker has run a job for a moment; None after some seconds."""
        end = time.monotonic() + 15
        while time.monotonic() < end:
            for job in running_jobs() - self.lost:
                time.sleep(1.5 * rng.random())
                return job
            time.sleep(0.05)
        return None

    def stop(self) -> None:
        for process in self.processes.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _children(parent: int) -> list[int]:
    text = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    return [int(number) for number in text.split()]


def running_jobs() -> set[tuple[int, int]]:
    """The id and the attempt of each running job."""
    from jobs.models import Job

    return set(Job.objects.filter(state=Job.State.RUNNING).values_list("pk", "attempt"))
