"""Request, run and retry jobs.

The row of a job holds its state; a Celery message only wakes a worker. A handler computes outside transactions and
stores inside `progress.storing()`, which locks the row and checks that this attempt still owns the job. A killed worker
leaves a stale heartbeat. `relaunch_lost` then gives the job to another worker under the next attempt number, and the
first attempt can no longer store anything. All times are those of the database's clock, so that a host whose clock is
wrong neither takes a job from a worker nor keeps one that it lost. Decision: ADR 3.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from celery import current_app
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Model, Q, QuerySet
from django.db.models.functions import Coalesce, Now
from django.urls import get_script_prefix
from kombu.exceptions import OperationalError as BrokerError

from accounts.audit import services as audit
from accounts.models import User
from assay.errors import Refused
from jobs import stopping
from jobs.models import Job
from jobs.selectors import is_claim_void, lost_before, offered_places, this_host
from jobs.watchdog import TimeIsUp, in_thread
from web import logs
from web.models import storable

logger = logging.getLogger(__name__)

MAX_LOSSES = 3
PROGRESS_SECONDS = 0.5
LOST = (
    f"The worker was lost {MAX_LOSSES} times in a row during this job: it was killed, ran out of memory, or did not "
    "respond. The log of the worker has the details. The job is not started again by itself."
)


class Subject(Protocol):
    """The subject of a job: anything with a name and a page."""

    def get_absolute_url(self) -> str: ...


Handler = Callable[..., dict[str, Any]]  # (progress, **arguments of the job) -> its result
FailureHook = Callable[..., None]  # (**arguments of the job)
Words = Callable[[dict[str, Any]], str]  # of the result of a job, as a whole sentence


@dataclass(frozen=True)
class RegisteredHandler:
    run: Handler
    failed: FailureHook | None
    retried: FailureHook | None = None
    words: Words | None = None


_handlers: dict[str, RegisteredHandler] = {}


FailureListener = Callable[[Job], None]  # in the transaction that marks the job as failed
_failure_listeners: list[FailureListener] = []


def on_failure(listener: FailureListener) -> FailureListener:
    """Register a function of an app above this one that is called for each job that fails."""
    _failure_listeners.append(listener)
    return listener


class HandedBack(Exception):
    """The worker stops, so another one shall continue the job."""


class JobLost(Exception):
    """Another worker took the job over, so this attempt must stop and store nothing."""


def handler(
    kind: str,
    *,
    failed: FailureHook | None = None,
    retried: FailureHook | None = None,
    words: Words | None = None,
) -> Callable[[Handler], Handler]:
    """Register the function that runs the jobs of a kind.

    `failed` runs in the transaction that marks a job as failed, `retried` in the one that restarts a failed job.
    `words` say what a job has done, to the person who waited for it.
    """

    def register(function: Handler) -> Handler:
        if kind in _handlers:
            raise ValueError(f"two handlers for jobs of kind {kind}")
        _handlers[kind] = RegisteredHandler(function, failed, retried, words)
        return function

    return register


def in_words(job: Job) -> str:
    """Say in a sentence what a finished job has done."""
    known = _handlers.get(job.kind)
    return known.words(job.result) if known and known.words else f"Finished: {job.title}."


def changing_status(model: type[Model], argument: str, start: str, end: str) -> FailureHook:
    """A hook that changes the status of a job's row from `start` to `end`. The job's `argument` has the row's key."""

    def change(**arguments: Any) -> None:
        rows = model._default_manager.filter(pk=arguments[argument], status=start)
        rows.update(status=end)

    return change


def request(
    *,
    kind: str,
    title: str,
    arguments: dict[str, Any],
    by: User | None,
    subject: Subject,
    place: str = "",
) -> Job:
    """Record a job for a subject, such as a track, and wake a worker when the transaction commits.

    Only the workers of a place (`jobs.selectors`) run the job; without a place, any worker does.
    """
    if kind not in _handlers:
        raise ValueError(f"no handler for jobs of kind {kind}")
    job = Job.objects.create(
        kind=kind,
        title=title[:200],
        arguments=arguments,
        place=place,
        created_by=by,
        subject=str(subject)[:200],
        subject_path=subject.get_absolute_url().removeprefix(get_script_prefix()),
        request_id=logs.request_id(),
    )
    transaction.on_commit(partial(nudge, job.pk))
    return job


def request_for(
    row: Any, argument: str, *, kind: str, title: str, by: User | None, subject: Subject, place: str = ""
) -> None:
    """Request the job that makes a row, and note it there as `job`. The job's `argument` has the row's key."""
    row.job = request(
        kind=kind, title=title, arguments={argument: row.pk}, by=by, subject=subject, place=place
    )
    row.save(update_fields=["job"])


def nudge(job_id: int) -> None:
    """Send a message that asks a worker to run a job. If the broker is down, Celery beat repeats it later."""
    place = Job.objects.filter(pk=job_id).values_list("place", flat=True).first()
    try:
        current_app.send_task("jobs.tasks.run_job", args=[job_id], queue=place or None, retry=False)
    except BrokerError as error:
        logger.warning("job %s: no message could be sent (%s); Celery beat will repeat it", job_id, error)


Part = TypeVar("Part", bound=Model)  # a row of work with a `holder` and its `holder_attempt`
Row = TypeVar("Row")


class Progress:
    """The job as its handler sees it: the handler reports progress and stores its result through this object."""

    def __init__(self, job_id: int, attempt: int) -> None:
        self.job_id = job_id
        self.attempt = attempt
        self._lost = threading.Event()
        self._next_report = 0.0
        self._latest: dict[str, Any] = {}

    def _own_row(self) -> Q:
        return Q(pk=self.job_id, attempt=self.attempt, state=Job.State.RUNNING)

    def report(self, done: int, total: int | None = None, message: str = "") -> None:
        """Leave the progress to the next heartbeat, which stores it on a connection of its own.

        This is for a transaction. There, `update` would lock the job's row until the commit: nobody would see the
        progress, no heartbeat could be stored, and canceling the job would wait.

        Raises:
            HandedBack: The worker stops.
            JobLost: Another worker took the job over, or it was canceled.
        """
        if stopping.is_due():
            raise HandedBack
        if self._lost.is_set():
            raise JobLost(f"job {self.job_id}, attempt {self.attempt}")
        self._latest = {"done": done, "total": total, "message": message}

    def counting(
        self, rows: Iterable[Row], total: int | None, message: str, *, every: int = 2_000
    ) -> Iterator[Row]:
        """Pass rows on, and tell how many there were, again after `every` of them."""
        for n, row in enumerate(rows):
            if n % every == 0:
                self.update(n if total is None else min(n, total), total, message)
            yield row

    def update(self, done: int, total: int | None = None, message: str = "") -> None:
        """Store the progress, at most twice per second.

        Raises:
            HandedBack: The worker stops.
            JobLost: Another worker took the job over, or it was canceled.
        """
        self.report(done, total, message)
        now = time.monotonic()
        if now < self._next_report:
            return
        self._next_report = now + PROGRESS_SECONDS
        if not Job.objects.filter(self._own_row()).update(heartbeat_at=Now(), **self._latest):
            raise JobLost(f"job {self.job_id}, attempt {self.attempt}")

    @contextmanager
    def storing(self, *, is_part: bool = False) -> Iterator[Job]:
        """A transaction in which this attempt owns the job. No other worker can take it over before the commit.

        With `is_part`, the next attempt need not repeat what is stored: workers that were lost before count no more.
        The row's lock stops the heartbeat, so the transaction renews it at its end.

        Raises:
            JobLost: Another worker took the job over; nothing was stored.
        """
        with transaction.atomic():
            job = Job.objects.select_for_update().filter(self._own_row()).first()
            if job is None:
                raise JobLost(f"job {self.job_id}, attempt {self.attempt}")
            begun = time.monotonic()
            if is_part and job.losses_in_a_row:
                job.losses_in_a_row = 0
                job.save(update_fields=["losses_in_a_row"])
            yield job
            if time.monotonic() - begun > settings.JOB_HEARTBEAT_SECONDS:
                Job.objects.filter(pk=self.job_id).update(heartbeat_at=Now())

    def claim(self, parts: QuerySet[Part]) -> Part | None:
        """Claim the first of some parts of work that no running job holds, inside `storing`; None if there is none."""
        part = parts.filter(is_claim_void()).select_for_update(skip_locked=True, of=["self"]).first()
        if part is not None:
            row: Any = part
            row.holder_id, row.holder_attempt = self.job_id, self.attempt
            row.save(update_fields=["holder", "holder_attempt"])
        return part

    @property
    def holds(self) -> Q:
        """The condition on parts of work that this attempt has claimed, and that nobody has claimed since."""
        return Q(holder_id=self.job_id, holder_attempt=self.attempt)

    def hand_back(self) -> None:
        """Queue the job again, for a worker that does not stop. It does not count as lost."""
        fields = {"state": Job.State.QUEUED, "heartbeat_at": None, "queued_at": Now()}
        if Job.objects.filter(self._own_row()).update(**fields):
            logger.info("job %s: the worker stops and hands it back", self.job_id)
            nudge(self.job_id)

    def beat(self, stop: threading.Event) -> None:
        """Renew the heartbeat and the progress, in a separate thread, until `stop` is set or the job is lost."""
        while not stop.wait(settings.JOB_HEARTBEAT_SECONDS) and not self._lost.is_set():
            try:
                if not Job.objects.filter(self._own_row()).update(heartbeat_at=Now(), **self._latest):
                    self._lost.set()
            except (OperationalError, InterfaceError):
                logger.warning("job %s: no heartbeat because the database does not answer", self.job_id)
            finally:
                connection.close()


def _claim(job_id: int) -> Job | None:
    """Claim a job that is queued, or whose worker is lost; None if it is neither, or has another place.

    A job that lost `MAX_LOSSES` workers, and stored no part of its work meanwhile, fails instead, so that a job that
    kills or blocks workers does not run forever.
    """
    is_free = Q(state=Job.State.QUEUED) | Q(state=Job.State.RUNNING) & (
        Q(heartbeat_at=None) | Q(heartbeat_at__lt=lost_before())
    )
    with transaction.atomic():
        job = (
            Job.objects.select_for_update(skip_locked=True)
            .filter(is_free, pk=job_id, place__in=offered_places())
            .first()
        )
        if job is None:
            return None
        is_lost = job.state == Job.State.RUNNING
        job.losses, job.losses_in_a_row = job.losses + is_lost, job.losses_in_a_row + is_lost
        if job.losses_in_a_row >= MAX_LOSSES:
            _mark_failed(job, _handlers.get(job.kind), LOST)
            return None
        job.state = Job.State.RUNNING
        job.attempt += 1
        job.save(update_fields=["losses", "losses_in_a_row", "state", "attempt"])
        Job.objects.filter(pk=job_id).update(heartbeat_at=Now(), started_at=Coalesce("started_at", Now()))
        return job


def run(job_id: int) -> None:
    """Run a job to its end, unless it is finished or another worker holds it. A second delivery does nothing."""
    job = _claim(job_id)
    if job is not None:
        with logs.working_for(job.request_id):
            _run_claimed(job)


def _run_claimed(job: Job) -> None:
    progress = Progress(job.pk, job.attempt)
    registered = _handlers.get(job.kind)
    if registered is None:
        _finish_failed(progress, None, job, f"There is no handler for jobs of kind {job.kind}.")
        return
    try:
        context = copy_context()  # the log lines of the heartbeat belong to the same request
        with in_thread(lambda stop: context.run(progress.beat, stop), f"job-{job.pk}"):
            result = registered.run(progress, **job.arguments)
        with progress.storing() as current:
            current.state, current.result, current.message = Job.State.DONE, result, ""
            current.done = current.total = current.total if current.total is not None else current.done
            current.finished_at = Now()
            current.save()
        logger.info("job %s (%s) is done", job.pk, job.kind)
    except JobLost:
        logger.warning("job %s: another worker took it over; attempt %s stops", job.pk, job.attempt)
    except HandedBack:
        progress.hand_back()
    except Refused as refusal:
        _finish_failed(progress, registered, job, refusal.message)
    except TimeIsUp:
        hours = settings.JOB_TIME_LIMIT_HOURS
        logger.warning("job %s (%s) reached its time limit of %g hours", job.pk, job.kind, hours)
        _finish_failed(
            progress,
            registered,
            job,
            f"The job reached its time limit of {hours:g} hours (JOB_TIME_LIMIT_HOURS) and was stopped.",
        )
    except (OperationalError, InterfaceError):
        logger.exception(
            "job %s: lost the connection to the database; Celery beat will relaunch the job", job.pk
        )
        raise
    except Exception:  # any error of a handler fails the job with a reason, so that the job is not lost
        logger.exception("job %s (%s) failed", job.pk, job.kind)
        _finish_failed(
            progress, registered, job, "An unexpected error occurred. The log of the worker has the details."
        )


def _finish_failed(progress: Progress, registered: RegisteredHandler | None, job: Job, reason: str) -> None:
    try:
        with progress.storing() as current:
            _mark_failed(current, registered, reason)
    except JobLost:
        logger.warning(
            "job %s: another worker took it over; the failure of attempt %s is ignored", job.pk, job.attempt
        )


def _mark_failed(job: Job, registered: RegisteredHandler | None, reason: str) -> None:
    job.state = Job.State.FAILED
    job.error = storable(reason)  # it may quote a file
    job.finished_at = Now()
    job.save()
    if registered is not None and registered.failed is not None:
        registered.failed(**job.arguments)
    for listener in _failure_listeners:
        listener(job)


def relaunch_lost() -> int:
    """Queue the jobs again whose message or worker was lost. Returns their number."""
    silent = Q(heartbeat_at__lt=lost_before()) | Q(heartbeat_at=None, created_at__lt=lost_before())
    waiting = Job.objects.filter(silent, state__in=Job.UNFINISHED)
    ids = list(waiting.order_by("id").values_list("pk", flat=True))
    # The heartbeat of a queued job is the time of its last message, so that a busy worker gets few messages.
    Job.objects.filter(pk__in=ids, state=Job.State.QUEUED).update(heartbeat_at=Now())
    for job_id in ids:
        nudge(job_id)
    return len(ids)


def move_here(*, job: Job) -> None:
    """Let this machine continue a job that another machine, or this one under another name, has begun."""
    Job.objects.filter(pk=job.pk, state__in=Job.UNFINISHED).exclude(place="").update(place=this_host())


def retry(*, job: Job) -> None:
    """Restart a failed job.

    Raises:
        Refused: The job has not failed.
    """
    with transaction.atomic():
        fields = {
            "state": Job.State.QUEUED,
            "losses": 0,
            "losses_in_a_row": 0,
            "error": "",
            "finished_at": None,
            "heartbeat_at": None,
            "queued_at": Now(),
        }
        if not Job.objects.filter(pk=job.pk, state=Job.State.FAILED).update(**fields):
            raise Refused(f"Only a failed job can be restarted; “{job.title}” is {job.get_state_display()}.")
        registered = _handlers.get(job.kind)
        if registered is not None and registered.retried is not None:
            registered.retried(**job.arguments)
        transaction.on_commit(partial(nudge, job.pk))


@transaction.atomic
def cancel(*, job: Job, by: User) -> None:
    """End a job that is not finished as failed. A worker that runs it stops at its next step, and stores nothing.

    Raises:
        Refused: The job is finished.
    """
    current = Job.objects.select_for_update(no_key=True).get(pk=job.pk)
    if current.is_finished:
        raise Refused(
            f"Only an unfinished job can be canceled; “{job.title}” is {current.get_state_display()}."
        )
    _mark_failed(current, _handlers.get(current.kind), f"{by} canceled this job. You can restart it.")
    audit.record(action="job.canceled", subject=current, by=by)
