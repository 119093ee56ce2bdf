"""Celery tasks that run jobs and clean the storage."""

from celery import shared_task
from django.conf import settings

from jobs import services
from jobs.files import storage
from jobs.watchdog import limited, watched

STUCK = 4  # times as long as after which the job counts as lost: a loaded machine is not a stuck process


@shared_task(name="jobs.tasks.run_job")
def run_job(job_id: int) -> None:
    """Run a job until its time limit. A second delivery does nothing."""
    with watched(STUCK * settings.JOB_LOST_AFTER_SECONDS), limited(3600 * settings.JOB_TIME_LIMIT_HOURS):
        services.run(job_id)


@shared_task(name="jobs.tasks.relaunch_lost_jobs", ignore_result=True)
def relaunch_lost_jobs() -> None:
    """Queue the jobs again that no worker holds."""
    services.relaunch_lost()


@shared_task(name="jobs.files.tasks.delete_unclaimed", ignore_result=True)
def delete_unclaimed() -> None:
    """Delete the files that killed processes left in the storage."""
    storage.delete_unclaimed()
