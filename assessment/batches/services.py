"""A batch from draft to closed."""

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from assessment.batches.errors import BatchNameTaken, NoTopics, PoolNotReady, WrongState
from assessment.batches.locks import manage
from assessment.models import Batch
from pooling.models import Pool


@transaction.atomic
def create(
    *, pool: Pool, name: str, kind: str = Batch.Kind.MAIN, minutes_allotted: int = 120, by: User | None
) -> Batch:
    """Make a batch of a pool, as a draft without topics.

    Raises
    ------
    PoolNotReady, BatchNameTaken
    """
    if pool.status != Pool.Status.READY:
        raise PoolNotReady(pool)
    if Batch.objects.filter(pool=pool, name=name).exists():
        raise BatchNameTaken(name)
    return Batch.objects.create(
        pool=pool, name=name, kind=kind, minutes_allotted=minutes_allotted, created_by=by
    )


@transaction.atomic
def edit(*, batch: Batch, name: str, minutes_allotted: int) -> Batch:
    """Change a batch's name and the time given for a task; tasks already taken keep theirs.

    Raises
    ------
    BatchNameTaken
    """
    locked = manage(batch.pk)
    if Batch.objects.filter(pool=locked.pool, name=name).exclude(pk=locked.pk).exists():
        raise BatchNameTaken(name)
    locked.name, locked.minutes_allotted = name, minutes_allotted
    locked.save(update_fields=["name", "minutes_allotted"])
    return locked


@transaction.atomic
def open_for_judging(*, batch: Batch) -> Batch:
    """Let its assessors take tasks; a closed batch is opened again.

    Raises
    ------
    WrongState, NoTopics
    """
    locked = manage(batch.pk)
    if locked.status == Batch.Status.OPEN:
        raise WrongState(locked, "opened")
    if not locked.topic_assignments.filter(is_withdrawn=False).exists():
        raise NoTopics(locked)
    locked.status, locked.closed_at = Batch.Status.OPEN, None
    locked.save(update_fields=["status", "closed_at"])
    return locked


@transaction.atomic
def close(*, batch: Batch) -> Batch:
    """Give out no more tasks and take no more revisions. What was taken before may still be submitted, once.

    Raises
    ------
    WrongState
    """
    locked = manage(batch.pk)
    if locked.status != Batch.Status.OPEN:
        raise WrongState(locked, "closed")
    locked.status, locked.closed_at = Batch.Status.CLOSED, timezone.now()
    locked.save(update_fields=["status", "closed_at"])
    return locked
