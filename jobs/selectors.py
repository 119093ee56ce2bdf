"""Jobs, who may see them, and the places where they run.

A place is the name of a queue in Celery; a job without a place can run anywhere.
"""

from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db.models import Count, DurationField, F, Max, Q, QuerySet, Sum
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now
from django.shortcuts import get_object_or_404

from accounts.access import AnyUser
from accounts.models import User
from jobs.models import Job
from web.statements import Statement

# Of those that `jobs_for` returns
_N_RUNNING = Statement(
    "SELECT count(*) FROM jobs_job WHERE state IN ('queued', 'running')"
    " AND (%(sees_all)s OR created_by_id = %(user)s OR subject_path = ANY(%(paths)s))"
)

IMPORT_FOLDER = "import-folder"  # any worker that sees ASSAY_IMPORT_DIR
BACKUPS = "backups"  # any worker that has BACKUP_DIR


def jobs_for(user: AnyUser) -> QuerySet[Job]:
    """Jobs that a user may see, newest first: administrators see all, others see those that they requested, and those
    for the tracks that they organize or chair.
    """
    if not isinstance(user, User):
        return Job.objects.none()
    jobs = Job.objects.select_related("created_by")
    if user.is_administrator:
        return jobs
    return jobs.filter(Q(created_by=user) | Q(subject_path__in=_paths(user)))


def _paths(user: User) -> list[str]:
    return [f"tracks/{role.slug}/" for role in user.roles.values()]


def n_running(user: AnyUser) -> int:
    """The number of jobs that a user may see and that wait or run."""
    if not isinstance(user, User):
        return 0
    [(n,)] = _N_RUNNING.rows(sees_all=user.is_administrator, user=user.pk, paths=_paths(user))
    return int(n)


def may_control(user: User, job: Job) -> bool:
    """Return whether a user may retry and cancel a job: administrators all, organizers those for their tracks and what
    they requested for the site.
    """
    if user.is_administrator:
        return True
    if job.subject_path.startswith("tracks/"):
        roles = user.roles.values()
        return any(not role.is_chair and job.subject_path == f"tracks/{role.slug}/" for role in roles)
    return user.is_organizer and job.created_by_id == user.pk


def controlled_job(user: AnyUser, job_id: int) -> Job:
    """A job that a user may retry and cancel.

    Raises:
        Http404: The user does not see such a job.
        PermissionDenied: The user sees it and may not control it.
    """
    job = get_object_or_404(jobs_for(user), pk=job_id)
    if not (isinstance(user, User) and may_control(user, job)):
        raise PermissionDenied("Only organizers and administrators retry and cancel jobs.")
    return job


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
