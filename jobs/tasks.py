"""Celery's doors to the jobs. Importing the modules that hold handlers registers them."""

from celery import shared_task

import corpus.clustering_jobs
import corpus.import_jobs  # noqa: F401 - registers its handler
from corpus import jobs


@shared_task(name="corpus.tasks.run_job")
def run_job(job_id: int) -> None:
    """Run a job; delivering it twice is harmless."""
    jobs.run(job_id)


@shared_task(name="corpus.tasks.relaunch_lost_jobs", ignore_result=True)
def relaunch_lost_jobs() -> None:
    """Queue again the jobs that no worker holds."""
    jobs.relaunch_lost()
