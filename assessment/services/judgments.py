"""Judgments: stored once, revised by appending."""

from dataclasses import dataclass
from uuid import UUID

from django.db import IntegrityError, transaction

from assessment.errors import BatchClosed, JudgedElsewhere, RequestReused, TopicWithdrawn
from assessment.models import Assignment, Batch, Judgment, TopicAssignment
from assessment.rules import check_choice, judging_rules, label_of
from assessment.services.locks import share
from protocols.schema import Grade, NonAnswer


@dataclass(frozen=True)
class Submission:
    """What one press of Submit says."""

    choice: str
    comment: str
    request_id: UUID
    seconds: int | None
    shown: int | None


def submit_judgment(
    *,
    assignment: Assignment,
    choice: str,
    comment: str = "",
    request_id: UUID,
    seconds: int | None = None,
    shown: int | None = None,
) -> Judgment:
    """Store what the assessor chose; the same submission, sent twice, is stored once and answered alike.

    A further submission for the task is a revision that keeps its predecessor. `shown` is the id of the judgment
    that the assessor saw when choosing (0: none); with it, nothing is revised that they had not seen.
    A first submission is always kept: after the task's time, after its topic was withdrawn, after the batch closed.

    Raises
    ------
    UnknownChoice, CommentNeeded, BatchClosed, TopicWithdrawn, JudgedElsewhere, RequestReused
    """
    submission = Submission(choice, comment.strip(), request_id, seconds, shown)
    try:
        with transaction.atomic():
            return _submit(assignment, submission)
    except IntegrityError as error:
        # This task's own submissions are looked up under its lock: it is another task that has taken the number.
        if "judgment_request_unique" in str(error):
            raise RequestReused from None
        raise


def _submit(assignment: Assignment, submission: Submission) -> Judgment:
    batch = share(assignment.batch_id)
    task, mates = _lock_tasks(assignment)
    sent_before = Judgment.objects.filter(request_id=submission.request_id).first()
    if sent_before is not None:
        return _same_again(sent_before, task, submission)
    rules = judging_rules(assignment.batch.pool.protocol)
    choice = check_choice(rules, choice=submission.choice, comment=submission.comment)
    history = _History(task, list(Judgment.objects.filter(assignment__in=mates).order_by("pk")))
    seat = _seat_held(task)
    if history.own is not None:
        _check_revision(batch, task, history.own, submission, is_withdrawn=seat is None)
    stands_aside = seat != task.seat and history.is_of_others
    replaces = history.own_unreplaced if stands_aside else history.standing
    if replaces is not None and replaces.is_current:
        Judgment.objects.filter(pk=replaces.pk).update(is_current=False)
    judgment = _append(assignment, choice, submission, replaces=replaces, is_current=not stands_aside)
    if task.status != Assignment.Status.SUBMITTED:
        task.status, task.submitted_at = Assignment.Status.SUBMITTED, judgment.created_at
        task.save(update_fields=["status", "submitted_at"])
    return judgment


def _lock_tasks(assignment: Assignment) -> tuple[Assignment, list[Assignment]]:
    """The task, and all tasks of its entry from its seat, locked in the order of ids."""
    tasks = Assignment.objects.filter(batch=assignment.batch_id, entry=assignment.entry_id)
    locked = list(tasks.select_for_update(no_key=True).order_by("pk"))
    task = next(one for one in locked if one.pk == assignment.pk)
    return task, [mate for mate in locked if mate.seat == task.seat]


def _same_again(sent: Judgment, task: Assignment, submission: Submission) -> Judgment:
    is_same = (sent.choice, sent.comment) == (submission.choice, submission.comment)
    if sent.assignment_id != task.pk or not is_same:
        raise RequestReused
    return sent


def _seat_held(task: Assignment) -> int | None:
    """The seat from which the assessor judges the task's topic now; None if the topic was withdrawn from them."""
    given = TopicAssignment.objects.filter(batch=task.batch_id, assessor=task.assessor_id, is_withdrawn=False)
    return given.filter(topic__pool_entries=task.entry_id).values_list("seat", flat=True).first()


class _History:
    """What was judged of the task's entry from its seat before.

    There is somebody else's only where a topic changed hands while a task of it was open. Who has the seat then
    replaces what stood; what the other still submits is kept beside it, not in place of it.
    """

    def __init__(self, task: Assignment, judgments: list[Judgment]) -> None:
        self.own = next((one for one in reversed(judgments) if one.assignment_id == task.pk), None)
        self.standing = next((one for one in judgments if one.is_current), None)
        self.is_of_others = self.standing is not None and self.standing.assignment_id != task.pk
        replaced = {one.replaces_id for one in judgments}
        self.own_unreplaced = None if self.own is None or self.own.pk in replaced else self.own


def _check_revision(
    batch: Batch, task: Assignment, own: Judgment, submission: Submission, *, is_withdrawn: bool
) -> None:
    if batch.status != Batch.Status.OPEN:
        raise BatchClosed(batch)
    if is_withdrawn:
        raise TopicWithdrawn(task.entry.topic)
    if submission.shown not in {None, own.pk}:
        raise JudgedElsewhere(own, label_of(judging_rules(batch.pool.protocol), own.choice))


def _append(
    assignment: Assignment,
    choice: Grade | NonAnswer,
    submission: Submission,
    *,
    replaces: Judgment | None,
    is_current: bool,
) -> Judgment:
    return Judgment.objects.create(
        assignment=assignment,
        batch_id=assignment.batch_id,
        track_id=assignment.batch.pool.track_id,
        topic_id=assignment.entry.topic_id,
        docno=assignment.entry.docno,
        assessor_id=assignment.assessor_id,
        choice=choice.key,
        grade=choice.value if isinstance(choice, Grade) else None,
        comment=submission.comment,
        order=assignment.order,
        request_id=submission.request_id,
        replaces=replaces,
        is_current=is_current,
        seconds=submission.seconds,
    )
