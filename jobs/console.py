"""Run jobs from management commands."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import connection
from tqdm import tqdm

from jobs import services
from jobs.models import Job

POLL_SECONDS = 0.5


def follow(job: Job) -> None:
    """Run a job in this process. If a worker was faster, wait for it, and take over if that worker is lost.

    Raises
    ------
    CommandError
        The job failed.
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
    stop = threading.Event()
    thread = threading.Thread(target=_draw, args=[job.pk, stop, unit], daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _draw(job_id: int, stop: threading.Event, unit: str) -> None:
    with tqdm(unit=unit, unit_scale=True, leave=False) as bar:
        while not stop.wait(POLL_SECONDS):
            current = Job.objects.filter(pk=job_id).first()
            if current is not None:
                bar.total = current.total
                bar.set_description(current.message, refresh=False)
                bar.update(current.done - bar.n)
        connection.close()
