"""Jobs, who may see them, and the places where they run.

A place is the name of a queue in Celery; a job without a place can run anywhere.
"""

from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db.models import Count, DurationField, F, Max, Q, QuerySet, Sum
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from accounts.access import AnyUser
from accounts.models import User
from jobs.models import Job

IMPORT_FOLDER = "import-folder"  # any worker that sees ASSAY_IMPORT_DIR
BACKUPS = "backups"  # any worker that has BACKUP_DIR


def jobs_for(user: AnyUser) -> QuerySet[Job]:
    """Jobs that a user may see, newest first: organizers see all, others see those that they requested."""
    if not isinstance(user, User):
        return Job.objects.none()
    jobs = Job.objects.select_related("created_by")
    return jobs if user.is_organizer else jobs.filter(created_by=user)


def lost_before() -> CombinedExpression:
    """A running job whose last heartbeat is older than this has lost its worker. The clock is the database's."""
    return Now() - timedelta(seconds=settings.JOB_LOST_AFTER_SECONDS)


def is_claim_void() -> Q:
    """The rows of work with a `holder` that no job holds: without one, or it is lost, finished or taken over."""
    return (
        Q(holder=None)
        | ~Q(holder__state=Job.State.RUNNING)
        | ~Q(holder__attempt=F("holder_attempt"))
        | Q(holder__heartbeat_at__lt=lost_before())
    )


def this_host() -> str:
    """The place of jobs that read the disk of this machine."""
    return f"host.{settings.HOST_NAME}"


def offered_places() -> set[str]:
    """The places of this process."""
    sees_folder = bool(settings.IMPORT_DIR) and Path(settings.IMPORT_DIR).is_dir()
    own = {IMPORT_FOLDER: sees_folder, BACKUPS: bool(settings.BACKUP_DIR)}
    return {"", this_host(), *(place for place, is_offered in own.items() if is_offered)}


class JobFigures(NamedTuple):
    """The number of jobs of a kind and state. `seconds` is the longest wait, or the sum of their times."""

    kind: str
    state: str
    n: int
    seconds: float


def queue_figures() -> dict[str, JobFigures]:
    """The jobs that are not finished, by state; `seconds` is how long the oldest has waited since it was queued."""
    rows = (
        Job.objects.filter(state__in=Job.UNFINISHED)
        .order_by()
        .values("state")
        .annotate(n=Count("pk"), wait=Max(Now() - F("queued_at"), output_field=DurationField()))
    )
    figures = {
        row["state"]: JobFigures("", row["state"], row["n"], row["wait"].total_seconds()) for row in rows
    }
    return {state: figures.get(state, JobFigures("", state, 0, 0.0)) for state in Job.UNFINISHED}


def finished_figures() -> list[JobFigures]:
    """The finished jobs by kind and state; `seconds` is the sum of their times from start to end."""
    rows = (
        Job.objects.exclude(state__in=Job.UNFINISHED)
        .order_by("kind", "state")
        .values("kind", "state")
        .annotate(n=Count("pk"), spent=Sum(F("finished_at") - F("started_at"), output_field=DurationField()))
    )
    return [
        JobFigures(row["kind"], row["state"], row["n"], row["spent"].total_seconds() if row["spent"] else 0.0)
        for row in rows
    ]
