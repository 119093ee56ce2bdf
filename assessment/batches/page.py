"""The page of a batch, for organizers: progress, choices and remarks."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Value, When

from accounts.models import User
from assay.protocols.questions import NONE_OF_THEM, asked, questions_for
from assay.protocols.schema import Grade, JudgingRules
from assessment.batches.progress import BatchProgress, Rates, Share, Work, progress_of, rates_of, with_times
from assessment.batches.selectors import pooled_topics
from assessment.models import Batch, Judgment, JudgmentImport, Task
from pooling.pools.entries import ShownDocument, shown_documents
from tracks.models import Topic, Track

N_REMARKS = 50  # on the page of a batch


@dataclass(frozen=True, kw_only=True)
class ByAssessor(Work):
    """One assessor's work in a batch."""

    assessor: User
    n_topics: int
    median_seconds: float | None


@dataclass(frozen=True, kw_only=True)
class ByGuests(Work):
    """The work of everyone who came by a link, together."""

    n: int


class ByTopic(NamedTuple):
    """The work of one assessor on a topic, or of all guests together, who have no assessor here."""

    topic: Topic
    assessor: User | None
    n_guests: int
    is_withdrawn: bool
    judged: int
    total: int
    median_seconds: float | None


class ChoiceCount(NamedTuple):
    """The number of times that the assessors chose a grade or a non-answer."""

    label: str
    is_grade: bool
    n: int


class QuestionCounts(NamedTuple):
    """The frequency of each answer to a question, of `n_asked` judgments about which it may be asked.

    Several choices of any-of can be in one answer; of a ranking, the first places count; of a span, each label once.
    """

    label: str
    n_asked: int
    answers: list[tuple[str, int]]
    n_open: int


class Remark(NamedTuple):
    """A judgment that the organizer may want to read: a non-answer, or one with a comment."""

    judgment: Judgment
    label: str


@dataclass(frozen=True)
class BatchPage:
    """A batch for organizers. `n_late`: judgments made after it closed; `n_uncounted`: see `Judgment.is_current`."""

    batch: Batch
    track: Track
    progress: BatchProgress
    by_assessor: list[ByAssessor]
    guests: ByGuests | None
    by_topic: list[ByTopic]
    rates: Rates | None
    hours_left: float | None
    unassigned: QuerySet[Topic]
    choice_counts: list[ChoiceCount]
    question_counts: list[QuestionCounts]
    remarks: list[Remark]
    skips: QuerySet[Task]
    documents: dict[str, ShownDocument]
    n_late: int
    n_uncounted: int
    imports: QuerySet[JudgmentImport]


def batch_page(batch: Batch) -> BatchPage:
    """The progress by assessor and topic, the number of judgments by choice, and what needs attention."""
    [progress], rules = with_times([progress_of(batch)]), batch.pool.protocol.parsed.judging
    rates = rates_of([batch]).get(batch.pk)
    hours = progress.hours_left(rates)
    by_assessor = _by_assessor(progress, hours)
    current = batch.judgments.filter(is_current=True).order_by()
    n_of_choice: dict[str, int] = dict(current.values_list("choice").annotate(n=Count("pk")))
    # The imports that brought judgments of the batch, each with the number of these
    imports = (
        JudgmentImport.objects.filter(judgments__batch=batch).annotate(n=Count("judgments")).order_by("-pk")
    )
    assigned = [share.assignment.topic_id for share in progress.shares if not share.assignment.is_withdrawn]
    # The latest skipped tasks: first those not judged since, newest first
    skipped = batch.tasks.filter(skipped_at__isnull=False).select_related("entry__topic", "assessor")
    is_judged = Case(When(status=Task.Status.SUBMITTED, then=Value(1)), default=Value(0))
    late = batch.judgments.filter(is_check=False, created_at__gt=F("batch__closed_at"))
    # Of assessors whose topic somebody else had taken over; those that were undone are no judgments
    kept = batch.judgments.filter(is_current=False, is_check=False, replaced_by=None)
    remarks, skips = _remarks(batch, rules), skipped.order_by(is_judged, "-skipped_at")[:N_REMARKS]
    listed = [remark.judgment.docno for remark in remarks] + [task.entry.docno for task in skips]
    return BatchPage(
        batch=batch,
        track=batch.pool.track,
        progress=progress,
        by_assessor=[row for row in by_assessor if not row.assessor.guest_until],
        guests=_by_guests([row for row in by_assessor if row.assessor.guest_until]),
        by_topic=_by_topic(progress.shares),
        rates=None if progress.is_closed else rates,
        hours_left=progress.total_hours(rates) if rates else None,
        unassigned=pooled_topics(progress.batch).exclude(pk__in=assigned),
        choice_counts=[
            ChoiceCount(choice.label, isinstance(choice, Grade), n_of_choice.get(choice.key, 0))
            for choice in rules.choices
        ],
        question_counts=_question_counts(batch, rules),
        remarks=remarks,
        skips=skips,
        documents=shown_documents(batch.pool.track.collection, listed),
        n_late=late.count() if batch.closed_at else 0,
        n_uncounted=kept.filter(task__status=Task.Status.SUBMITTED).count(),
        imports=imports.order_by("pk"),
    )


def _by_assessor(progress: BatchProgress, hours: Mapping[User, float]) -> list[ByAssessor]:
    shares_by_assessor: dict[User, list[Share]] = {}
    for share in progress.shares:
        shares_by_assessor.setdefault(share.assignment.assessor, []).append(share)
    return [
        ByAssessor(
            assessor=assessor,
            n_topics=sum(not share.assignment.is_withdrawn for share in shares),
            judged=sum(share.judged for share in shares),
            total=sum(share.total for share in shares),
            median_seconds=progress.medians.get(assessor.pk),
            last_at=max((share.last_at for share in shares if share.last_at), default=None),
            hours_left=hours.get(assessor),
        )
        for assessor, shares in sorted(shares_by_assessor.items(), key=lambda row: row[0].username)
    ]


def _by_guests(rows: Sequence[ByAssessor]) -> ByGuests | None:
    if not rows:
        return None
    return ByGuests(
        n=len(rows),
        judged=sum(row.judged for row in rows),
        total=sum(row.total for row in rows),
        hours_left=sum(row.hours_left or 0 for row in rows),
        last_at=max((row.last_at for row in rows if row.last_at), default=None),
    )


def _by_topic(shares: Sequence[Share]) -> list[ByTopic]:
    """A row for each share of a person with an account, and one for those of all guests of a topic."""
    rows: dict[tuple[int, int], ByTopic] = {}
    for share in shares:
        assignment = share.assignment
        key = assignment.topic_id, 0 if assignment.assessor.guest_until else assignment.pk
        if (known := rows.get(key)) is None:
            person = None if assignment.assessor.guest_until else assignment.assessor
            row = ByTopic(
                topic=assignment.topic,
                assessor=person,
                n_guests=not person,
                is_withdrawn=assignment.is_withdrawn,
                judged=share.judged,
                total=share.total,
                median_seconds=share.median_seconds,
            )
        else:
            row = known._replace(
                n_guests=known.n_guests + 1,
                is_withdrawn=known.is_withdrawn and assignment.is_withdrawn,
                judged=known.judged + share.judged,
                total=known.total + share.total,
                median_seconds=None,
            )
        rows[key] = row
    return list(rows.values())


def _question_counts(batch: Batch, rules: JudgingRules) -> list[QuestionCounts]:
    """The answers to each question, of current judgments. No query if the protocol has none."""
    if not rules.questions:
        return []
    current = batch.judgments.filter(is_current=True).order_by()
    rows = list(current.values_list("choice", "answers").annotate(n=Count("pk")))
    n_asked, n_answered = Counter[str](), Counter[str]()
    counts: Counter[tuple[str, str]] = Counter()  # by question and choice
    questions = questions_for(rules)
    for choice, answers, n in rows:
        for question in asked(rules, questions, choice=choice, answers=answers):
            n_asked[question.key] += n
        for key, answer in answers.items():
            n_answered[key] += n
            counts.update({(key, value): n for value in _counted(rules, key, answer)})
    return [
        QuestionCounts(
            question.label,
            n_asked[question.key],
            [(label, counts[question.key, key]) for key, label in question.labels.items()]
            + [(NONE_OF_THEM, counts[question.key, NONE_OF_THEM])] * question.may_be_none
            or [("Answered", n_answered[question.key])],
            n_asked[question.key] - n_answered[question.key],
        )
        for question in rules.questions
    ]


def _counted(rules: JudgingRules, key: str, answer: Any) -> list[str]:
    """The choices of an answer that are counted."""
    kind = next((question.kind for question in rules.questions if question.key == key), "")
    if kind == "span":
        return sorted({part["choice"] for part in answer})
    if kind == "any-of" and answer == []:
        return [NONE_OF_THEM]
    given = answer[0] if kind == "ranking" and answer else answer
    return given if isinstance(given, list) else [str(given)]


def _remarks(batch: Batch, rules: JudgingRules) -> list[Remark]:
    """The latest remarks, newest first. Those of a machine are shown for documents that people have judged."""
    remarkable = batch.judgments.filter(Q(grade=None) | ~Q(comment=""), is_current=True)
    if batch.kind == Batch.Kind.MACHINE:
        by_people = Judgment.objects.exclude(batch__kind=Batch.Kind.MACHINE).filter(is_current=True)
        remarkable = remarkable.filter(
            Exists(by_people.filter(topic=OuterRef("topic"), docno=OuterRef("docno")))
        )
    latest = remarkable.select_related("topic", "assessor", "batch").order_by("-pk")[:N_REMARKS]
    return [Remark(judgment, rules.label_of(judgment.choice, judgment.docno)) for judgment in latest]
