"""Tasks: taken, resumed, and returned to the queue when their time has run out."""

from datetime import timedelta
from typing import NamedTuple

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Least
from django.utils import timezone

from accounts.models import User
from assessment.assignments.errors import NotAnAssessor
from assessment.batches.errors import BatchNotOpen
from assessment.batches.locks import share
from assessment.judgments.elsewhere import COUNTING, counting_batches, settled_entries
from assessment.models import Batch, Task, TopicAssignment
from assessment.tasks import next_entry
from pooling.models import Pool, PoolEntry
from tracks.models import Assessor

EXPIRED_AT_ONCE = 500
AT_THE_END = 2**31 - 1  # of a topic: its cursor, where other batches have settled what is left


@transaction.atomic
def accept_next(*, batch: Batch, assessor: User) -> Task | None:
    """The assessor's open task of the batch, or their next entry by topic and position; None when all is judged.

    A fixed number of index look-ups for each of the assessor's topics, however many entries are open or judged.

    Raises
    ------
    BatchNotOpen, NotAnAssessor
    """
    shared = share(batch.pk)
    if shared.status != Batch.Status.OPEN:
        raise BatchNotOpen(shared)
    if not _hold_assessor(shared, assessor):
        raise NotAnAssessor(assessor, shared.pool.track)
    task = _resume(shared, assessor)
    while task is None:
        place = _next_place(shared, assessor) or _next_place(shared, assessor, anywhere=True)
        if place is None:
            return None
        task = _take(shared, assessor, place)
    return task


def _hold_assessor(batch: Batch, assessor: User) -> bool:
    """Lock the assessor's place in the track: their windows take tasks one after another. False: they have none."""
    track = Pool.objects.filter(pk=batch.pool_id).values("track")
    places = Assessor.objects.filter(user=assessor, track=Subquery(track))
    return places.select_for_update(no_key=True).first() is not None


def _resume(batch: Batch, assessor: User) -> Task | None:
    """The task that the assessor holds, its time renewed if it had run out."""
    tasks = Task.objects.filter(batch=batch, assessor=assessor, status=Task.Status.ACCEPTED)
    task = tasks.select_for_update(no_key=True).first()
    now = timezone.now()
    if task is not None and task.expires_at <= now:
        task.expires_at = now + timedelta(minutes=batch.minutes_allotted)
        task.save(update_fields=["expires_at"])
    return task


class _Place(NamedTuple):
    """Where a task is taken from. `position` -1 leaves the topic's cursor at the start."""

    given_id: int
    topic_id: int
    seat: int
    cursor: int
    entry_id: int
    position: int


def _next_place(batch: Batch, assessor: User, *, anywhere: bool = False) -> _Place | None:
    """The next entry that the assessor has still to judge: behind each topic's cursor, or anywhere.

    The second look costs an index look-up an entry, and is taken when the cursors are at the end: it finds what
    stands before them because a pool grew or its order changed. Where other batches count, or judgments decide the
    order, the topic in hand is read whole.
    """
    is_moving = batch.pool.order == Pool.Order.MOVE_TO_FRONT
    has_others = counting_batches(batch).exists()
    passed: list[int] = []
    while (place := _first_place(batch, assessor, passed, anywhere=anywhere or is_moving)) is not None:
        if not has_others and not is_moving:
            return place
        chosen = _chosen(batch, assessor, place, is_moving=is_moving)
        if chosen is not None:
            return chosen
        passed.append(place.given_id)
        TopicAssignment.objects.filter(pk=place.given_id).update(cursor=AT_THE_END)
    return None


def _first_place(batch: Batch, assessor: User, passed: list[int], *, anywhere: bool) -> _Place | None:
    """The first entry by topic and position that is not taken in this batch."""
    entries = _open_entries(batch, assessor, seat=OuterRef(OuterRef("seat"))).filter(topic=OuterRef("topic"))
    if not anywhere:
        entries = entries.filter(position__gte=OuterRef("cursor"))
    first = entries.order_by("position").values("pk")[:1]
    given = TopicAssignment.objects.filter(batch=batch, assessor=assessor, is_withdrawn=False)
    given = given.exclude(pk__in=passed).annotate(next_entry=Subquery(first)).filter(next_entry__isnull=False)
    found = given.order_by("topic__code").values_list("pk", "topic", "seat", "cursor", "next_entry").first()
    if found is None:
        return None
    return _Place(*found, PoolEntry.objects.values_list("position", flat=True).get(pk=found[-1]))


def _open_entries(batch: Batch, assessor: User, *, seat: int | OuterRef) -> QuerySet[PoolEntry]:
    """The entries of the batch's pool that nobody has judged here from a seat, and that the assessor does not hold."""
    in_seat = Q(status=Task.Status.SUBMITTED, seat=seat)
    own = Q(assessor=assessor) & ~Q(status=Task.Status.EXPIRED)
    taken = Task.objects.filter(in_seat | own, batch=batch, entry=OuterRef("pk"))
    return PoolEntry.objects.filter(~Exists(taken), pool=batch.pool_id)


def _chosen(batch: Batch, assessor: User, place: _Place, *, is_moving: bool) -> _Place | None:
    """The entry of the place's topic to judge next, none that other batches have settled; None if none is left."""
    settled = settled_entries([place.given_id])[place.given_id] if batch.kind in COUNTING else set()
    entries = _open_entries(batch, assessor, seat=place.seat).filter(topic=place.topic_id)
    rows = entries.order_by("position").values_list("pk", "position")
    left = {pk: position for pk, position in rows if pk not in settled}
    if not left:
        return None
    if is_moving:
        entry_id = next_entry.next_entry(batch, place.topic_id, place.seat, is_open=set(left))
        return None if entry_id is None else place._replace(entry_id=entry_id, position=-1)
    entry_id = next((pk for pk, position in left.items() if position >= place.cursor), next(iter(left)))
    return place._replace(entry_id=entry_id, position=left[entry_id])


def _take(batch: Batch, assessor: User, place: _Place) -> Task | None:
    """Make the entry the assessor's open task; None if a late submission of it came in between."""
    now = timezone.now()
    tasks = Task.objects.select_for_update(no_key=True)
    task = tasks.filter(batch=batch, entry=place.entry_id, assessor=assessor).first()
    if task is None:
        task = Task(batch=batch, entry_id=place.entry_id, assessor=assessor)
    elif task.status != Task.Status.EXPIRED:
        return None
    task.seat, task.status, task.accepted_at = place.seat, Task.Status.ACCEPTED, now
    task.order = batch.pool.order
    task.expires_at = now + timedelta(minutes=batch.minutes_allotted)
    task.save()
    TopicAssignment.objects.filter(pk=place.given_id).update(cursor=place.position + 1)
    return task


def expire() -> int:
    """Return the tasks whose time has run out to their queues. What is submitted of them later is kept all the same."""
    total = 0
    while n := _expire_some():
        total += n
    return total


@transaction.atomic
def _expire_some() -> int:
    """Expire one chunk, in the order of ids; tasks that are being submitted at this moment are left alone."""
    overdue = Task.objects.filter(status=Task.Status.ACCEPTED, expires_at__lte=timezone.now())
    locked = overdue.select_for_update(skip_locked=True, of=("self",), no_key=True)
    tasks = list(locked.select_related("entry").order_by("pk")[:EXPIRED_AT_ONCE])
    Task.objects.filter(pk__in=[task.pk for task in tasks]).update(status=Task.Status.EXPIRED)
    for task in tasks:
        given = TopicAssignment.objects.filter(batch=task.batch_id, assessor=task.assessor_id)
        given.filter(topic=task.entry.topic_id).update(cursor=Least(F("cursor"), task.entry.position))
    return len(tasks)
