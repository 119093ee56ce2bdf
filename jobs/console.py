"""Progress bars of management commands, and the jobs that they run."""

import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from django.core.management.base import CommandError
from django.db import connection
from tqdm import tqdm

from jobs import services
from jobs.models import Job
from jobs.watchdog import in_thread

POLL_SECONDS = 0.5


def follow(job: Job) -> None:
    """Run a job in this process. If a worker was faster, wait for it, and take over if that worker is lost.

    Raises:
        CommandError: The job failed.
    """
    while not job.is_finished:
        services.run(job.pk)
        job.refresh_from_db()
        if not job.is_finished:
            time.sleep(POLL_SECONDS)
    if job.state == Job.State.FAILED:
        raise CommandError(job.error)


@contextmanager
def progress_bar(job: Job, unit: str = "B") -> Iterator[None]:
    """Show the progress of a job, which any process may run."""

    def draw(stop: threading.Event) -> None:
        with tqdm(unit=unit, unit_scale=True, leave=False) as bar:
            while not stop.wait(POLL_SECONDS):
                current = Job.objects.filter(pk=job.pk).first()
                if current is not None:
                    bar.total = current.total
                    bar.set_description(current.message, refresh=False)
                    bar.update(current.done - bar.n)
            connection.close()

    with in_thread(draw, "progress"):
        yield


class Progress:
    """Receives the steps and the number of processed bytes. This one shows nothing."""

    def begin(self, step: str, total: int | None) -> None:
        """A step begins; `total` is its number of bytes, if that is known."""

    def advance(self, n: int) -> None:
        """A step has processed `n` more bytes."""


class ProgressBar(Progress, AbstractContextManager["ProgressBar"]):
    """A progress bar on stderr, if that is a terminal."""

    def __init__(self) -> None:
        self._bar: tqdm[Any] = tqdm(disable=True)

    def begin(self, step: str, total: int | None) -> None:
        self._bar.close()
        self._bar = tqdm(desc=step, total=total, unit="B", unit_scale=True, disable=None, leave=False)

    def advance(self, n: int) -> None:
        self._bar.update(n)

    def __exit__(self, *_: object) -> None:
        self._bar.close()
