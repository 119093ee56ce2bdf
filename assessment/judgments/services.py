"""Judgments: stored once, revised by appending."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID, uuid5

from django.db import IntegrityError, transaction

from assessment.errors import BatchClosed, JudgedElsewhere, MembersMissing, RequestReused, TopicWithdrawn
from assessment.models import Assignment, Batch, Judgment, TopicAssignment
from assessment.rules import check_choice, judging_rules, label_of
from assessment.selectors.members import members_to_judge
from assessment.services.locks import share
from protocols.schema import Grade, NonAnswer


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
    with _one_sending():
        return _submit(assignment, {assignment.entry.docno: submission})[0]


def submit_members(
    *,
    assignment: Assignment,
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
    wanted = [member.docno for member in members_to_judge(assignment)]
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
        return _submit(assignment, submissions)


@contextmanager
def _one_sending() -> Iterator[None]:
    """A transaction in which a number that another task has taken is a refusal."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        # This task's own submissions are looked up under its lock: it is another task that has taken the number.
        if "judgment_request_unique" in str(error):
            raise RequestReused from None
        raise


def _submit(assignment: Assignment, submissions: Mapping[str, Submission]) -> list[Judgment]:
    batch = share(assignment.batch_id)
    task, mates = _lock_tasks(assignment)
    stored = [
        _store(batch, assignment, task, mates, docno, submission) for docno, submission in submissions.items()
    ]
    if task.status != Assignment.Status.SUBMITTED:
        task.status, task.submitted_at = Assignment.Status.SUBMITTED, stored[0].created_at
        task.save(update_fields=["status", "submitted_at"])
    return stored


def _store(
    batch: Batch,
    assignment: Assignment,
    task: Assignment,
    mates: list[Assignment],
    docno: str,
    submission: Submission,
) -> Judgment:
    sent_before = Judgment.objects.filter(request_id=submission.request_id).first()
    if sent_before is not None:
        return _same_again(sent_before, task, submission)
    rules = judging_rules(assignment.batch.pool.protocol)
    choice = check_choice(rules, choice=submission.choice, comment=submission.comment)
    judgments = Judgment.objects.filter(assignment__in=mates, docno=docno)
    history = _History(task, list(judgments.order_by("pk")))
    seat = _seat_held(task)
    if history.own is not None:
        if docno != task.entry.docno and _is_same(history.own, submission):
            return history.own
        _check_revision(batch, task, history.own, submission, is_withdrawn=seat is None)
    stands_aside = seat != task.seat and history.is_of_others
    replaces = history.own_unreplaced if stands_aside else history.standing
    if replaces is not None and replaces.is_current:
        Judgment.objects.filter(pk=replaces.pk).update(is_current=False)
    return _append(assignment, docno, choice, submission, replaces=replaces, is_current=not stands_aside)


def _lock_tasks(assignment: Assignment) -> tuple[Assignment, list[Assignment]]:
    """The task, and all tasks of its entry from its seat, locked in the order of ids."""
    tasks = Assignment.objects.filter(batch=assignment.batch_id, entry=assignment.entry_id)
    locked = list(tasks.select_for_update(no_key=True).order_by("pk"))
    task = next(one for one in locked if one.pk == assignment.pk)
    return task, [mate for mate in locked if mate.seat == task.seat]


def _same_again(sent: Judgment, task: Assignment, submission: Submission) -> Judgment:
    if sent.assignment_id != task.pk or not _is_same(sent, submission):
        raise RequestReused
    return sent


def _is_same(judgment: Judgment, submission: Submission) -> bool:
    return (judgment.choice, judgment.comment) == (submission.choice, submission.comment)


def _seat_held(task: Assignment) -> int | None:
    """The seat from which the assessor judges the task's topic now; None if the topic was withdrawn from them."""
    given = TopicAssignment.objects.filter(batch=task.batch_id, assessor=task.assessor_id, is_withdrawn=False)
    return given.filter(topic__pool_entries=task.entry_id).values_list("seat", flat=True).first()


class _History:
    """What was judged of a docno of the task's entry from its seat before.

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
    if submission.shown not in {None, own.pk} and own.request_id not in submission.seen:
        raise JudgedElsewhere(own, label_of(judging_rules(batch.pool.protocol), own.choice))


def _append(
    assignment: Assignment,
    docno: str,
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
        docno=docno,
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
