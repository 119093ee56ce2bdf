"""Create, edit, open and close batches."""

from collections.abc import Iterable

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from assessment.batches.errors import BatchNameTaken, NoTopics, PoolNotReady, TopicsAssigned, WrongState
from assessment.batches.locks import lock_for_managing
from assessment.checks import services as check_services
from assessment.models import Batch, BatchEntry
from audit import services as audit
from pooling.models import Pool, PoolEntry


@transaction.atomic
def create(
    *,
    pool: Pool,
    name: str,
    kind: str = Batch.Kind.MAIN,
    minutes_allotted: int = 120,
    is_blind: bool = False,
    by: User | None,
) -> Batch:
    """Create a batch of a pool, as a draft without topics. `is_blind` concerns adjudications only.

    Raises
    ------
    PoolNotReady, BatchNameTaken
    """
    if pool.status != Pool.Status.READY:
        raise PoolNotReady(pool)
    if Batch.objects.filter(pool=pool, name=name).exists():
        raise BatchNameTaken(name)
    batch = Batch.objects.create(
        pool=pool,
        name=name,
        kind=kind,
        minutes_allotted=minutes_allotted,
        is_blind=is_blind,
        created_by=by,
    )
    details = {"kind": batch.get_kind_display(), "pool": pool.name}
    audit.record(action="batch.created", subject=batch, track=pool.track, details=details, by=by)
    return batch


@transaction.atomic
def select_entries(*, batch: Batch, entries: Iterable[int]) -> Batch:
    """Let a draft judge only some entries of its pool, by id, instead of the ones selected before or all.

    Raises
    ------
    WrongState, TopicsAssigned
    """
    locked = lock_for_managing(batch.pk)
    if locked.status != Batch.Status.DRAFT:
        raise WrongState(locked, "changed to other units")
    if locked.topic_assignments.exists():
        raise TopicsAssigned(locked)
    chosen = PoolEntry.objects.filter(pool=locked.pool_id, pk__in=list(entries)).values_list("pk", flat=True)
    locked.selected.all().delete()
    BatchEntry.objects.bulk_create([BatchEntry(batch=locked, entry_id=pk) for pk in chosen], batch_size=5_000)
    locked.is_selective = True
    locked.save(update_fields=["is_selective"])
    return locked


@transaction.atomic
def edit(*, batch: Batch, name: str, minutes_allotted: int) -> Batch:
    """Change a batch's name and the minutes for a task; tasks already taken keep their time.

    Raises
    ------
    BatchNameTaken
    """
    locked = lock_for_managing(batch.pk)
    if Batch.objects.filter(pool=locked.pool, name=name).exclude(pk=locked.pk).exists():
        raise BatchNameTaken(name)
    before = {"name": locked.name, "minutes_allotted": locked.minutes_allotted}
    locked.name, locked.minutes_allotted = name, minutes_allotted
    locked.save(update_fields=["name", "minutes_allotted"])
    differences = audit.changes(Batch(**before), locked, before)
    audit.record(action="batch.edited", subject=locked, track=locked.pool.track, details=differences)
    return locked


@transaction.atomic
def open_for_judging(*, batch: Batch) -> Batch:
    """Let the assessors take tasks; a closed batch can be opened again.

    Raises
    ------
    WrongState, NoTopics
    """
    locked = lock_for_managing(batch.pk)
    if locked.status == Batch.Status.OPEN:
        raise WrongState(locked, "opened")
    if not locked.topic_assignments.filter(is_withdrawn=False).exists():
        raise NoTopics(locked)
    locked.status, locked.closed_at = Batch.Status.OPEN, None
    locked.save(update_fields=["status", "closed_at"])
    check_services.plan(batch=locked)
    audit.record(action="batch.opened", subject=locked, track=locked.pool.track)
    return locked


@transaction.atomic
def close(*, batch: Batch) -> Batch:
    """Stop tasks and revisions. Tasks that are already taken can still be submitted, once.

    Raises
    ------
    WrongState
    """
    locked = lock_for_managing(batch.pk)
    if locked.status != Batch.Status.OPEN:
        raise WrongState(locked, "closed")
    locked.status, locked.closed_at = Batch.Status.CLOSED, timezone.now()
    locked.save(update_fields=["status", "closed_at"])
    audit.record(action="batch.closed", subject=locked, track=locked.pool.track)
    return locked
