"""Give out tasks, resume them, and return them to the queue when their time has run out. Decision: ADR 28."""

from datetime import timedelta
from typing import NamedTuple

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Least
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from accounts.audit import services as audit
from accounts.models import User
from assay.errors import Refused
from assessment.batches.other_batches import settled_entries
from assessment.batches.services import hold_assessor, hold_place, lock_for_judging, lock_open, return_tasks
from assessment.errors import UnitTaken, batch_closed, topic_withdrawn
from assessment.judging import queue
from assessment.judging.queue import NextEntry
from assessment.judging.selectors import is_taken, tasks_in_seat
from assessment.judgments.selectors import COUNTED_FOR_ASSESSORS, is_withdrawn_check
from assessment.models import Batch, Check, Judgment, Task, TopicAssignment
from pooling.models import PoolEntry
from web.statements import Prepared, Statement, insert

EXPIRED_AT_ONCE = 500
_OPEN = Prepared(
    lambda batch, assessor: Task.objects.filter(
        batch=batch, assessor=assessor, status=Task.Status.ACCEPTED
    ).select_for_update(no_key=True)
)
_ADVANCE = Statement(
    "UPDATE assessment_topicassignment SET cursor = %(cursor)s WHERE id = %(assignment)s RETURNING id"
)
AT_THE_END = 2**31 - 1  # the cursor of a topic whose remaining entries other batches have settled


class Taken(NamedTuple):
    """A task that was just taken, and the entry that will probably follow, as far as it is known.

    `is_new` is true if the assessor has not seen the task before, so that it has no judgments.
    """

    task: Task
    following: int | None = None
    is_new: bool = False


def accept_next(*, batch: Batch, assessor: User) -> Task | None:
    """The task of `take_next`. None is created if no page can show it.

    Raises:
        ExtensionMissing: The protocol needs an extension that is not installed.
    """
    batch.pool.protocol.check_extensions()
    taken = take_next(batch=batch, assessor=assessor)
    return taken and taken.task


@transaction.atomic
def take_next(*, batch: Batch, assessor: User) -> Taken | None:
    """The assessor's open task in the batch, or a task for their next entry; None if everything is judged.

    Entries come by topic and position; those that the assessor skipped come last, the oldest skip first. The number of
    index lookups per topic is fixed, however many entries are open or judged.
    """
    shared = hold_place(batch.pk, assessor)
    task = _resume(shared, assessor) or _take_check(shared, assessor)
    while task is None:
        place, exhausted = queue.next_place(shared, assessor.pk)
        if exhausted:
            TopicAssignment.objects.filter(pk__in=exhausted).update(cursor=AT_THE_END)
        if place is None:
            task = _take_skipped(shared, assessor) or _take_check(shared, assessor, at_end=True)
            return Taken(task) if task else None
        task = _take(shared, assessor, place)
        if task is not None and not shared.has_checks:
            return Taken(task, place.following, is_new=place.task_id is None)
    return Taken(task, queue.entry_after(shared, task))


def _resume(batch: Batch, assessor: User) -> Task | None:
    """The assessor's open task; if its time has run out, it gets new time.

    In a batch that is open to join, it returns to the queue then: another person may have taken the unit.
    """
    task, now = _OPEN.first(batch=batch.pk, assessor=assessor.pk), timezone.now()
    if task is None:
        return None
    if task.expires_at <= now:
        if batch.is_shared and not task.is_check:
            _return(task)
            return None
        task.expires_at = now + timedelta(minutes=batch.minutes_allotted)
        task.save(update_fields=["expires_at"])
    return task


def _take(batch: Batch, assessor: User, place: NextEntry) -> Task | None:
    """Create or reopen the assessor's task for the entry; None if a late submission came first."""
    task = Task(batch=batch, entry_id=place.entry_id, assessor=assessor)
    if place.task_id is not None:
        task = Task.objects.select_for_update(no_key=True).get(pk=place.task_id)
        if task.status != Task.Status.EXPIRED:
            return None
    _ADVANCE.rows(cursor=place.position + 1, assignment=place.assignment_id)
    return _accept(task, batch, place.seat)


def _accept(task: Task, batch: Batch, seat: int) -> Task:
    """Give the task, new or returned, to its assessor with new time."""
    now = timezone.now()
    task.seat, task.status, task.accepted_at = seat, Task.Status.ACCEPTED, now
    task.order = batch.pool.order
    task.expires_at = now + timedelta(minutes=batch.minutes_allotted)
    if task.pk is None:
        return insert(task)
    task.save()
    return task


def _take_check(batch: Batch, assessor: User, *, at_end: bool = False) -> Task | None:
    """A hidden check that is due; None if none is. At the end, what can never be due is forgotten."""
    # Nobody judges all of a batch that is open to join, so what is not due at the end is forgotten
    check_id = queue.due_check(batch, assessor.pk, at_end=at_end and not batch.is_shared)
    if check_id is None:
        if at_end and batch.has_checks:
            Check.objects.filter(batch=batch, assessor=assessor, task=None).delete()
        return None
    check = Check.objects.select_related("task").get(pk=check_id)
    task = check.task or Task(batch=batch, entry_id=check.entry_id, assessor=assessor, is_check=True)
    check.task = _accept(task, batch, 0)
    check.save(update_fields=["task"])
    return check.task


def _take_skipped(batch: Batch, assessor: User) -> Task | None:
    """The task that the assessor skipped first, of those that are still theirs to judge."""
    own = TopicAssignment.objects.filter(batch=batch, assessor=assessor, is_withdrawn=False)
    of_topic = {topic: (pk, seat) for topic, pk, seat in own.values_list("topic", "pk", "seat")}
    skipped = Task.objects.filter(batch=batch, assessor=assessor, status=Task.Status.SKIPPED)
    planned = Q(is_check=True, check_of__isnull=False)
    skipped = skipped.filter(Q(entry__topic__in=of_topic, is_check=False) | planned).select_related("entry")
    own_open = Task.objects.filter(batch=batch, assessor=assessor, entry=OuterRef("entry"), is_check=False)
    undone = Exists(own_open.exclude(status=Task.Status.SUBMITTED))  # it is not repeated before it is judged
    skipped = skipped.exclude(undone, check_of__kind=Check.Kind.REPEAT)
    tasks = list(skipped.select_for_update(no_key=True, of=("self",)).order_by("skipped_at", "pk"))
    settled = settled_entries([pk for pk, _ in of_topic.values()]) if tasks else {}
    for task in tasks:
        if task.is_check:
            return _accept(task, batch, 0)
        assignment, seat = of_topic[task.entry.topic_id]
        task.seat = seat
        if task.entry_id not in settled[assignment] and not tasks_in_seat(task).exists():
            return _accept(task, batch, seat)
    return None


@transaction.atomic
def skip(*, task: Task, reason: str = "") -> Task:
    """Put a task aside. Its entry comes back when the assessor has judged all others; organizers see the reason."""
    locked = _lock_open(task)
    locked.status, locked.skipped_at, locked.skip_reason = Task.Status.SKIPPED, timezone.now(), reason.strip()
    locked.save(update_fields=["status", "skipped_at", "skip_reason"])
    return locked


@transaction.atomic
def give_back(*, task: Task) -> Task:
    """Return a task to the queue before its time has run out. It is the first that the assessor gets again."""
    return _return(_lock_open(task))


def _return(task: Task) -> Task:
    """Return a locked task to its queue."""
    task.save(update_fields=["return_reason"])
    return_tasks(Task.objects.filter(pk=task.pk))
    task.refresh_from_db(fields=["status", "expires_at", "submitted_at"])
    assignments = TopicAssignment.objects.filter(batch=task.batch_id, assessor=task.assessor_id)
    place = PoolEntry.objects.values_list("topic", "position").get(pk=task.entry_id)
    assignments.filter(topic=place[0]).update(cursor=Least(F("cursor"), place[1]))
    return task


@transaction.atomic
def extend(*, task: Task) -> Task:
    """Start the task's time again. A task that has expired is taken again if the assessor still has to judge it.

    It stays expired while the assessor has another open task.

    Raises:
        UnitTaken: The time is over, and another person has the unit or has judged it in the same seat.
    """
    batch = lock_for_judging(task.batch_id)
    hold_assessor(batch, task.assessor_id)
    locked = _lock_open(task)
    others = Task.objects.filter(batch=batch, assessor=task.assessor_id, status=Task.Status.ACCEPTED)
    if is_taken(locked):
        raise UnitTaken
    if locked.status == Task.Status.ACCEPTED or (not others.exists() and _is_held(locked)):
        locked.status = Task.Status.ACCEPTED
        locked.expires_at = timezone.now() + timedelta(minutes=batch.minutes_allotted)
        locked.save(update_fields=["status", "expires_at"])
    return locked


def _is_held(task: Task) -> bool:
    """True if the topic is assigned to the assessor in the task's seat."""
    own = TopicAssignment.objects.filter(batch=task.batch_id, assessor=task.assessor_id, is_withdrawn=False)
    return own.filter(topic=task.entry.topic_id, seat=task.seat).exists()


@transaction.atomic
def undo_last(*, task: Task) -> Task:
    """Undo the assessor's latest judgment before an open task; returns the task that is open then.

    A task that is no longer open stays as it is, so two presses of the same button undo one judgment.
    """
    hold_assessor(lock_for_judging(task.batch_id), task.assessor_id)
    task.refresh_from_db(fields=["status"])  # another press may have come first
    if task.status != Task.Status.ACCEPTED:
        return task
    own = Judgment.objects.filter(COUNTED_FOR_ASSESSORS, batch=task.batch_id, assessor=task.assessor_id)
    latest = own.exclude(task=task).select_related("task").order_by("-pk").first()
    if latest is None:
        raise _nothing_to_undo()
    return undo(task=latest.task)


@transaction.atomic
def undo(*, task: Task) -> Task:
    """Take back the judgment of a task: it is kept, but no longer counts, and its assessor judges the task again.

    The assessor's other open task of the batch returns to the queue. A task that is not submitted stays as it is.
    An assessor who had the topic before and judged the unit too does not become its judge again: the unit is open.
    """
    batch = lock_for_judging(task.batch_id)
    if batch.status != Batch.Status.OPEN:
        raise batch_closed(batch)
    hold_assessor(batch, task.assessor_id)
    locked, tasks = _lock_with_open(task)
    if locked.status != Task.Status.SUBMITTED:
        return locked
    if is_withdrawn_check(locked) if locked.is_check else not _is_held(locked):
        raise topic_withdrawn(locked.entry.topic)
    if not locked.is_check and not _open_again(locked, tasks):
        raise _nothing_to_undo()
    for other in tasks:
        if other.assessor_id == locked.assessor_id and other.status == Task.Status.ACCEPTED:
            _return(other)
    locked.submitted_at, locked.return_reason = None, ""
    return _accept(locked, batch, locked.seat)


def _nothing_to_undo() -> Refused:
    return Refused(
        gettext("There is no judgment of yours to undo: you have judged nothing else, or it does not count."),
        code="nothing-to-undo",
        title=gettext_noop("Nothing to undo"),
    )


@transaction.atomic
def return_non_answer(*, judgment: Judgment, reason: str) -> Task:
    """Return the unit of a non-answer to its queue. The assessor of the topic judges it, and reads the reason.

    The judgment is kept, but no longer counts. The audit log records who returned it.
    """
    batch = lock_open(judgment.batch_id)
    locked, tasks = _lock_with_open(judgment.task)
    if not Judgment.objects.filter(pk=judgment.pk, is_current=True, grade=None).exists():
        raise Refused(
            "This judgment is not a non-answer that counts: its assessor has changed it, or it was returned already.",
            code="nothing-to-return",
            title="Nothing to return",
        )
    _open_again(locked, tasks)
    locked.return_reason = reason.strip()
    audit.record(
        action="judgment.returned",
        subject=f"{judgment.topic.code} {judgment.docno} of {judgment.assessor}",
        track=judgment.track,
        details={"batch": batch.name, "choice": judgment.choice, "reason": locked.return_reason},
    )
    return _return(locked)


def _open_again(locked: Task, tasks: list[Task]) -> bool:
    """Let the judgments of a task no longer count, nor those of others in its seat; False if none of its own did."""
    of_unit = [task.pk for task in tasks if (task.entry_id, task.seat) == (locked.entry_id, locked.seat)]
    judged = Task.objects.filter(pk__in=of_unit, status=Task.Status.SUBMITTED)
    return_tasks(judged)
    return bool(Judgment.objects.filter(task=locked, is_current=True).update(is_current=False))


def _lock_with_open(task: Task) -> tuple[Task, list[Task]]:
    """A task, and the other tasks of its entry, and the open ones of its assessor in the batch.

    All tasks are locked in the order of their ids.
    """
    held = Q(assessor=task.assessor_id, status=Task.Status.ACCEPTED)
    tasks = Task.objects.filter(held | Q(entry=task.entry_id), batch=task.batch_id).select_related("entry")
    locked = list(tasks.select_for_update(no_key=True, of=("self",)).order_by("pk"))
    [undone] = (locked_task for locked_task in locked if locked_task.pk == task.pk)
    return undone, [locked_task for locked_task in locked if locked_task.pk != task.pk]


def _lock_open(task: Task) -> Task:
    """The task, locked, in an open batch and not submitted."""
    lock_open(task.batch_id)
    locked = Task.objects.select_for_update(no_key=True).get(pk=task.pk)
    if locked.status == Task.Status.SUBMITTED:
        raise Refused(
            "You have submitted this task already. To change your judgment, submit another choice.",
            code="already-submitted",
            title="This task is submitted",
        )
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
