"""Judgments: stored once, revised by appending."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID, uuid5

from django.db import IntegrityError, transaction

from assay.protocols.schema import Grade, NonAnswer
from assessment.batches.errors import BatchClosed, TopicWithdrawn
from assessment.batches.locks import share
from assessment.judgments.errors import JudgedElsewhere, MembersMissing, RequestReused
from assessment.judgments.rules import check_choice, judging_rules, label_of
from assessment.models import Batch, Judgment, Task, TopicAssignment
from assessment.tasks.members import members_to_judge


@dataclass(frozen=True)
class Submission:
    """What one press of Submit says of one docno. `seen` are earlier sendings of the same page."""

    choice: str
    comment: str
    request_id: UUID
    seconds: int | None
    shown: int | None
    seen: frozenset[UUID] = frozenset()


@dataclass(frozen=True)
class Answer:
    """What was chosen for one member of a unit; `shown` is the judgment of it that the page showed (0: none)."""

    choice: str
    comment: str = ""
    shown: int | None = None


def submit(
    *,
    task: Task,
    choice: str,
    comment: str = "",
    request_id: UUID,
    seconds: int | None = None,
    shown: int | None = None,
) -> Judgment:
    """Store what the assessor chose; the same submission, sent twice, is stored once and answered alike.

    A further submission for the locked_task is a revision that keeps its predecessor. `shown` is the id of the judgment
    that the assessor saw when choosing (0: none); with it, nothing is revised that they had not seen.
    A first submission is always kept: after the locked_task's time, after its topic was withdrawn, after the batch closed.

    Raises
    ------
    UnknownChoice, CommentNeeded, BatchClosed, TopicWithdrawn, JudgedElsewhere, RequestReused
    """
    submission = Submission(choice, comment.strip(), request_id, seconds, shown)
    with _one_sending():
        return _submit(task, {task.entry.docno: submission})[0]


def submit_members(
    *,
    task: Task,
    answers: Mapping[str, Answer],
    request_id: UUID,
    seconds: int | None = None,
    sent: Collection[UUID] = (),
) -> list[Judgment]:
    """Store what the assessor chose for each member of a unit, by docno: all of them, or none.

    As `submit_judgment` for each; what has not changed is not stored again. `sent` are the numbers under which the
    page was sent before: what was stored then, though the answer was lost, counts as seen.

    Raises
    ------
    MembersMissing, UnknownChoice, CommentNeeded, BatchClosed, TopicWithdrawn, JudgedElsewhere, RequestReused
    """
    wanted = [member.docno for member in members_to_judge(task)]
    if set(answers) != set(wanted):
        raise MembersMissing(len(set(wanted) - set(answers)))
    submissions = {
        docno: Submission(
            answers[docno].choice,
            answers[docno].comment.strip(),
            uuid5(request_id, docno),
            seconds if docno == wanted[0] else None,  # the time of the unit is counted once
            answers[docno].shown,
            frozenset(uuid5(one, docno) for one in sent),
        )
        for docno in wanted
    }
    with _one_sending():
        return _submit(task, submissions)


@contextmanager
def _one_sending() -> Iterator[None]:
    """A transaction in which a number that another locked_task has taken is a refusal."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        # This locked_task's own submissions are looked up under its lock: it is another locked_task that has taken the number.
        if "judgment_request_unique" in str(error):
            raise RequestReused from None
        raise


def _submit(task: Task, submissions: Mapping[str, Submission]) -> list[Judgment]:
    batch = share(task.batch_id)
    locked_task, mates = _lock_tasks(task)
    stored = [
        _store(batch, task, locked_task, mates, docno, submission)
        for docno, submission in submissions.items()
    ]
    if locked_task.status != Task.Status.SUBMITTED:
        locked_task.status, locked_task.submitted_at = Task.Status.SUBMITTED, stored[0].created_at
        locked_task.save(update_fields=["status", "submitted_at"])
    return stored


def _store(
    batch: Batch,
    task: Task,
    locked_task: Task,
    mates: list[Task],
    docno: str,
    submission: Submission,
) -> Judgment:
    sent_before = Judgment.objects.filter(request_id=submission.request_id).first()
    if sent_before is not None:
        return _same_again(sent_before, locked_task, submission)
    rules = judging_rules(task.batch.pool.protocol)
    choice = check_choice(rules, choice=submission.choice, comment=submission.comment)
    judgments = Judgment.objects.filter(task__in=mates, docno=docno)
    history = _History(locked_task, list(judgments.order_by("pk")))
    seat = _seat_held(locked_task)
    if history.own is not None:
        if docno != locked_task.entry.docno and _is_same(history.own, submission):
            return history.own
        _check_revision(batch, locked_task, history.own, submission, is_withdrawn=seat is None)
    stands_aside = seat != locked_task.seat and history.is_of_others
    replaces = history.own_unreplaced if stands_aside else history.standing
    if replaces is not None and replaces.is_current:
        Judgment.objects.filter(pk=replaces.pk).update(is_current=False)
    return _append(task, docno, choice, submission, replaces=replaces, is_current=not stands_aside)


def _lock_tasks(task: Task) -> tuple[Task, list[Task]]:
    """The locked_task, and all tasks of its entry from its seat, locked in the order of ids."""
    tasks = Task.objects.filter(batch=task.batch_id, entry=task.entry_id)
    locked = list(tasks.select_for_update(no_key=True).order_by("pk"))
    locked_task = next(one for one in locked if one.pk == task.pk)
    return locked_task, [mate for mate in locked if mate.seat == locked_task.seat]


def _same_again(sent: Judgment, locked_task: Task, submission: Submission) -> Judgment:
    if sent.task_id != locked_task.pk or not _is_same(sent, submission):
        raise RequestReused
    return sent


def _is_same(judgment: Judgment, submission: Submission) -> bool:
    return (judgment.choice, judgment.comment) == (submission.choice, submission.comment)


def _seat_held(locked_task: Task) -> int | None:
    """The seat from which the assessor judges the locked_task's topic now; None if the topic was withdrawn from them."""
    given = TopicAssignment.objects.filter(
        batch=locked_task.batch_id, assessor=locked_task.assessor_id, is_withdrawn=False
    )
    return given.filter(topic__pool_entries=locked_task.entry_id).values_list("seat", flat=True).first()


class _History:
    """What was judged of a docno of the locked_task's entry from its seat before.

    There is somebody else's only where a topic changed hands while a locked_task of it was open. Who has the seat then
    replaces what stood; what the other still submits is kept beside it, not in place of it.
    """

    def __init__(self, locked_task: Task, judgments: list[Judgment]) -> None:
        self.own = next((one for one in reversed(judgments) if one.task_id == locked_task.pk), None)
        self.standing = next((one for one in judgments if one.is_current), None)
        self.is_of_others = self.standing is not None and self.standing.task_id != locked_task.pk
        replaced = {one.replaces_id for one in judgments}
        self.own_unreplaced = None if self.own is None or self.own.pk in replaced else self.own


def _check_revision(
    batch: Batch, locked_task: Task, own: Judgment, submission: Submission, *, is_withdrawn: bool
) -> None:
    if batch.status != Batch.Status.OPEN:
        raise BatchClosed(batch)
    if is_withdrawn:
        raise TopicWithdrawn(locked_task.entry.topic)
    if submission.shown not in {None, own.pk} and own.request_id not in submission.seen:
        raise JudgedElsewhere(own, label_of(judging_rules(batch.pool.protocol), own.choice))


def _append(
    task: Task,
    docno: str,
    choice: Grade | NonAnswer,
    submission: Submission,
    *,
    replaces: Judgment | None,
    is_current: bool,
) -> Judgment:
    return Judgment.objects.create(
        task=task,
        batch_id=task.batch_id,
        track_id=task.batch.pool.track_id,
        topic_id=task.entry.topic_id,
        docno=docno,
        assessor_id=task.assessor_id,
        choice=choice.key,
        grade=choice.value if isinstance(choice, Grade) else None,
        comment=submission.comment,
        order=task.order,
        request_id=submission.request_id,
        replaces=replaces,
        is_current=is_current,
        seconds=submission.seconds,
    )
