"""Backups on a schedule: each is a job, old ones are deleted, and administrators get an e-mail when one is missing.

Beat looks every few minutes whether a backup is due, so none is skipped because beat did not run at that moment. The
job needs a worker that has BACKUP_DIR. Decision: ADR 20.
"""

import re
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.core.cache import cache
from django.db import connection, transaction
from django.db.models import DurationField, ExpressionWrapper, F
from django.db.models.functions import Now
from django.utils import timezone

from accounts.mail import letters
from assay.errors import Refused
from jobs import services as jobs
from jobs.backups import places, services
from jobs.console import Progress
from jobs.models import Job
from jobs.selectors import BACKUPS
from server.environment import Retention

KIND = "jobs.backup"
NAME = re.compile(r"(assay-\d{4}-\d\d-\d\dT\d{6}Z\.zip)(\.age)?")
FORM = "assay-%Y-%m-%dT%H%M%SZ.zip"
ALARM = "jobs.backup_alarm"
ALARM_SECONDS = 24 * 3600  # between two e-mails about an old backup


class LastBackup(NamedTuple):
    """The age of the last good scheduled backup, None if there is none, and whether one has failed since."""

    seconds: float | None
    has_failed: bool


class Site(NamedTuple):
    """The subject of the job."""

    def __str__(self) -> str:
        return "the site"

    def get_absolute_url(self) -> str:
        return ""


class JobProgress(Progress):
    """Shows the steps of a backup as the progress of its job, but for those inside its read-only transaction."""

    def __init__(self, job: jobs.Progress) -> None:
        self.job = job
        self.begin("", None)

    def begin(self, step: str, total: int | None) -> None:
        self.step, self.done, self.total = step, 0, total

    def advance(self, n: int) -> None:
        self.done += n
        if not connection.in_atomic_block:
            self.job.update(self.done, self.total, self.step)


def last_backup() -> LastBackup:
    """The state of the scheduled backups, by the clock of the database."""
    rows = Job.objects.filter(kind=KIND).order_by("-pk")
    age = ExpressionWrapper(Now() - F("finished_at"), DurationField())
    good = rows.filter(state=Job.State.DONE).annotate(age=age).first()
    failed = rows.filter(state=Job.State.FAILED).first()
    has_failed = failed is not None and (good is None or failed.pk > good.pk)
    return LastBackup(good.age.total_seconds() if good else None, has_failed)


def problem() -> str:
    """The problem with the scheduled backups, in a sentence; empty if nothing is."""
    last = last_backup()
    if last.seconds is not None and last.seconds > 3600 * settings.BACKUP_MAX_AGE_HOURS:
        return f"The last good backup is {last.seconds / 3600:.0f} hours old."
    if last.has_failed:
        return "The last scheduled backup failed."
    return ""


def last_due(now: datetime) -> datetime:
    """The latest time before `now` at which a backup was due."""
    due = datetime.combine(now.date(), settings.BACKUP_AT, UTC)
    return due if due <= now else due - timedelta(days=1)


def watch() -> None:
    """Request a backup if one is due, and post an e-mail if the last good one is old."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [KIND])
        if not Job.objects.filter(kind=KIND, created_at__gte=last_due(timezone.now())).exists():
            jobs.request(
                kind=KIND, title="Scheduled backup", arguments={}, by=None, subject=Site(), place=BACKUPS
            )
    last = last_backup()
    is_old = last.seconds is not None and last.seconds > 3600 * settings.BACKUP_MAX_AGE_HOURS
    if is_old and cache.add(ALARM, True, ALARM_SECONDS):
        _alarm()


def _alarm(**_: object) -> None:
    letters.post(kind=ALARM, data={}, site="")


@jobs.handler(KIND, failed=_alarm, words=lambda _: "The backup is made.")
def make(progress: jobs.Progress) -> dict[str, Any]:
    """Make a backup in BACKUP_DIR, then delete those that are no longer kept.

    Raises:
        Refused: The folder or the bucket cannot be used, or the database cannot be saved.
    """
    folder = settings.BACKUP_DIR
    name = timezone.now().strftime(FORM) + (places.ENCRYPTED if settings.BACKUP_RECIPIENT else "")
    place = places.join(folder, name)
    progress.update(0, None, "saving tables")
    try:
        places.make_folder(folder)
        manifest = services.back_up(place=place, progress=JobProgress(progress))
        n_bytes, deleted = places.size(place), delete_old(folder)
    except OSError as error:
        raise Refused(f"{folder} cannot be used: {error.strerror or error}.") from error
    return {
        "file": name,
        "bytes": n_bytes,
        "rows": sum(manifest.tables.values()),
        "files": len(manifest.files),
        "missing_files": len(manifest.missing),
        "deleted": deleted,
    }


def backups_in(folder: str) -> dict[datetime, str]:
    """The names of the scheduled backups in a folder by their times. Other files are none of ours."""
    matches = [match for name in places.names(folder) if (match := NAME.fullmatch(name))]
    return {datetime.strptime(match[1], FORM).replace(tzinfo=UTC): match[0] for match in matches}


def newest(folder: str) -> str:
    """The place of the newest scheduled backup.

    Raises:
        Refused: There is none.
    """
    try:
        backups = backups_in(folder) if folder else {}
    except OSError as error:
        raise Refused(f"{folder} cannot be read: {error.strerror or error}.") from error
    if not backups:
        where = f"in {folder}" if folder else "because BACKUP_DIR is not set"
        raise Refused(f"There is no scheduled backup {where}. Name the file of a backup.")
    return places.join(folder, backups[max(backups)])


def delete_old(folder: str) -> list[str]:
    """Delete the backups that the retention does not keep; their names."""
    backups = backups_in(folder)
    old = sorted(superseded(backups.keys(), settings.BACKUP_KEEP))
    for time in old:
        places.delete(places.join(folder, backups[time]))
    return [backups[time] for time in old]


def superseded(times: Collection[datetime], keep: Retention) -> set[datetime]:
    """The times of backups that are no longer kept.

    Of each of the last days, weeks and months that have backups, the latest is kept; the newest always is.
    """
    kept = {max(times, default=None)}
    for number, period in ((keep.daily, "%Y-%m-%d"), (keep.weekly, "%G-%V"), (keep.monthly, "%Y-%m")):
        latest = {time.strftime(period): time for time in sorted(times)}
        kept |= set(sorted(latest.values(), reverse=True)[:number])
    return set(times) - kept
