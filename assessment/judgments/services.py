"""Submit judgments. A submission is stored once; a revision is appended and keeps what it replaces. Decision: ADR 4."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID, uuid5

from django.db import IntegrityError, transaction
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils.translation import gettext, gettext_noop

from accounts.audit import services as audit
from assay.errors import Refused
from assay.protocols.questions import tidy
from assay.protocols.schema import Grade, NonAnswer
from assessment.batches.other_batches import judged_by_assessor
from assessment.batches.services import has_others, hold_assessor, lock_for_judging
from assessment.errors import JudgedElsewhere, batch_closed, topic_withdrawn
from assessment.judgments.answers import check_answers, check_choice, in_language, questions_of
from assessment.judgments.exports import Form, file_name, lines_of
from assessment.judgments.pairs import left_of
from assessment.judgments.selectors import is_withdrawn_check, judgments_of_track, members_to_judge
from assessment.models import MAIN_AND_DUAL, Batch, Judgment, Task, TopicAssignment
from tracks.assessors.selectors import code_names
from tracks.models import Track
from web.statements import Prepared, Statement, insert


def _tasks(batch: Any, entry: Any, assessor: Any) -> QuerySet[Task]:
    """The tasks of an entry, each with the seat in which the assessor now judges the topic.

    The lock of the batch protects it.
    """
    own = TopicAssignment.objects.filter(batch=batch, assessor=assessor, is_withdrawn=False)
    seats = own.filter(topic=OuterRef("entry__topic")).values("seat")
    tasks = Task.objects.filter(batch=batch, entry=entry).annotate(current=Subquery(seats))
    return tasks.order_by("pk").select_for_update(of=("self",), no_key=True)


_TASKS = Prepared(_tasks)
_BEFORE = Prepared(
    lambda batch, entry: Judgment.objects.filter(task__batch=batch, task__entry=entry).order_by("pk")
)
_DONE = Statement("""
UPDATE assessment_task SET status = 'submitted', submitted_at = %(at)s, seat = %(seat)s WHERE id = %(task)s RETURNING id
""")


@dataclass(frozen=True)
class Answer:
    """A choice for one document. `shown` is the id of its judgment that the page showed (0: none)."""

    choice: str
    comment: str = ""
    shown: int | None = None
    answers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Submission(Answer):
    """The answer about one docno that Submit sends. `seen` are the ids of earlier tries of the same page."""

    request_id: UUID
    seconds: int | None
    seen: frozenset[UUID] = frozenset()


def submit(
    *,
    task: Task,
    choice: str,
    comment: str = "",
    request_id: UUID,
    seconds: int | None = None,
    shown: int | None = None,
    answers: Mapping[str, object] | None = None,
) -> Judgment:
    """Store the assessor's choice. The same submission, sent twice, is stored once and gets the same answer.

    Another submission for the task is a revision; it keeps the judgment that it replaces. `shown` is the id of the
    judgment that the page showed (0: none), so that an assessor never replaces a judgment that they have not seen.
    After an undo, a submission is a first one again.
    A first submission is always kept: after the task's time ran out, its topic was withdrawn or the batch closed.
    It does not count if the assessor has judged the document in another batch whose judgments count here.
    `answers` are those to the protocol's questions.
    """
    given = tidy(task.batch.pool.protocol.parsed.judging, answers or {})
    submission = Submission(choice, comment.strip(), shown, given, request_id=request_id, seconds=seconds)
    with _refusing_reused_ids():
        return _submit(task, {task.entry.docno: submission})[0]


def submit_members(
    *,
    task: Task,
    answers: Mapping[str, Answer],
    request_id: UUID,
    seconds: int | None = None,
    sent: Collection[UUID] = (),
) -> list[Judgment]:
    """Store the assessor's choice for each member of a unit, by docno: all of them, or none.

    Works as `submit` for each member; unchanged choices are not stored again. `sent` are the request ids of earlier
    tries of the page: judgments stored by them count as seen, even if the page did not get the answer.
    """
    rules = task.batch.pool.protocol.parsed.judging
    wanted = [member.docno for member in members_to_judge(task)]
    if set(answers) != set(wanted):
        raise Refused(
            gettext(
                "All instances of a formula are submitted at once. Choose for each: {n} have no choice."
            ).format(n=len(set(wanted) - set(answers)))
            if set(wanted) - set(answers)
            else gettext(
                "All instances of a formula are submitted at once, but the choices are for other instances."
            ),
            code="members-missing",
        )
    submissions = {
        docno: Submission(
            answers[docno].choice,
            answers[docno].comment.strip(),
            answers[docno].shown,
            tidy(rules, answers[docno].answers),
            request_id=uuid5(request_id, docno),
            seconds=seconds if docno == wanted[0] else None,  # the time of the unit counts once
            seen=frozenset(uuid5(request, docno) for request in sent),
        )
        for docno in wanted
    }
    with _refusing_reused_ids():
        return _submit(task, submissions)


@contextmanager
def _refusing_reused_ids() -> Iterator[None]:
    """A transaction that refuses a request id which another task has used."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        # The task's own submissions were looked up under its lock, so another task has used the id.
        if "judgment_request_unique" in str(error):
            raise _request_reused() from None
        raise


def _submit(task: Task, submissions: Mapping[str, Submission]) -> list[Judgment]:
    batch = lock_for_judging(task.batch_id)
    # The documents that the assessor has judged in another batch whose judgments count here, with pages that were
    # opened before. The assessor's row is locked, so that two pages come in turn.
    judged: set[str] = set()
    if batch.kind in MAIN_AND_DUAL and not task.is_check and has_others(batch):
        hold_assessor(batch, task.assessor_id)
        judged = judged_by_assessor(batch, task, submissions)
    seat = _lock_tasks(task)
    # The judgments of the documents in all tasks of the entry, and what the same requests have stored
    requests = [submission.request_id for submission in submissions.values()]
    locked_task, before = seat.task, _BEFORE(batch=task.batch_id, entry=task.entry_id)
    sent_before = {judgment.request_id: judgment for judgment in before if judgment.request_id in requests}
    if sent_before and locked_task.status != Task.Status.SUBMITTED:  # it was undone since
        repeated = [submission for submission in submissions.values() if submission.request_id in sent_before]
        return [
            _repeated(sent_before[submission.request_id], locked_task, submission) for submission in repeated
        ]
    stored = [
        _repeated(sent_before[submission.request_id], locked_task, submission)
        if submission.request_id in sent_before
        else _store(batch, task, seat, before, docno, submission, is_settled=docno in judged)
        for docno, submission in submissions.items()
    ]
    if locked_task.status != Task.Status.SUBMITTED:
        locked_task.status, locked_task.submitted_at = Task.Status.SUBMITTED, stored[0].created_at
        _DONE.rows(at=locked_task.submitted_at, seat=locked_task.seat, task=locked_task.pk)
    return stored


def _store(
    batch: Batch,
    task: Task,
    seat: "_Seat",
    before: Sequence[Judgment],
    docno: str,
    submission: Submission,
    *,
    is_settled: bool,
) -> Judgment:
    locked_task, before = seat.task, [judgment for judgment in before if judgment.docno == docno]
    rules = task.batch.pool.protocol.parsed.judging
    choice = check_choice(rules, choice=submission.choice, comment=submission.comment)
    questions = questions_of(task, rules, [docno])[docno]
    answers = check_answers(rules, questions, choice=choice.key, answers=submission.answers)
    submission = replace(submission, answers=answers)
    if locked_task.is_check:
        # It never counts, and replaces only earlier answers to the same check.
        own = next((judgment for judgment in reversed(before) if judgment.task_id == locked_task.pk), None)
        if own is not None and locked_task.status == Task.Status.SUBMITTED:
            if docno != locked_task.entry.docno and _is_same(own, submission):
                return own
            is_withdrawn = is_withdrawn_check(locked_task)
            _check_revision(batch, locked_task, own, submission, is_withdrawn=is_withdrawn)
        return _append(task, docno, choice, submission, replaces=own, is_current=False)
    history = _History(locked_task, [judgment for judgment in before if judgment.task_id in seat.own_ids])
    if history.own is not None and locked_task.status == Task.Status.SUBMITTED:
        if docno != locked_task.entry.docno and _is_same(history.own, submission):
            return history.own
        _check_revision(batch, locked_task, history.own, submission, is_withdrawn=seat.current is None)
    # Another assessor has taken over the topic, or shares it, and judged the document: their judgment stays current.
    is_taken = batch.is_shared or seat.current != locked_task.seat
    is_uncounted = is_settled or (is_taken and history.is_of_others)
    replaces = history.own_unreplaced if is_uncounted else history.current or history.own_unreplaced
    if replaces is not None and replaces.is_current:
        Judgment.objects.filter(pk=replaces.pk).update(is_current=False)
    return _append(task, docno, choice, submission, replaces=replaces, is_current=not is_uncounted)


@dataclass(frozen=True)
class _Seat:
    """A locked task, and all tasks of its entry, which are locked too.

    `current` is the seat in which the assessor now judges the topic, None if it was withdrawn from them; `own_ids` are
    the tasks in the seat of the task.
    """

    task: Task
    own_ids: frozenset[int]
    current: int | None


def _lock_tasks(task: Task) -> _Seat:
    """Lock the task and all tasks of its entry, in the order of their ids."""
    locked = _TASKS(batch=task.batch_id, entry=task.entry_id, assessor=task.assessor_id)
    current = vars(locked[0])["current"]
    locked_task = next(entry_task for entry_task in locked if entry_task.pk == task.pk)
    if locked_task.status != Task.Status.SUBMITTED and not locked_task.is_check:
        # the topic may have come back to the assessor in another seat
        locked_task.seat = current or locked_task.seat
    own_ids = frozenset(entry_task.pk for entry_task in locked if entry_task.seat == locked_task.seat)
    return _Seat(locked_task, own_ids, current)


def _repeated(sent: Judgment, locked_task: Task, submission: Submission) -> Judgment:
    if sent.task_id != locked_task.pk or not _is_same(sent, submission):
        raise _request_reused()
    return sent


def _request_reused() -> Refused:
    return Refused(
        gettext("This page has already submitted another judgment. Check your choice, and submit it again."),
        code="request-reused",
        title=gettext_noop("This page was already submitted"),
    )


def _is_same(judgment: Judgment, submission: Submission) -> bool:
    texts = (judgment.choice, judgment.comment) == (submission.choice, submission.comment)
    given, stored = submission.answers, judgment.answers
    # Only stored answers say that none of several holds
    return texts and all(given.get(key, []) == stored.get(key, []) for key in {*given, *stored})


class _History:
    """The earlier judgments of a docno of the task's entry in the task's seat.

    There are judgments of two assessors only if the topic changed hands while a task was open. The assessor who has
    the seat now replaces the current judgment; what the other one still submits is kept, but does not count.
    """

    def __init__(self, locked_task: Task, judgments: list[Judgment]) -> None:
        self.own = next(
            (judgment for judgment in reversed(judgments) if judgment.task_id == locked_task.pk), None
        )
        self.current = next((judgment for judgment in judgments if judgment.is_current), None)
        self.is_of_others = self.current is not None and self.current.task_id != locked_task.pk
        replaced = {judgment.replaces_id for judgment in judgments}
        self.own_unreplaced = None if self.own is None or self.own.pk in replaced else self.own


def _check_revision(
    batch: Batch, locked_task: Task, own: Judgment, submission: Submission, *, is_withdrawn: bool
) -> None:
    if batch.status != Batch.Status.OPEN:
        raise batch_closed(batch)
    if is_withdrawn:
        raise topic_withdrawn(locked_task.entry.topic)
    if submission.shown not in {None, own.pk} and own.request_id not in submission.seen:
        label = batch.pool.protocol.parsed.judging.label_of(own.choice, own.docno)
        raise JudgedElsewhere(own, in_language(label))


def _append(
    task: Task,
    docno: str,
    choice: Grade | NonAnswer,
    submission: Submission,
    *,
    replaces: Judgment | None,
    is_current: bool,
) -> Judgment:
    judgment = Judgment(
        task=task,
        batch_id=task.batch_id,
        track_id=task.batch.pool.track_id,
        topic_id=task.entry.topic_id,
        docno=docno,
        left=left_of(task),
        assessor_id=task.assessor_id,
        choice=choice.key,
        grade=choice.value if isinstance(choice, Grade) else None,
        comment=submission.comment,
        answers=submission.answers,
        guidelines_id=task.batch.pool.track.guidelines_id,
        order=task.order,
        request_id=submission.request_id,
        replaces=replaces,
        is_current=is_current,
        is_check=task.is_check,
        seconds=submission.seconds,
    )
    return insert(judgment)


@transaction.atomic
def export(
    *, track: Track, to: Form, names: str, comments: str, machines: str, about: str = ""
) -> tuple[Iterator[str], str]:
    """All judgments of a track as a file, with its name. The audit log keeps what it contains.

    Of generated answers, `about` chooses those of nuggets or of citations.
    """
    codes = code_names(track) if names == "codes" else None
    has_comments = comments == "with"
    content = {"format": to, "code names": codes is not None, "comments": has_comments}
    note_export(track=track, content=content | ({"about": about} if about else {}))
    judgments = judgments_of_track(track, has_machines=machines == "with", about=about)
    name = file_name(f"{track.slug}-{about}" if about else track.slug, to)
    return lines_of(judgments, to, names=codes, has_comments=has_comments), name


@transaction.atomic
def note_export(*, track: Track, content: Mapping[str, object]) -> None:
    """Record in the audit log that judgments of a track were downloaded, and what the file contains."""
    audit.record(action="judgments.exported", track=track, details=content)
