"""Leases: a process of a machine takes some tasks until a time, and judges them in bulk.

Processes share the account of their machine. A task has one holder, which a unique row of `Hold` says. Who takes tasks
ends expired leases, but for those that are locked by somebody who renews them or stores their judgments.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal
from uuid import UUID, uuid5

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from assay.errors import Refused
from assay_extensions.machines.model.evidence import Evidence
from assay_extensions.machines.site import evidence as evidences
from assay_extensions.machines.site.models import Hold, Lease
from assessment.batches.services import hold_place, lock_open
from assessment.judging import queue
from assessment.judging import services as tasks
from assessment.models import Batch, Judgment, Task
from tracks.models import Machine
from web.statements import read_rows

MOST = 500  # tasks of a lease, and items of a request
MOST_SECONDS = 24 * 60 * 60

# The entries that nobody holds, in the order of judging; those that were skipped come last.
_FREE = f"""
SELECT entry.id, assignment.seat, own.id
FROM assessment_topicassignment assignment
JOIN tracks_topic topic ON topic.id = assignment.topic_id
JOIN pooling_poolentry entry ON {queue.OPEN_ENTRY}
LEFT JOIN assessment_task own ON {queue.OWN_TASK} AND own.entry_id = entry.id
WHERE assignment.batch_id = %(batch)s AND assignment.assessor_id = %(assessor)s AND NOT assignment.is_withdrawn
  AND NOT EXISTS (SELECT 1 FROM machines_hold hold WHERE hold.task_id = own.id)
ORDER BY topic.natural_code, topic.code, entry.position LIMIT %(n)s
"""  # noqa: S608 - of constants
_SKIPPED = """
SELECT task.entry_id, assignment.seat, task.id
FROM assessment_task task
JOIN pooling_poolentry entry ON entry.id = task.entry_id
JOIN assessment_topicassignment assignment ON assignment.batch_id = task.batch_id
    AND assignment.assessor_id = task.assessor_id AND assignment.topic_id = entry.topic_id
    AND NOT assignment.is_withdrawn
WHERE task.batch_id = %(batch)s AND task.assessor_id = %(assessor)s AND task.status = 'skipped' AND NOT task.is_check
  AND NOT EXISTS (SELECT 1 FROM machines_hold hold WHERE hold.task_id = task.id)
  AND NOT EXISTS (
      SELECT 1 FROM assessment_task other WHERE other.batch_id = task.batch_id AND other.entry_id = task.entry_id
        AND other.seat = assignment.seat AND other.status = 'submitted'
  )
ORDER BY task.skipped_at, task.id LIMIT %(n)s
"""


@dataclass(frozen=True)
class Taken:
    """A lease, with the tasks that it holds."""

    lease: Lease
    tasks: list[Task]


@dataclass(frozen=True)
class Item:
    """A judgment or a skip of a task, with its evidence. `submit` stores a judgment by the rules of the core."""

    task: int
    submit: Callable[[Task], Sequence[Judgment]] | None = None
    request_id: UUID | None = None
    reason: str = ""
    evidence: Evidence | None = None


@dataclass(frozen=True)
class Result:
    """The outcome of an item."""

    task: int
    status: Literal["stored", "already-stored", "refused"]
    code: str = ""
    reason: str = ""


def machine_of(user: User) -> Machine:
    """The machine of an account.

    Raises Refused: it is that of a person.
    """
    machine = Machine.objects.select_related("assessor__track").filter(assessor__user=user).first()
    if machine is None:
        raise Refused("Leases are for machines. People take one task at a time.", code="not-a-machine")
    return machine


@transaction.atomic
def take(*, batch: Batch, machine: Machine, n: int, seconds: int, job_id: int | None = None) -> Taken | None:
    """Let a process of a machine hold the next tasks that nobody holds; None if there are none.

    What was skipped comes last. Two processes take turns.
    """
    user = machine.assessor.user
    batch = hold_place(batch.pk, user)
    now = timezone.now()
    over = Lease.objects.filter(batch=batch, assessor=user, expires_at__lte=now).order_by("pk")
    ended = list(over.select_for_update(skip_locked=True).values_list("pk", flat=True))
    if ended:
        Hold.objects.filter(lease__in=ended).delete()
    parameters = queue.parameters_of(batch, user.pk)
    places = read_rows(_FREE, **parameters, n=n)
    places = [*places, *read_rows(_SKIPPED, **parameters, n=n - len(places))]
    if not places:
        return None
    new = [
        Task(
            batch=batch,
            entry_id=entry,
            assessor=user,
            seat=seat,
            order=batch.pool.order,
            status=Task.Status.EXPIRED,  # an account has one open task, and a lease many
            accepted_at=now,
            expires_at=now,
        )
        for entry, seat, task in places
        if task is None
    ]
    Task.objects.bulk_create(new)
    lease = Lease.objects.create(
        batch=batch, assessor=user, expires_at=now + timedelta(seconds=seconds), job_id=job_id
    )
    made = {task.entry_id: task.pk for task in new}
    ids = [task or made[entry] for entry, _, task in places]
    Hold.objects.bulk_create([Hold(task_id=pk, lease=lease) for pk in ids])
    return Taken(lease, _in_order(ids))


def _in_order(ids: Sequence[int]) -> list[Task]:
    known = Task.objects.select_related(
        "batch__pool__track__guidelines", "batch__pool__protocol", "entry__topic", "entry__document"
    ).in_bulk(ids)
    return [known[pk] for pk in ids]


def _locked(lease: Lease) -> Lease:
    return Lease.objects.select_for_update().get(pk=lease.pk)


@transaction.atomic
def renew(*, lease: Lease, seconds: int) -> Lease:
    """Let a lease hold what it still holds until another time.

    Raises Refused: it holds nothing any more.
    """
    locked = _locked(lease)
    if not locked.holds.exists():
        raise Refused(
            "The lease holds no tasks any more: all are judged, it was released, or it was over and another process "
            "took tasks since.",
            code="lease-over",
        )
    locked.expires_at = timezone.now() + timedelta(seconds=seconds)
    locked.save(update_fields=["expires_at"])
    return locked


@transaction.atomic
def release(*, lease: Lease) -> None:
    """Give back what a lease holds. Repeating it changes nothing."""
    _locked(lease).holds.all().delete()


@transaction.atomic
def judge(*, lease: Lease, machine: Machine, items: Sequence[Item]) -> list[Result]:
    """Store judgments and skips of tasks that a lease holds, each by the rules of the core; one result for each.

    A lease that is over still stores what nobody holds or has judged since. Repeating the request changes nothing.
    """
    lock_open(lease.batch_id)
    lease = _locked(lease)
    wanted = {item.task for item in items}
    own = Task.objects.select_related("batch__pool__track", "batch__pool__protocol", "entry__topic")
    known = own.filter(batch=lease.batch_id, assessor=lease.assessor_id, is_check=False).in_bulk(wanted)
    rows = Judgment.objects.filter(task__in=known).order_by().values_list("task", "docno", "request_id")
    before = {(task, docno, request) for task, docno, request in rows}
    free = sorted(pk for pk, task in known.items() if task.status == Task.Status.EXPIRED)
    # What is held by another lease keeps its row
    Hold.objects.bulk_create([Hold(task_id=pk, lease=lease) for pk in free], ignore_conflicts=True)
    open_tasks = [pk for pk, task in known.items() if task.status != Task.Status.SUBMITTED]
    held = set(lease.holds.filter(task__in=open_tasks).values_list("task", flat=True))
    results: list[Result] = []
    stored: list[tuple[int, Judgment | None, Evidence]] = []
    done: set[int] = set()
    for item in items:
        result, judgment = _judge(item, known, held - done, before)
        results.append(result)
        if result.status == "stored":
            done.add(item.task)
            if item.evidence is not None:
                stored.append((item.task, judgment, item.evidence))
    evidences.store(machine, stored)
    Hold.objects.filter(lease=lease, task__in=done).delete()
    return results


def _judge(
    item: Item, known: Mapping[int, Task], held: set[int], before: Collection[tuple[int, str, UUID]]
) -> tuple[Result, Judgment | None]:
    if item.task not in known:
        return Result(item.task, "refused", "unknown-task", "The lease has no such task."), None
    is_repeat = item.request_id is not None and any(
        task == item.task and request in {item.request_id, uuid5(item.request_id, docno)}
        for task, docno, request in before
    )
    if item.task not in held and not is_repeat:
        task = known[item.task]
        if item.submit is None and task.status == Task.Status.SKIPPED:
            return Result(item.task, "already-stored"), None
        reason = "Somebody else holds this unit, or it is judged already."
        return Result(item.task, "refused", "unit-of-others", reason), None
    try:
        with transaction.atomic():
            if item.submit is None:
                tasks.skip(task=known[item.task], reason=item.reason)
                return Result(item.task, "stored"), None
            judgments = item.submit(known[item.task])
    except Refused as refusal:
        return Result(item.task, "refused", refusal.code, refusal.message), None
    return Result(item.task, "already-stored" if is_repeat else "stored"), judgments[0]


def tasks_of(lease: Lease) -> list[int]:
    """The ids of the tasks that a lease holds."""
    return list(lease.holds.order_by("task").values_list("task", flat=True))
