"""Batches for organizers: their assignments, progress, choices and remarks."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import (
    Aggregate,
    Case,
    Count,
    Exists,
    F,
    FloatField,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Value,
    When,
)
from django.utils import timezone

from accounts.models import User
from assay.protocols.schema import FollowUp, Grade, JudgingRules
from assessment.batches.entries import entries_of, sizes_by_topic
from assessment.judgments.other_batches import COUNTING, settled_by_plan, settled_entries, with_others
from assessment.judgments.rules import judging_rules, label_of
from assessment.models import Batch, Judgment, JudgmentImport, Task, TopicAssignment
from assessment.tasks.selectors import batches_of, desk_batch
from tracks.models import Topic, Track

N_REMARKS = 50  # on the page of a batch


class Median(Aggregate):
    """The middle value, as PostgreSQL computes it."""

    name = "Median"
    function = "PERCENTILE_CONT"
    template = "%(function)s(0.5) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()


@dataclass
class Share:
    """One assessor's part of one topic of a batch: how many entries they have judged, of how many."""

    assignment: TopicAssignment
    judged: int = 0
    total: int = 0
    median_seconds: float | None = None
    last_at: datetime | None = None


@dataclass
class BatchProgress:
    """A batch with the shares of its assessors; `n_open` and `n_overdue` count tasks."""

    batch: Batch
    shares: list[Share] = field(default_factory=list)
    n_open: int = 0
    n_overdue: int = 0
    median_seconds: float | None = None

    @property
    def judged(self) -> int:
        return sum(share.judged for share in self.shares)

    @property
    def total(self) -> int:
        return sum(share.total for share in self.shares)

    @property
    def assessors(self) -> list[User]:
        return sorted({share.assignment.assessor for share in self._active}, key=lambda user: user.username)

    @property
    def n_topics(self) -> int:
        return len({share.assignment.topic_id for share in self._active})

    @property
    def _active(self) -> list[Share]:
        return [share for share in self.shares if not share.assignment.is_withdrawn]


def batches_for_organizer() -> QuerySet[Batch]:
    """Every batch, with its pool, protocol and track."""
    batches = Batch.objects.select_related("pool__track", "pool__protocol", "created_by")
    return batches.defer("pool__statistics")


def track_progress(track: Track) -> list[BatchProgress]:
    """Every batch of a track with its progress, newest first, in a fixed number of queries."""
    return _progress_of(batches_for_organizer().filter(pool__track=track))


def progress_of(batch: Batch) -> BatchProgress:
    """The progress of one batch."""
    [progress] = _progress_of(batches_for_organizer().filter(pk=batch.pk))
    return progress


def progress_of_each(batches: Collection[Batch]) -> dict[int, BatchProgress]:
    """The progress of some batches, by id."""
    progress = _progress_of(batches_for_organizer().filter(pk__in=[batch.pk for batch in batches]))
    return {each.batch.pk: each for each in progress}


def planned_progress(progress: BatchProgress, assignments: Sequence[TopicAssignment]) -> BatchProgress:
    """The progress of a batch as it would be with other assignments, each with an id of its own."""
    batch, before = progress.batch, {_key_of(share.assignment): share for share in progress.shares}
    planned = replace(progress, shares=[])
    for assignment in assignments:
        share = before.get(_key_of(assignment)) or Share(assignment)
        planned.shares.append(replace(share, assignment=assignment, total=0))
    active = [each for each in assignments if not each.is_withdrawn]
    settled = settled_by_plan(active) if with_others([batch]) else {}
    sizes = sizes_by_topic([batch])
    _set_totals(planned, sizes, {pk: len(entries) for pk, entries in settled.items()})
    return planned


def _key_of(assignment: TopicAssignment) -> tuple[int, int]:
    return assignment.topic_id, assignment.assessor_id


def _progress_of(batches: QuerySet[Batch]) -> list[BatchProgress]:
    """The progress of some batches; the number of queries does not depend on how many there are."""
    progress = {batch.pk: BatchProgress(batch) for batch in batches}
    _add_shares(progress)
    sizes = sizes_by_topic([each.batch for each in progress.values()])
    settled = _settled_counts(progress)
    for batch_progress in progress.values():
        _set_totals(batch_progress, sizes, settled)
    judgments = Judgment.objects.filter(batch__in=progress, is_current=True).order_by()
    for batch_id, median in judgments.values_list("batch").annotate(median=Median("seconds")):
        progress[batch_id].median_seconds = median
    _count_open(progress)
    return list(progress.values())


def _add_shares(progress: dict[int, BatchProgress]) -> None:
    """Each assignment with the current judgments made for it."""
    judgments = Judgment.objects.filter(batch__in=progress, is_current=True).order_by()
    measured = {
        "n": Count("task", distinct=True),
        "median": Median("seconds"),
        "last": Max("created_at"),
    }
    rows: dict[tuple[int, int, int], Mapping[str, Any]] = {
        (row["batch"], row["topic"], row["assessor"]): row
        for row in judgments.values("batch", "topic", "assessor").annotate(**measured)
    }
    assignments = TopicAssignment.objects.filter(batch__in=progress).select_related("assessor", "topic")
    for assignment in assignments.order_by("topic__code", "seat", "is_withdrawn", "assessor__username"):
        share = Share(assignment)
        row = rows.get((assignment.batch_id, assignment.topic_id, assignment.assessor_id))
        if row is not None:
            share.judged, share.median_seconds, share.last_at = row["n"], row["median"], row["last"]
        progress[assignment.batch_id].shares.append(share)


def _settled_counts(progress: dict[int, BatchProgress]) -> dict[int, int]:
    """The number of entries that other batches have settled, by assignment; a track with one batch has none."""
    tracks = Batch.objects.filter(kind__in=COUNTING).order_by().values("pool__track")
    shared = tracks.annotate(n=Count("pk")).filter(n__gt=1).values("pool__track")
    assignments = TopicAssignment.objects.filter(
        batch__in=progress, batch__kind__in=COUNTING, is_withdrawn=False
    )
    ids = list(assignments.filter(batch__pool__track__in=shared).values_list("pk", flat=True))
    return {pk: len(entries) for pk, entries in settled_entries(ids).items()} if ids else {}


def _set_totals(progress: BatchProgress, sizes: dict[tuple[int, int], int], settled: dict[int, int]) -> None:
    """The number of entries of each share. When a topic changes hands, each assessor keeps what they have judged."""
    judged_before: dict[tuple[int, int], int] = {}
    for share in progress.shares:
        if share.assignment.is_withdrawn:
            key = (share.assignment.topic_id, share.assignment.seat)
            share.total = share.judged
            judged_before[key] = judged_before.get(key, 0) + share.judged
    for share in progress.shares:
        assignment = share.assignment
        if not assignment.is_withdrawn:
            done = judged_before.get((assignment.topic_id, assignment.seat), 0) + settled.get(
                assignment.pk, 0
            )
            share.total = sizes.get((progress.batch.pk, assignment.topic_id), 0) - done


def _count_open(progress: dict[int, BatchProgress]) -> None:
    done = (Task.Status.SUBMITTED, Task.Status.SKIPPED)
    tasks = Task.objects.filter(batch__in=progress).exclude(status__in=done).order_by()
    overdue = Q(status=Task.Status.EXPIRED) | Q(expires_at__lte=timezone.now())
    counts = tasks.values_list("batch").annotate(
        n_open=Count("pk", filter=~overdue), n_overdue=Count("pk", filter=overdue)
    )
    for batch_id, n_open, n_overdue in counts:
        progress[batch_id].n_open, progress[batch_id].n_overdue = n_open, n_overdue


class ByAssessor(NamedTuple):
    """One assessor's work in a batch."""

    assessor: User
    n_topics: int
    judged: int
    total: int
    median_seconds: float | None
    last_at: datetime | None


class ChoiceCount(NamedTuple):
    """How often the assessors chose a grade or a non-answer."""

    label: str
    is_grade: bool
    n: int


class QuestionCounts(NamedTuple):
    """How often each answer to a follow-up question was given, of `n_asked` judgments after which it may be asked."""

    label: str
    n_asked: int
    answers: list[tuple[str, int]]

    @property
    def n_open(self) -> int:
        return self.n_asked - sum(n for _, n in self.answers)


class Remark(NamedTuple):
    """A judgment that the organizer may want to read: a non-answer, or one with a comment."""

    judgment: Judgment
    label: str


class Skip(NamedTuple):
    """A task that its assessor skipped; `is_judged` if they have judged it since."""

    task: Task
    is_judged: bool


@dataclass(frozen=True)
class BatchPage:
    """A batch for organizers. `n_late`: judgments made after it closed; `n_uncounted`: see `Judgment.is_current`."""

    batch: Batch
    track: Track
    progress: BatchProgress
    by_assessor: list[ByAssessor]
    unassigned: QuerySet[Topic]
    choice_counts: list[ChoiceCount]
    question_counts: list[QuestionCounts]
    remarks: list[Remark]
    skips: list[Skip]
    n_late: int
    n_uncounted: int
    imports: list[tuple[JudgmentImport, int]]
    tab: str = "judging"


def batch_page(batch: Batch) -> BatchPage:
    """The progress by assessor and topic, the number of judgments by choice, and what needs attention."""
    [progress] = _progress_of(batches_for_organizer().filter(pk=batch.pk))
    rules = judging_rules(batch.pool.protocol)
    return BatchPage(
        batch=batch,
        track=batch.pool.track,
        progress=progress,
        by_assessor=_by_assessor(progress),
        unassigned=_unassigned(progress),
        choice_counts=_choice_counts(batch, rules),
        question_counts=_question_counts(batch, rules),
        remarks=_remarks(batch, rules),
        skips=_skips(batch),
        n_late=_late(batch).count(),
        n_uncounted=_uncounted(batch).count(),
        imports=_imports(batch),
    )


def _imports(batch: Batch) -> list[tuple[JudgmentImport, int]]:
    """The imports that brought judgments of the batch, each with the number of these. Two queries."""
    imported = Judgment.objects.filter(batch=batch, from_import__isnull=False).order_by("from_import")
    counts = dict(imported.values_list("from_import").annotate(n=Count("pk")))
    sources = JudgmentImport.objects.in_bulk(list(counts))
    return [(sources[pk], n) for pk, n in counts.items()]


def _by_assessor(progress: BatchProgress) -> list[ByAssessor]:
    medians = dict(
        Judgment.objects.filter(batch=progress.batch, is_current=True)
        .order_by()
        .values_list("assessor")
        .annotate(median=Median("seconds"))
    )
    shares_by_assessor: dict[User, list[Share]] = {}
    for share in progress.shares:
        shares_by_assessor.setdefault(share.assignment.assessor, []).append(share)
    return [
        ByAssessor(
            assessor=assessor,
            n_topics=sum(not share.assignment.is_withdrawn for share in shares),
            judged=sum(share.judged for share in shares),
            total=sum(share.total for share in shares),
            median_seconds=medians.get(assessor.pk),
            last_at=max((share.last_at for share in shares if share.last_at), default=None),
        )
        for assessor, shares in sorted(shares_by_assessor.items(), key=lambda row: row[0].username)
    ]


def _unassigned(progress: BatchProgress) -> QuerySet[Topic]:
    """The topics of the pool that are not assigned to anybody in this batch."""
    assigned = [share.assignment.topic_id for share in progress.shares if not share.assignment.is_withdrawn]
    return pooled_topics(progress.batch).exclude(pk__in=assigned)


def _choice_counts(batch: Batch, rules: JudgingRules) -> list[ChoiceCount]:
    current = batch.judgments.filter(is_current=True).order_by()
    counts = dict(current.values_list("choice").annotate(n=Count("pk")))
    return [
        ChoiceCount(choice.label, isinstance(choice, Grade), counts.get(choice.key, 0))
        for choice in rules.choices
    ]


def _question_counts(batch: Batch, rules: JudgingRules) -> list[QuestionCounts]:
    """The answers to each follow-up question, of current judgments. No query if the protocol has none."""
    if not rules.follow_ups:
        return []
    current = batch.judgments.filter(is_current=True).order_by()
    rows = list(current.values_list("choice", "follow_ups").annotate(n=Count("pk")))
    return [_counts_of(question, rows) for question in rules.follow_ups]


def _counts_of(question: FollowUp, rows: list[tuple[str, dict[str, str], int]]) -> QuestionCounts:
    counts = Counter[str]()
    for _, follow_ups, n in rows:
        if question.key in follow_ups:
            counts[follow_ups[question.key]] += n
    n_asked = sum(n for choice, _, n in rows if question.is_asked(choice))
    return QuestionCounts(
        question.label, n_asked, [(label, counts[key]) for key, label in question.choices.items()]
    )


def _remarks(batch: Batch, rules: JudgingRules) -> list[Remark]:
    """The latest remarks, newest first. Those of a machine are shown for documents that people have judged."""
    remarkable = batch.judgments.filter(Q(grade=None) | ~Q(comment=""), is_current=True)
    if batch.kind == Batch.Kind.MACHINE:
        by_people = Judgment.objects.exclude(batch__kind=Batch.Kind.MACHINE).filter(is_current=True)
        remarkable = remarkable.filter(
            Exists(by_people.filter(topic=OuterRef("topic"), docno=OuterRef("docno")))
        )
    latest = remarkable.select_related("topic", "assessor", "batch").order_by("-pk")[:N_REMARKS]
    return [Remark(judgment, label_of(rules, judgment.choice)) for judgment in latest]


def _skips(batch: Batch) -> list[Skip]:
    """The latest skipped tasks: first those not judged since, newest first."""
    skipped = batch.tasks.filter(skipped_at__isnull=False).select_related("entry__topic", "assessor")
    is_judged = Case(When(status=Task.Status.SUBMITTED, then=Value(1)), default=Value(0))
    latest = skipped.order_by(is_judged, "-skipped_at")[:N_REMARKS]
    return [Skip(task, task.status == Task.Status.SUBMITTED) for task in latest]


def _late(batch: Batch) -> QuerySet[Judgment]:
    """Judgments submitted after the batch closed, for tasks taken before."""
    if batch.closed_at is None:
        return Judgment.objects.none()
    return batch.judgments.filter(is_check=False, created_at__gt=F("batch__closed_at"))


def _uncounted(batch: Batch) -> QuerySet[Judgment]:
    """Judgments of assessors whose topic somebody else had taken over; those that were undone are no judgments."""
    kept = batch.judgments.filter(is_current=False, is_check=False, replaced_by=None)
    return kept.filter(task__status=Task.Status.SUBMITTED)


def assessors_of(track: Track) -> QuerySet[User]:
    """The active assessors of a track who are people."""
    of_track = User.objects.filter(assessor_of__track=track, assessor_of__ended_at=None)
    return of_track.filter(is_active=True, is_machine=False).order_by("username")


def pooled_topics(batch: Batch) -> QuerySet[Topic]:
    """The topics that have entries to judge in the batch."""
    return Topic.objects.filter(pk__in=entries_of(batch).values("topic"))


def batches_for(user: User) -> QuerySet[Batch]:
    """The batches that a user may see: organizers all, others those in which they judge, without drafts."""
    return batches_for_organizer() if user.is_organizer else batches_of(user)


def batch_counts(batch: Batch, user: User) -> tuple[int, int]:
    """How many units are judged, of how many: by all assessors for organizers, by the user for others."""
    shown = progress_of(batch) if user.is_organizer else desk_batch(batch, user)
    return shown.judged, shown.total
