"""What an assessor reads: their batches, tasks and judgments. Nothing here tells of runs, ranks or other assessors."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Count, QuerySet

from accounts.models import User
from assay.protocols.schema import JudgingRules
from assessment.judgments.elsewhere import counting_batches, settled_entries
from assessment.judgments.rules import has_members, judging_rules
from assessment.judgments.selectors import _previous
from assessment.models import Batch, Judgment, Task, TopicAssignment
from assessment.tasks.members import shown_formula, shown_members
from corpus.models import Document
from corpus.threads.selectors import address, render_document
from pooling.models import PoolEntry
from tracks.models import Topic, Track
from tracks.topics.selectors import render_topic


class TopicProgress(NamedTuple):
    """How far an assessor is in a topic, in entries: `total` leaves out what others have judged in their place."""

    topic: Topic
    judged: int
    total: int

    @property
    def is_done(self) -> bool:
        return self.judged >= self.total


@dataclass(frozen=True)
class DeskBatch:
    """A batch as one assessor has it before them."""

    batch: Batch
    topics: list[TopicProgress]
    open_task: Task | None

    @property
    def judged(self) -> int:
        return sum(topic.judged for topic in self.topics)

    @property
    def total(self) -> int:
        return sum(topic.total for topic in self.topics)

    @property
    def is_done(self) -> bool:
        return self.judged >= self.total


def batches_of(user: User) -> QuerySet[Batch]:
    """Batches in which a person judges or has judged; a draft is not theirs yet."""
    given = TopicAssignment.objects.filter(assessor=user).values("batch")
    batches = Batch.objects.exclude(status=Batch.Status.DRAFT).filter(pk__in=given)
    return batches.select_related("pool__track", "pool__protocol")


def desk(user: User, *, track: Track | None = None) -> list[DeskBatch]:
    """The batches that are open for a person, newest first."""
    batches = batches_of(user).filter(status=Batch.Status.OPEN)
    if track is not None:
        batches = batches.filter(pool__track=track)
    return [desk_batch(batch, user) for batch in batches]


def closed_batches(user: User) -> QuerySet[Batch]:
    """The closed batches in which a person has judged."""
    return batches_of(user).filter(status=Batch.Status.CLOSED)


def desk_batch(batch: Batch, user: User) -> DeskBatch:
    """One batch as the person has it, in five queries."""
    held = Task.objects.filter(batch=batch, assessor=user, status=Task.Status.ACCEPTED)
    return DeskBatch(batch, progress(batch, user), held.select_related("entry__topic").first())


def progress(batch: Batch, user: User) -> list[TopicProgress]:
    """How far the person is in each of their topics of a batch, by topic code."""
    given = list(
        TopicAssignment.objects.filter(batch=batch, assessor=user, is_withdrawn=False)
        .select_related("topic")
        .order_by("topic__code")
    )
    topics = [one.topic_id for one in given]
    entries = PoolEntry.objects.filter(pool=batch.pool_id, topic__in=topics).order_by()
    totals = dict(entries.values_list("topic").annotate(n=Count("topic")))
    mine = Judgment.objects.filter(batch=batch, topic__in=topics, assessor=user, is_current=True).order_by()
    judged = dict(mine.values_list("topic").annotate(n=Count("task", distinct=True)))
    by_others = _judged_by_predecessors(batch, given) + _judged_elsewhere(batch, given)
    return [
        TopicProgress(
            one.topic,
            judged.get(one.topic_id, 0),
            totals.get(one.topic_id, 0) - by_others[one.topic_id],
        )
        for one in given
    ]


def _judged_elsewhere(batch: Batch, given: list[TopicAssignment]) -> Counter[int]:
    """How many entries of each topic other batches have settled. One query where no other batch counts."""
    if not given or not counting_batches(batch).exists():
        return Counter()
    settled = settled_entries([one.pk for one in given])
    return Counter({one.topic_id: len(settled[one.pk]) for one in given})


def _judged_by_predecessors(batch: Batch, given: list[TopicAssignment]) -> Counter[int]:
    """How many entries of each topic stand judged by those who had the seat before."""
    seats = {(one.topic_id, one.seat) for one in given}
    withdrawn = TopicAssignment.objects.filter(batch=batch, is_withdrawn=True)
    withdrawn = withdrawn.filter(topic__in=[one.topic_id for one in given])
    counts: Counter[int] = Counter()
    for one in withdrawn:
        if (one.topic_id, one.seat) in seats:
            theirs = Judgment.objects.filter(batch=batch, topic=one.topic_id, assessor=one.assessor_id)
            theirs = theirs.filter(is_current=True, task__seat=one.seat)
            counts[one.topic_id] += theirs.values("task").distinct().count()
    return counts


def tasks_of(user: User) -> QuerySet[Task]:
    """The tasks that a person has taken, with all that their page shows."""
    return Task.objects.filter(assessor=user).select_related(
        "entry__topic",
        "entry__document__collection",
        "batch__pool__protocol",
        "batch__pool__track__collection",
        "batch__pool__track__topic_collection",
    )


class Choice(NamedTuple):
    """A choice as the page offers it."""

    key: str
    label: str
    definition: str
    shortcut: str
    value: int | None
    needs_comment: bool


def choices(rules: JudgingRules) -> list[Choice]:
    """The protocol's choices: grades first, then what is not a grade."""
    grades = [
        Choice(one.key, one.label, one.definition, one.shortcut, one.value, False) for one in rules.grades
    ]
    others = [
        Choice(one.key, one.label, one.definition, one.shortcut, None, one.needs_comment)
        for one in rules.non_answers
    ]
    return grades + others


def task_page(task: Task, user: User) -> dict[str, Any]:
    """What the judging page shows of a task to the person who took it."""
    rules = judging_rules(task.batch.pool.protocol)
    topic, document, track = task.entry.topic, task.entry.document, task.batch.pool.track
    topics = progress(task.batch, user)
    return {
        "task": task,
        "batch": task.batch,
        "topic": topic,
        "shown_topic": render_topic(
            topic, [one for one in (track.collection, track.topic_collection) if one]
        ),
        "document": None if document is None else render_document(document),
        "document_thread": _document_thread(document) if rules.in_context else "",
        "docno": task.entry.docno,
        "layout": rules.layout,
        "formula": shown_formula(task, in_context=rules.in_context) if rules.layout == "formula" else None,
        "members": shown_members(task, in_context=rules.in_context) if has_members(rules) else [],
        "choices": choices(rules),
        "previous": _previous(task, rules),
        "topic_progress": next((one for one in topics if one.topic.pk == topic.pk), None),
        "judged": sum(one.judged for one in topics),
        "total": sum(one.total for one in topics),
        "topic_thread": _topic_thread(track, topic),
        "settled": _settled(task, is_with_them=any(one.topic.pk == topic.pk for one in topics)),
        "last": _last_other(task),
    }


def _settled(task: Task, *, is_with_them: bool) -> str:
    """Why a judgment that stands cannot be changed any more; empty while it can, or while there is none."""
    if task.status != Task.Status.SUBMITTED:
        return ""
    if task.batch.status != Batch.Status.OPEN:
        return "The batch is closed: it stands."
    return "" if is_with_them else f"Topic {task.entry.topic} is no longer with you: it stands."


def _last_other(task: Task) -> Judgment | None:
    """The assessor's last judgment of another task in the batch."""
    own = Judgment.objects.filter(batch=task.batch_id, assessor=task.assessor_id)
    return own.exclude(task=task).select_related("task").order_by("-pk").first()


def _document_thread(document: Document | None) -> str:
    """Where the document's thread can be read; empty where it stands alone or is not loaded."""
    if document is None or document.kind == Document.Kind.DOCUMENT:
        return ""
    return address(document.collection, document.thread, document.docno)


def _topic_thread(track: Track, topic: Topic) -> str:
    """Where the topic's own thread can be read; empty if it has none."""
    if not topic.thread or track.topic_collection is None:
        return ""
    return address(track.topic_collection, topic.thread, topic.thread)
