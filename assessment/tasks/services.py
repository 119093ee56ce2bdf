"""Give out tasks, resume them, and return them to the queue when their time has run out."""

from datetime import timedelta
from typing import NamedTuple

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Least
from django.utils import timezone

from accounts.models import User
from assessment.assignments.errors import NotAnAssessor
from assessment.batches.entries import entries_of
from assessment.batches.errors import BatchNotOpen
from assessment.batches.locks import lock_for_judging
from assessment.judgments.other_batches import COUNTING, settled_entries, with_others
from assessment.models import Batch, Task, TopicAssignment
from assessment.tasks import move_to_front
from assessment.tasks.errors import AlreadySubmitted
from pooling.models import Pool, PoolEntry
from tracks.models import Assessor

EXPIRED_AT_ONCE = 500
AT_THE_END = 2**31 - 1  # the cursor of a topic whose remaining entries other batches have settled


@transaction.atomic
def accept_next(*, batch: Batch, assessor: User) -> Task | None:
    """The assessor's open task in the batch, or a task for their next entry; None if everything is judged.

    Entries come by topic and position; those that the assessor skipped come last, the oldest skip first. The number of
    index lookups per topic is fixed, however many entries are open or judged.

    Raises
    ------
    BatchNotOpen, NotAnAssessor
    """
    shared = lock_for_judging(batch.pk)
    if shared.status != Batch.Status.OPEN:
        raise BatchNotOpen(shared)
    if not _hold_assessor(shared, assessor):
        raise NotAnAssessor(assessor, shared.pool.track)
    task = _resume(shared, assessor)
    while task is None:
        place = _next_place(shared, assessor) or _next_place(shared, assessor, anywhere=True)
        if place is None:
            return _take_skipped(shared, assessor)
        task = _take(shared, assessor, place)
    return task


def _hold_assessor(batch: Batch, assessor: User) -> bool:
    """Lock the assessor's row in the track, so that two windows take tasks in turn. False if there is no row."""
    track = Pool.objects.filter(pk=batch.pool_id).values("track")
    rows = Assessor.objects.filter(user=assessor, track=Subquery(track))
    return rows.select_for_update(no_key=True).first() is not None


def _resume(batch: Batch, assessor: User) -> Task | None:
    """The assessor's open task; if its time has run out, it gets new time."""
    tasks = Task.objects.filter(batch=batch, assessor=assessor, status=Task.Status.ACCEPTED)
    task = tasks.select_for_update(no_key=True).first()
    now = timezone.now()
    if task is not None and task.expires_at <= now:
        task.expires_at = now + timedelta(minutes=batch.minutes_allotted)
        task.save(update_fields=["expires_at"])
    return task


class _Place(NamedTuple):
    """The entry for a new task. With `position` -1 the topic's cursor stays at the start."""

    assignment_id: int
    topic_id: int
    seat: int
    cursor: int
    entry_id: int
    position: int


def _next_place(batch: Batch, assessor: User, *, anywhere: bool = False) -> _Place | None:
    """The next entry that the assessor must judge: after each topic's cursor, or anywhere.

    Looking anywhere costs an index lookup per entry. It happens when the cursors are at the end, and finds entries
    before them, because a pool grew or its order changed. If other batches count, or judgments decide the order, all
    entries of the current topic are read.
    """
    is_moving = batch.pool.order == Pool.Order.MOVE_TO_FRONT
    has_others = bool(with_others([batch]))
    exhausted: list[int] = []
    while (place := _first_place(batch, assessor, exhausted, anywhere=anywhere or is_moving)) is not None:
        if not has_others and not is_moving:
            return place
        chosen = _chosen(batch, assessor, place, is_moving=is_moving)
        if chosen is not None:
            return chosen
        exhausted.append(place.assignment_id)
        TopicAssignment.objects.filter(pk=place.assignment_id).update(cursor=AT_THE_END)
    return None


def _first_place(batch: Batch, assessor: User, exhausted: list[int], *, anywhere: bool) -> _Place | None:
    """The first entry, by topic and position, that is not taken in this batch."""
    entries = _open_entries(batch, assessor, seat=OuterRef(OuterRef("seat"))).filter(topic=OuterRef("topic"))
    if not anywhere:
        entries = entries.filter(position__gte=OuterRef("cursor"))
    first = entries.order_by("position").values("pk")[:1]
    assignments = TopicAssignment.objects.filter(batch=batch, assessor=assessor, is_withdrawn=False)
    assignments = assignments.exclude(pk__in=exhausted).annotate(next_entry=Subquery(first))
    rows = assignments.filter(next_entry__isnull=False).order_by("topic__code")
    row = rows.values_list("pk", "topic", "seat", "cursor", "next_entry").first()
    if row is None:
        return None
    return _Place(*row, PoolEntry.objects.values_list("position", flat=True).get(pk=row[-1]))


def _open_entries(batch: Batch, assessor: User, *, seat: int | OuterRef) -> QuerySet[PoolEntry]:
    """The batch's entries that nobody has judged in the batch in a seat, and for which the assessor has no task."""
    in_seat = Q(status=Task.Status.SUBMITTED, seat=seat)
    own = Q(assessor=assessor) & ~Q(status=Task.Status.EXPIRED)
    taken = Task.objects.filter(in_seat | own, batch=batch, entry=OuterRef("pk"))
    return entries_of(batch).filter(~Exists(taken))


def _chosen(batch: Batch, assessor: User, place: _Place, *, is_moving: bool) -> _Place | None:
    """The next entry of the place's topic that other batches have not settled; None if there is none."""
    settled = settled_entries([place.assignment_id])[place.assignment_id] if batch.kind in COUNTING else set()
    entries = _open_entries(batch, assessor, seat=place.seat).filter(topic=place.topic_id)
    rows = entries.order_by("position").values_list("pk", "position")
    left = {pk: position for pk, position in rows if pk not in settled}
    if not left:
        return None
    if is_moving:
        entry_id = move_to_front.next_entry(batch, place.topic_id, place.seat, is_open=set(left))
        return None if entry_id is None else place._replace(entry_id=entry_id, position=-1)
    entry_id = next((pk for pk, position in left.items() if position >= place.cursor), next(iter(left)))
    return place._replace(entry_id=entry_id, position=left[entry_id])


def _take(batch: Batch, assessor: User, place: _Place) -> Task | None:
    """Create or reopen the assessor's task for the entry; None if a late submission came first."""
    tasks = Task.objects.select_for_update(no_key=True)
    task = tasks.filter(batch=batch, entry=place.entry_id, assessor=assessor).first()
    if task is None:
        task = Task(batch=batch, entry_id=place.entry_id, assessor=assessor)
    elif task.status != Task.Status.EXPIRED:
        return None
    TopicAssignment.objects.filter(pk=place.assignment_id).update(cursor=place.position + 1)
    return _accept(task, batch, place.seat)


def _accept(task: Task, batch: Batch, seat: int) -> Task:
    """Give the task, new or returned, to its assessor with new time."""
    now = timezone.now()
    task.seat, task.status, task.accepted_at = seat, Task.Status.ACCEPTED, now
    task.order = batch.pool.order
    task.expires_at = now + timedelta(minutes=batch.minutes_allotted)
    task.save()
    return task


def _take_skipped(batch: Batch, assessor: User) -> Task | None:
    """The task that the assessor skipped first, of those that are still theirs to judge."""
    own = TopicAssignment.objects.filter(batch=batch, assessor=assessor, is_withdrawn=False)
    of_topic = {topic: (pk, seat) for topic, pk, seat in own.values_list("topic", "pk", "seat")}
    skipped = Task.objects.filter(batch=batch, assessor=assessor, status=Task.Status.SKIPPED)
    skipped = skipped.filter(entry__topic__in=of_topic).select_related("entry")
    tasks = list(skipped.select_for_update(no_key=True, of=("self",)).order_by("skipped_at", "pk"))
    settled = settled_entries([pk for pk, _ in of_topic.values()]) if tasks else {}
    for task in tasks:
        assignment, seat = of_topic[task.entry.topic_id]
        in_seat = Task.objects.filter(
            batch=batch, entry=task.entry_id, seat=seat, status=Task.Status.SUBMITTED
        )
        if task.entry_id not in settled[assignment] and not in_seat.exists():
            return _accept(task, batch, seat)
    return None


@transaction.atomic
def skip(*, task: Task, reason: str = "") -> Task:
    """Put a task aside. Its entry comes back when the assessor has judged all others; organizers see the reason.

    Raises
    ------
    BatchNotOpen, AlreadySubmitted
    """
    locked = _lock_open(task)
    locked.status, locked.skipped_at, locked.skip_reason = Task.Status.SKIPPED, timezone.now(), reason.strip()
    locked.save(update_fields=["status", "skipped_at", "skip_reason"])
    return locked


@transaction.atomic
def give_back(*, task: Task) -> Task:
    """Return a task to the queue before its time has run out. It is the first that the assessor gets again.

    Raises
    ------
    BatchNotOpen, AlreadySubmitted
    """
    locked = _lock_open(task)
    locked.status = Task.Status.EXPIRED
    locked.save(update_fields=["status"])
    assignments = TopicAssignment.objects.filter(batch=locked.batch_id, assessor=locked.assessor_id)
    place = PoolEntry.objects.values_list("topic", "position").get(pk=locked.entry_id)
    assignments.filter(topic=place[0]).update(cursor=Least(F("cursor"), place[1]))
    return locked


@transaction.atomic
def extend(*, task: Task) -> Task:
    """Start the task's time again. A task that has expired is taken again, unless the assessor has another open one.

    Raises
    ------
    BatchNotOpen, AlreadySubmitted
    """
    batch = lock_for_judging(task.batch_id)
    _hold_assessor(batch, task.assessor)
    locked = _lock_open(task)
    others = Task.objects.filter(batch=batch, assessor=task.assessor_id, status=Task.Status.ACCEPTED)
    if locked.status == Task.Status.ACCEPTED or not others.exists():
        locked.status = Task.Status.ACCEPTED
        locked.expires_at = timezone.now() + timedelta(minutes=batch.minutes_allotted)
        locked.save(update_fields=["status", "expires_at"])
    return locked


def _lock_open(task: Task) -> Task:
    """The task, locked, in an open batch and not submitted."""
    batch = lock_for_judging(task.batch_id)
    if batch.status != Batch.Status.OPEN:
        raise BatchNotOpen(batch)
    locked = Task.objects.select_for_update(no_key=True).get(pk=task.pk)
    if locked.status == Task.Status.SUBMITTED:
        raise AlreadySubmitted
    return locked


def expire() -> int:
    """Return tasks whose time has run out to their queues. Later submissions for them are still kept."""
    total = 0
    while n := _expire_some():
        total += n
    return total


@transaction.atomic
def _expire_some() -> int:
    """Expire one chunk in the order of ids, without tasks that are being submitted at this moment."""
    overdue = Task.objects.filter(status=Task.Status.ACCEPTED, expires_at__lte=timezone.now())
    locked = overdue.select_for_update(skip_locked=True, of=("self",), no_key=True)
    tasks = list(locked.select_related("entry").order_by("pk")[:EXPIRED_AT_ONCE])
    Task.objects.filter(pk__in=[task.pk for task in tasks]).update(status=Task.Status.EXPIRED)
    for task in tasks:
        assignments = TopicAssignment.objects.filter(batch=task.batch_id, assessor=task.assessor_id)
        assignments.filter(topic=task.entry.topic_id).update(cursor=Least(F("cursor"), task.entry.position))
    return len(tasks)
