"""Celery tasks that run jobs and clean the storage."""

from collections.abc import Iterator, Mapping

from celery import shared_task
from django.conf import settings

from accounts.mail import letters
from accounts.mail.letters import Mail
from accounts.selectors import administrators_to_mail
from jobs import liveness, services
from jobs.backups import schedule
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
    """Queue the jobs again that no worker holds. The clock sends it most often, so it shows that a worker is there."""
    liveness.note(liveness.WORKER)
    services.relaunch_lost()


@shared_task(name="jobs.files.tasks.delete_unclaimed", ignore_result=True)
def delete_unclaimed() -> None:
    """Delete the files that killed processes left in the storage."""
    storage.delete_unclaimed()


@shared_task(name="jobs.backups.tasks.watch", ignore_result=True)
def watch_backups() -> None:
    """Request a scheduled backup if one is due, and report an old one. Delivered twice, it requests one."""
    schedule.watch()


@letters.writer(schedule.ALARM)
def backup_alarm(_data: Mapping[str, object], _site: str) -> Iterator[Mail]:
    """Report a failed or old backup to the administrators, unless a good one has been made meanwhile."""
    problem = schedule.problem()
    context = {"problem": problem, "folder": settings.BACKUP_DIR, "host": settings.ALLOWED_HOSTS[0]}
    for user in administrators_to_mail() if problem else ():
        yield Mail(user.email, "No recent backup", "jobs/mail_backup.txt", context)
