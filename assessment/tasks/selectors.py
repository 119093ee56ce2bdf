"""Batches and tasks for assessors. Nothing here shows runs, ranks or other assessors."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import uuid4

from django.db.models import Count, QuerySet

from accounts.models import User
from assay.protocols.schema import JudgingRules
from assessment.adjudication.selectors import EarlierJudgment, earlier_judgments
from assessment.batches.entries import sizes_by_topic
from assessment.judgments.follow_ups import ShownQuestion, fields_of, shown_questions
from assessment.judgments.other_batches import settled_entries, with_others
from assessment.judgments.rules import has_members, judging_rules
from assessment.judgments.selectors import OwnJudgment, latest_judgment, own_judgment, own_judgments
from assessment.keys.rules import Keys, keys_of
from assessment.models import Batch, Judgment, Task, TopicAssignment
from assessment.tasks import queue
from assessment.tasks.members import ShownMember, filled_in, shown_formula, shown_members
from corpus.models import Collection, Document
from corpus.threads.selectors import RenderedText, address, render_document
from pooling.models import PoolEntry
from tracks.guidelines.selectors import tracks_with_news, unread
from tracks.models import GuidelinesVersion, StoredProtocol, Topic, Track
from tracks.topics.selectors import render_topic


class TopicProgress(NamedTuple):
    """An assessor's progress in a topic, in entries. `total` excludes what others have judged in their place."""

    topic: Topic
    judged: int
    total: int

    @property
    def is_done(self) -> bool:
        return self.judged >= self.total


@dataclass(frozen=True)
class DeskBatch:
    """A batch on an assessor's desk; `news` is the version of the guidelines in force, if they have not read it."""

    batch: Batch
    topics: list[TopicProgress]
    open_task: Task | None
    news: GuidelinesVersion | None = None

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
    """The batches in which a user judges or has judged, without drafts."""
    assigned = TopicAssignment.objects.filter(assessor=user).values("batch")
    batches = Batch.objects.exclude(status=Batch.Status.DRAFT).filter(pk__in=assigned)
    return batches.select_related("pool__track", "pool__protocol").defer("pool__statistics")


def desk(user: User, *, track: Track | None = None) -> list[DeskBatch]:
    """The open batches of a user, newest first."""
    batches = batches_of(user).filter(status=Batch.Status.OPEN)
    if track is not None:
        batches = batches.filter(pool__track=track)
    return _desk_batches(list(batches), user)


def closed_batches(user: User) -> QuerySet[Batch]:
    """The closed batches of a user."""
    return batches_of(user).filter(status=Batch.Status.CLOSED)


def desk_batch(batch: Batch, user: User) -> DeskBatch:
    """A batch with the user's progress and open task."""
    [item] = _desk_batches([batch], user)
    return item


def _desk_batches(batches: list[Batch], user: User) -> list[DeskBatch]:
    """Batches with the user's progress and open tasks; the number of queries does not depend on how many there are."""
    held = Task.objects.filter(batch__in=batches, assessor=user, status=Task.Status.ACCEPTED)
    tasks = {task.batch_id: task for task in held.select_related("entry__topic")}
    topics = _progress_of(batches, user)
    news = tracks_with_news({batch.pool.track_id for batch in batches}, user) if batches else {}
    return [
        DeskBatch(batch, topics[batch.pk], tasks.get(batch.pk), news.get(batch.pool.track_id))
        for batch in batches
    ]


def progress(batch: Batch, user: User) -> list[TopicProgress]:
    """The user's progress in each of their topics of a batch, by topic code."""
    return _progress_of([batch], user)[batch.pk]


def _progress_of(batches: list[Batch], user: User) -> dict[int, list[TopicProgress]]:
    """The user's progress in batches, by batch, in at most seven queries."""
    assignments = list(
        TopicAssignment.objects.filter(batch__in=batches, assessor=user, is_withdrawn=False)
        .select_related("topic")
        .order_by("topic__code")
    )
    topics = {assignment.topic_id for assignment in assignments}
    sizes = sizes_by_topic(batches, topics)
    own = Judgment.objects.filter(batch__in=batches, topic__in=topics, assessor=user, is_current=True)
    counts = own.order_by().values_list("batch", "topic").annotate(n=Count("task", distinct=True))
    judged = {(batch, topic): n for batch, topic, n in counts}
    by_others = _judged_by_predecessors(assignments) + _settled_counts(batches, assignments)
    progress: dict[int, list[TopicProgress]] = {batch.pk: [] for batch in batches}
    for assignment in assignments:
        key = assignment.batch_id, assignment.topic_id
        total = sizes.get(key, 0) - by_others[assignment.pk]
        progress[assignment.batch_id].append(TopicProgress(assignment.topic, judged.get(key, 0), total))
    return progress


def _settled_counts(batches: list[Batch], assignments: list[TopicAssignment]) -> Counter[int]:
    """The number of entries that other batches have settled, by assignment. One query if no other batch counts."""
    shared = with_others(batches)
    ids = [assignment.pk for assignment in assignments if assignment.batch_id in shared]
    return Counter({pk: len(entries) for pk, entries in settled_entries(ids).items()} if ids else {})


def _judged_by_predecessors(assignments: list[TopicAssignment]) -> Counter[int]:
    """The number of entries judged by those who had the seat before, by assignment."""
    seats = {(each.batch_id, each.topic_id, each.seat): each.pk for each in assignments}
    places = {"batch__in": {key[0] for key in seats}, "topic__in": {key[1] for key in seats}}
    fields = ("batch", "topic", "seat", "assessor")
    withdrawn = TopicAssignment.objects.filter(**places, is_withdrawn=True).values_list(*fields)
    former = {row for row in withdrawn if row[:3] in seats}
    if not former:
        return Counter()
    judgments = Judgment.objects.filter(**places, assessor__in={row[3] for row in former}, is_current=True)
    rows = judgments.order_by().values_list("batch", "topic", "task__seat", "assessor")
    counts: Counter[int] = Counter()
    for *row, n in rows.annotate(n=Count("task", distinct=True)):
        if tuple(row) in former:
            counts[seats[row[0], row[1], row[2]]] += n
    return counts


def is_active_assessor_of(task_id: int, user_id: int) -> bool:
    """Whether a user has taken a task, and may log in."""
    return Task.objects.filter(pk=task_id, assessor=user_id, assessor__is_active=True).exists()


def tasks_of(user: User) -> QuerySet[Task]:
    """The tasks that a user has taken, with what the judging page needs."""
    return (
        Task.objects.filter(assessor=user)
        .select_related(
            "entry__topic",
            "entry__document__collection",
            "batch__pool__protocol",
            "batch__pool__track__collection",
            "batch__pool__track__topic_collection",
        )
        .defer("batch__pool__statistics")
    )


class Choice(NamedTuple):
    """A choice on the judging page; `value` is None for a non-answer."""

    key: str
    label: str
    definition: str
    shortcut: str
    value: int | None
    needs_comment: bool


def choices(rules: JudgingRules, keys: Keys) -> list[Choice]:
    """The protocol's choices, each with its key: grades first, then non-answers."""
    key_of = keys.choices
    grades = [
        Choice(grade.key, grade.label, grade.definition, key_of.get(grade.key, ""), grade.value, False)
        for grade in rules.grades
    ]
    others = [
        Choice(
            choice.key,
            choice.label,
            choice.definition,
            key_of.get(choice.key, ""),
            None,
            choice.needs_comment,
        )
        for choice in rules.non_answers
    ]
    return grades + others


def choices_of(protocol: StoredProtocol, user: User) -> list[Choice]:
    """The choices of a stored protocol with the user's keys."""
    rules = judging_rules(protocol)
    return choices(rules, keys_of(user, rules))


@dataclass(frozen=True)
class StoredPage:
    """The page between two tasks: the assessor's progress, and their latest judgment of the batch."""

    batch: Batch
    item: DeskBatch
    last: OwnJudgment | None
    keys: Keys


def stored_page(batch: Batch, user: User) -> StoredPage:
    judgment = own_judgments(batch, user).first()
    rules = judging_rules(batch.pool.protocol)
    last = None if judgment is None else own_judgment(judgment, rules)
    return StoredPage(batch, desk_batch(batch, user), last, keys_of(user, rules))


@dataclass(frozen=True)
class Ahead:
    """The texts of the page that will probably follow. `topic` is None if it is the current one."""

    topic: Topic | None
    rendered_topic: RenderedText | None
    document: RenderedText | None
    formula: ShownMember | None
    members: list[ShownMember]


@dataclass(frozen=True)
class TaskPage:
    """The judging page of a task.

    `answer` has the values of the form's fields, `previous` the assessor's judgment of this task. `lock_reason` states
    why the judgment cannot be changed; empty while it can. `news` is the version of the guidelines in force, if the
    assessor has not read it.
    """

    task: Task
    batch: Batch
    topic: Topic
    rendered_topic: RenderedText
    topic_thread: str
    document: RenderedText | None
    document_thread: str
    docno: str
    layout: str
    formula: ShownMember | None
    members: list[ShownMember]
    earlier: list[EarlierJudgment]
    choices: list[Choice]
    keys: Keys
    answer: dict[str, Any]
    questions: list[ShownQuestion]
    previous: OwnJudgment | None
    lock_reason: str
    topic_progress: TopicProgress | None
    judged: int
    total: int
    ahead: Ahead | None
    news: GuidelinesVersion | None


def task_page(task: Task, user: User, *, entered: Mapping[str, Any]) -> TaskPage:
    """The judging page for the assessor who took the task; `entered` are values of its form that are not stored."""
    rules = judging_rules(task.batch.pool.protocol)
    keys = keys_of(user, rules)
    topic, document, track = task.entry.topic, task.entry.document, task.batch.pool.track
    topics = progress(task.batch, user)
    own_topic = next((each for each in topics if each.topic.pk == topic.pk), None)
    collections = [each for each in (track.collection, track.topic_collection) if each]
    previous = latest_judgment(task, rules)
    members = shown_members(task, in_context=rules.in_context) if has_members(rules) else []
    answer = _first_answer(previous) | dict(entered)
    return TaskPage(
        task=task,
        batch=task.batch,
        topic=topic,
        rendered_topic=render_topic(topic, collections),
        topic_thread=_topic_thread(track, topic),
        document=None if document is None else render_document(document),
        document_thread=_document_thread(task, rules) if rules.in_context else "",
        docno=task.entry.docno,
        layout=rules.layout,
        formula=shown_formula(task, in_context=rules.in_context) if rules.layout == "formula" else None,
        members=filled_in(members, rules, entered),
        earlier=[] if members else earlier_judgments(task, [task.entry.docno]).get(task.entry.docno, []),
        choices=choices(rules, keys),
        keys=keys,
        answer=answer,
        questions=[] if members else shown_questions(rules, document.language if document else "", answer),
        previous=previous,
        lock_reason=_lock_reason(task, has_topic=own_topic is not None),
        topic_progress=own_topic,
        judged=sum(each.judged for each in topics),
        total=sum(each.total for each in topics),
        ahead=_ahead(task, rules, collections),
        news=unread(track, user),
    )


def _ahead(task: Task, rules: JudgingRules, collections: list[Collection]) -> Ahead | None:
    """The texts that follow an open task. They are only shown if the assessor gets a task for that entry."""
    if task.status != Task.Status.ACCEPTED or task.batch.status != Batch.Status.OPEN:
        return None
    entry_id = queue.following(task.batch, task.assessor_id)
    if entry_id is None:
        return None
    entry = PoolEntry.objects.select_related("topic", "document__collection").get(pk=entry_id)
    topic = None if entry.topic_id == task.entry.topic_id else entry.topic
    coming = Task(batch=task.batch, entry=entry, assessor_id=task.assessor_id, seat=task.seat)
    return Ahead(
        topic=topic,
        rendered_topic=None if topic is None else render_topic(topic, collections),
        document=None if entry.document is None else render_document(entry.document),
        formula=shown_formula(coming, in_context=rules.in_context) if rules.layout == "formula" else None,
        members=shown_members(coming, in_context=rules.in_context) if has_members(rules) else [],
    )


def _first_answer(previous: OwnJudgment | None) -> dict[str, Any]:
    """The values of the form before the assessor changes them: their latest judgment, and a new request id."""
    empty: dict[str, Any] = {"request_id": uuid4(), "shown": 0}
    if previous is None:
        return empty
    judgment = previous.judgment
    stored = {"choice": judgment.choice, "comment": judgment.comment, "shown": judgment.pk}
    return empty | stored | fields_of(judgment.follow_ups)


def _lock_reason(task: Task, *, has_topic: bool) -> str:
    if task.status != Task.Status.SUBMITTED:
        return ""
    if task.batch.status != Batch.Status.OPEN:
        return "The batch is closed, so you cannot change it."
    return (
        ""
        if has_topic
        else f"Topic {task.entry.topic} is no longer assigned to you, so you cannot change it."
    )


def _document_thread(task: Task, rules: JudgingRules) -> str:
    """The URL of the document's thread, at the formula to judge; empty if it is in no thread or not loaded."""
    document = task.entry.document
    if document is None or document.kind == Document.Kind.DOCUMENT:
        return ""
    formula = task.entry.docno if rules.layout == "formula" else ""
    return address(document.collection, document.thread, document.docno, formula=formula)


def _topic_thread(track: Track, topic: Topic) -> str:
    """The URL of the topic's own thread; empty if it has none."""
    if not topic.thread or track.topic_collection is None:
        return ""
    return address(track.topic_collection, topic.thread, topic.thread)
