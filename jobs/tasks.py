"""Celery tasks that run jobs."""

from celery import shared_task

from jobs import services


@shared_task(name="jobs.tasks.run_job")
def run_job(job_id: int) -> None:
    """Run a job. A second delivery does nothing."""
    services.run(job_id)


@shared_task(name="jobs.tasks.relaunch_lost_jobs", ignore_result=True)
def relaunch_lost_jobs() -> None:
    """Queue the jobs again that no worker holds."""
    services.relaunch_lost()
