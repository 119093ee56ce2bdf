"""Stores the judgments of a plan as if they had been judged here, in the order of the file, with their times.

New batches are closed; an organizer opens them for what is left. A training or adjudication batch judges only the
units of the file. Judgments, tasks and assignments are those that the judging pages would have made.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import uuid4

from django.utils import timezone

from assay.protocols.schema import Grade
from assessment.batches import services as batch_services
from assessment.imports.campaign import BatchKey, Campaign, PlannedJudgment
from assessment.imports.plan import ImportPlan, Unusable, batch_of, existing_batch
from assessment.imports.staging import first_of_batches
from assessment.models import Batch, BatchEntry, Judgment, JudgmentImport, Task, TopicAssignment
from pooling.models import Pool

AT_ONCE = 2_000
SELECTIVE = (Batch.Kind.TRAINING, Batch.Kind.ADJUDICATION)


def make_batches(source: JudgmentImport, campaign: Campaign) -> None:
    """Create the batches of a staged file that are missing, training rounds in their order. They are closed."""
    now = timezone.now()
    for row in first_of_batches():
        try:
            pool, key = batch_of(source, row, campaign)
        except Unusable:  # the plan names the line
            continue
        if existing_batch(key, campaign) is None:
            batch = batch_services.create(pool=pool, name=key.name, kind=key.kind, by=source.created_by)
            batch.status, batch.closed_at = Batch.Status.CLOSED, now
            batch.is_selective = key.kind in SELECTIVE
            batch.save(update_fields=["status", "closed_at", "is_selective"])
            campaign.batches[key.pool_id, key.name] = batch


def store(
    plan: ImportPlan,
    source: JudgmentImport,
    planned: Sequence[PlannedJudgment],
    campaign: Campaign,
    now: datetime,
) -> None:
    """Store planned judgments, all of their topics. The caller's transaction locks the track and its batches.

    `now` is the time of judgments without one.
    """
    batches = {
        key: campaign.batches[key.pool_id, key.name] for key in {judgment.batch for judgment in planned}
    }
    # Add the units of selective batches
    units = {
        (batches[judgment.batch].pk, judgment.entry)
        for judgment in planned
        if batches[judgment.batch].is_selective
    }
    rows = [BatchEntry(batch_id=batch, entry_id=entry) for batch, entry in sorted(units)]
    BatchEntry.objects.bulk_create(rows, batch_size=AT_ONCE, ignore_conflicts=True)
    _assign(planned, batches, campaign, now)
    tasks = _tasks(planned, batches, campaign, now)
    _judgments(plan, source, planned, batches, tasks, now)


def _assign(
    planned: Sequence[PlannedJudgment], batches: dict[BatchKey, Batch], campaign: Campaign, now: datetime
) -> None:
    """Assign the topics. If several assessors had a seat one after another, the last one has it now.

    In a batch that is open to join, all of them share it.
    """
    here = campaign.assignments(list(batches.values()), {judgment.topic for judgment in planned})
    known = {(assignment.batch_id, assignment.topic_id, assignment.assessor_id) for assignment in here}
    held = {
        (assignment.batch_id, assignment.topic_id, assignment.seat)
        for assignment in here
        if not assignment.is_withdrawn
    }
    last: dict[tuple[int, int, int], PlannedJudgment] = {}
    for judgment in sorted(planned, key=lambda judgment: _judged_at(judgment, now)):
        if not judgment.row.is_check:
            key = (batches[judgment.batch].pk, judgment.topic, judgment.assessor)
            last.pop(key, None)  # so that the dictionary is in the order of the last judgments
            last[key] = judgment
    rows, shared = [], {batch.pk for batch in batches.values() if batch.is_shared}
    for (batch, topic, assessor), judgment in reversed(last.items()):
        if (batch, topic, assessor) in known:
            continue
        is_shared = batch in shared
        is_taken = (batch, topic, judgment.seat) in held and not is_shared
        is_withdrawn = judgment.row.is_withdrawn or is_taken
        if not is_withdrawn:
            held.add((batch, topic, judgment.seat))
        fields = {"batch_id": batch, "topic_id": topic, "assessor_id": assessor, "seat": judgment.seat}
        fields["is_shared"] = is_shared
        rows.append(TopicAssignment(**fields, is_withdrawn=is_withdrawn))
    TopicAssignment.objects.bulk_create(reversed(rows), batch_size=AT_ONCE)


TaskKey = tuple[int, int, int, bool]


def _tasks(
    planned: Sequence[PlannedJudgment], batches: dict[BatchKey, Batch], campaign: Campaign, now: datetime
) -> dict[TaskKey, int]:
    """The id of the task of each judgment: a new one, or the assessor's own that was not submitted yet."""
    stored = campaign.tasks(list(batches.values()), {judgment.topic for judgment in planned})
    ids = {key: task.pk for key, task in stored.items()}
    for start in range(0, len(planned), AT_ONCE):
        new: dict[TaskKey, Task] = {}
        submitted: dict[TaskKey, Task] = {}
        for judgment in planned[start : start + AT_ONCE]:
            batch = batches[judgment.batch]
            key = _task_key(batch, judgment)
            if key not in ids:
                new.setdefault(key, _new_task(batch, judgment, now))
            elif key in stored and stored[key].status != Task.Status.SUBMITTED:
                submitted[key] = task = stored[key]
                task.status, task.submitted_at = Task.Status.SUBMITTED, _judged_at(judgment, now)
                task.seat = judgment.seat
        Task.objects.bulk_create(new.values())
        Task.objects.bulk_update(submitted.values(), ["status", "submitted_at", "seat"])
        ids |= {key: task.pk for key, task in new.items()}
    return ids


def _task_key(batch: Batch, planned: PlannedJudgment) -> TaskKey:
    return batch.pk, planned.entry, planned.assessor, planned.row.is_check


def _new_task(batch: Batch, planned: PlannedJudgment, now: datetime) -> Task:
    judged_at = _judged_at(planned, now)
    accepted_at = planned.row.accepted_at or judged_at - timedelta(seconds=planned.row.seconds or 0)
    return Task(
        batch=batch,
        entry_id=planned.entry,
        assessor_id=planned.assessor,
        seat=0 if planned.row.is_check else planned.seat,
        is_check=planned.row.is_check,
        order=_order(planned),
        status=Task.Status.SUBMITTED,
        accepted_at=accepted_at,
        expires_at=accepted_at + timedelta(minutes=batch.minutes_allotted),
        submitted_at=judged_at,
    )


def _judged_at(planned: PlannedJudgment, now: datetime) -> datetime:
    return planned.row.judged_at or now


def _order(planned: PlannedJudgment) -> str:
    return planned.row.order if planned.row.order in Pool.Order.values else planned.pool.order


def _judgments(
    plan: ImportPlan,
    source: JudgmentImport,
    planned: Sequence[PlannedJudgment],
    batches: dict[BatchKey, Batch],
    tasks: dict[TaskKey, int],
    now: datetime,
) -> None:
    """Store the judgments; a revision names what it replaces."""
    replaced = [
        judgment.replaces.stored.pk for judgment in planned if judgment.replaces and judgment.replaces.stored
    ]
    Judgment.objects.filter(pk__in=replaced, is_current=True).update(is_current=False)
    for start in range(0, len(planned), AT_ONCE):
        rows = [
            Judgment(
                pk=judgment.pk,
                task_id=tasks[_task_key(batches[judgment.batch], judgment)],
                batch=batches[judgment.batch],
                track_id=source.track_id,
                topic_id=judgment.topic,
                docno=judgment.row.docno,
                assessor_id=judgment.assessor,
                choice=judgment.choice.key,
                grade=judgment.choice.value if isinstance(judgment.choice, Grade) else None,
                comment=judgment.row.comment.strip(),
                answers=dict(judgment.row.answers),
                left=judgment.row.left,
                guidelines_id=judgment.guidelines,
                order=_order(judgment),
                request_id=uuid4(),
                replaces_id=(judgment.replaces.stored or judgment.replaces).pk if judgment.replaces else None,
                is_current=judgment.is_current,
                is_check=judgment.row.is_check,
                seconds=judgment.row.seconds,
                source=judgment.row.source[:20],
                from_import=source,
                created_at=_judged_at(judgment, now),
            )
            for judgment in planned[start : start + AT_ONCE]
        ]
        Judgment.objects.bulk_create(rows)
        plan.n_stored += len(rows)
        plan.report(plan.n_stored, "storing")
