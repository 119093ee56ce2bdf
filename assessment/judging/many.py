"""Store many judgments of one batch at once, all of them or none, for programs that judge without taking tasks.

The rules are those of the page: the units are those that the queue would give to the assessor, or that they have
taken already, and each judgment goes through `submit`. Only the order is the program's own.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from assay.errors import Refused
from assessment.batches.services import hold_place
from assessment.judging import queue
from assessment.models import Batch, Judgment, Task, TopicAssignment
from pooling.models import PoolEntry
from web.api.problems import problem_of_refusal
from web.pages import counted

MOST = 500  # judgments of one request: it takes some seconds, and holds the row of the assessor


class Unit(NamedTuple):
    """A unit to judge: a document of a topic; for a unit with members, the document that names the unit."""

    topic: str
    document: str

    def __str__(self) -> str:
        return f"{self.document} of topic {self.topic}"


Submit = Callable[[Task, int], Sequence[Judgment]]  # (task, index of the unit) -> what was stored


@transaction.atomic
def submit_many(*, batch: Batch, assessor: User, units: Sequence[Unit], submit: Submit) -> list[Judgment]:
    """Submit a judgment of each unit, in the order of the pool. A unit that was not taken gets its task by this.

    Raises:
        Refused: Nothing of the batch can be judged; or some judgments are refused, with the place and the reason of
            each in `errors`. Nothing is stored.
    """
    hold_place(batch.pk, assessor)
    entries, refusals = _entries(batch, units)
    tasks = _tasks(batch, assessor, entries, refusals)
    stored: dict[int, Sequence[Judgment]] = {}
    for index, task in tasks.items():
        try:
            stored[index] = submit(task, index)
        except Refused as refusal:
            refusals[index] = refusal
        for judgment in stored.get(index, ()):  # or their names would be read one by one
            judgment.topic, judgment.assessor = task.entry.topic, assessor
    if refusals:
        first = min(refusals)
        raise Refused(
            f"{len(refusals)} of {counted(len(units), 'judgment')} cannot be stored, so none was. "
            f"The first is judgments.{first}: {refusals[first].message}",
            code="some-refused",
            title="No judgment was stored",
            errors=[
                {
                    "field": f"judgments.{index}",
                    "code": problem_of_refusal(refusal)["code"],
                    "message": refusal.message,
                }
                for index, refusal in sorted(refusals.items())
            ],
        )
    return [judgment for index in sorted(stored) for judgment in stored[index]]


def _entries(batch: Batch, units: Sequence[Unit]) -> tuple[dict[int, PoolEntry], dict[int, Refused]]:
    """The entry of each unit by its index, and the units that are in the list twice or not in the pool."""
    rows = PoolEntry.objects.select_related("topic", "document").filter(
        pool=batch.pool_id,
        topic__code__in={unit.topic for unit in units},
        docno__in={unit.document for unit in units},
    )
    known = {Unit(row.topic.code, row.docno): row for row in rows}
    first: dict[Unit, int] = {}
    entries: dict[int, PoolEntry] = {}
    refusals: dict[int, Refused] = {}
    for index, unit in enumerate(units):
        if first.setdefault(unit, index) != index:
            refusals[index] = Refused(f"{unit} is also judgments.{first[unit]}.", code="unit-twice")
        elif unit in known:
            entries[index] = known[unit]
        else:
            refusals[index] = Refused(f"The pool has no unit {unit}.", code="unknown-unit")
    return entries, refusals


def _tasks(
    batch: Batch, assessor: User, entries: Mapping[int, PoolEntry], refusals: dict[int, Refused]
) -> dict[int, Task]:
    """The task of each entry by its index, in the order of the entries. Refusals of units of others are added.

    All tasks of the entries are locked in the order of their ids, so that two programs wait for each other.
    """
    of_entries = Task.objects.filter(batch=batch, entry__in=entries.values()).order_by("pk")
    locked = list(of_entries.select_for_update(no_key=True))
    own = {task.entry_id: task for task in locked if task.assessor_id == assessor.pk and not task.is_check}
    topics = {entry.topic_id for entry in entries.values()}
    assigned = TopicAssignment.objects.filter(
        batch=batch, assessor=assessor, is_withdrawn=False, topic__in=topics
    )
    # Keep the entries that the queue would give to the assessor
    seats = {
        entry_id: assignment.seat
        for assignment in assigned
        for entry_id in queue.open_entries(batch, assessor.pk, assignment.pk)
    }
    tasks: dict[int, Task] = {}
    for index, entry in sorted(entries.items(), key=lambda item: item[1].pk):
        task = own.get(entry.pk)
        if entry.pk not in seats and (task is None or task.status == Task.Status.EXPIRED):
            refusals[index] = Refused(
                f"{entry.docno} of topic {entry.topic.code} is not yours to judge in this batch: the topic is not "
                "assigned to you, the unit is not selected, or somebody has it or has judged it.",
                code="unit-of-others",
            )
            continue
        if task is None:  # without being open for a moment: the assessor may have another open task
            now, seat = timezone.now(), seats[entry.pk]
            task = Task(entry=entry, assessor=assessor, seat=seat, order=batch.pool.order)
            task.status, task.accepted_at, task.expires_at = Task.Status.EXPIRED, now, now
            task.batch = batch
            task.save()
        task.batch, task.entry = batch, entry
        tasks[index] = task
    return tasks
