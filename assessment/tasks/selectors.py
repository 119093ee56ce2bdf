"""Batches and tasks for assessors. Nothing here shows runs, ranks or other assessors."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import uuid4

from django.db.models import Count, Q, QuerySet

from accounts.models import User
from assay.protocols.schema import JudgingRules
from assessment.adjudication.selectors import EarlierJudgment, earlier_judgments
from assessment.batches.entries import pool_sizes, sizes_by_topic
from assessment.judgments.follow_ups import ShownQuestion, fields_of, shown_questions
from assessment.judgments.other_batches import HAS_OTHERS, settled_entries
from assessment.judgments.rules import has_members, judging_rules
from assessment.judgments.selectors import OwnJudgment, latest_judgment, own_judgment, own_judgments
from assessment.keys.rules import Keys, keys_of
from assessment.models import Batch, Check, Task, TopicAssignment
from assessment.tasks import queue
from assessment.tasks.citations import ShownCitation, shown_citation
from assessment.tasks.members import ShownMember, filled_in, shown_formula, shown_members
from corpus.models import Collection, Document
from corpus.threads.selectors import RenderedText, address, render_document
from pooling.models import Pool, PoolEntry
from tracks.guidelines.selectors import tracks_with_news, unread
from tracks.models import GuidelinesVersion, StoredProtocol, Topic, Track
from tracks.topics.selectors import render_topic
from web.statements import Statement, Table, joined


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
    """The user's progress in batches, by batch; the number of queries does not depend on how many there are."""
    counts = _counts(batches, user)
    topics = Topic.objects.in_bulk({each.topic_id for each in counts})
    progress: dict[int, list[TopicProgress]] = {batch.pk: [] for batch in batches}
    for each in counts:
        shown = TopicProgress(topics[each.topic_id], each.judged, each.total)
        progress[each.batch_id].append(shown)
    for batch in batches:
        if batch.has_checks:
            progress[batch.pk].sort(key=lambda each: each.topic.code)
    return progress


class _Count(NamedTuple):
    batch_id: int
    topic_id: int
    judged: int
    total: int


# For each topic that a user has in batches: what they have judged, and what those judged who had their seat before.
_JUDGED = Statement(f"""
WITH own AS (
    SELECT batch_id, topic_id, count(DISTINCT task_id) AS n
    FROM assessment_judgment
    WHERE batch_id = ANY(%(batches)s) AND assessor_id = %(user)s AND is_current
    GROUP BY batch_id, topic_id
), former AS (
    SELECT assignment.id, count(DISTINCT judgment.task_id) AS n
    FROM assessment_topicassignment assignment
    JOIN assessment_topicassignment before ON before.batch_id = assignment.batch_id
        AND before.topic_id = assignment.topic_id AND before.seat = assignment.seat AND before.is_withdrawn
    JOIN assessment_judgment judgment ON judgment.batch_id = before.batch_id
        AND judgment.topic_id = before.topic_id AND judgment.assessor_id = before.assessor_id AND judgment.is_current
    JOIN assessment_task task ON task.id = judgment.task_id AND task.seat = before.seat
    WHERE assignment.batch_id = ANY(%(batches)s) AND assignment.assessor_id = %(user)s
        AND NOT assignment.is_withdrawn
    GROUP BY assignment.id
)
SELECT assignment.id, assignment.batch_id, assignment.topic_id, coalesce(own.n, 0), coalesce(former.n, 0),
    {HAS_OTHERS}
FROM assessment_topicassignment assignment
JOIN assessment_batch batch ON batch.id = assignment.batch_id
JOIN tracks_topic topic ON topic.id = assignment.topic_id
LEFT JOIN own ON own.batch_id = assignment.batch_id AND own.topic_id = assignment.topic_id
LEFT JOIN former ON former.id = assignment.id
WHERE assignment.batch_id = ANY(%(batches)s) AND assignment.assessor_id = %(user)s AND NOT assignment.is_withdrawn
ORDER BY topic.code
""")  # noqa: S608 - of constants


def _counts(batches: list[Batch], user: User) -> list[_Count]:
    """What a user has judged in each of their topics of batches, and how much there is, by topic code."""
    rows = _JUDGED.rows(batches=[batch.pk for batch in batches], user=user.pk)
    sizes = _sizes(batches)
    settled = _settled_counts([assignment for assignment, *_, has_others in rows if has_others])
    counts = [
        _Count(batch, topic, judged, sizes.get((batch, topic), 0) - former - settled[assignment])
        for assignment, batch, topic, judged, former, _ in rows
    ]
    for each in batches:
        if each.has_checks:
            counts = _with_checks(counts, each, user)
    return counts


def _with_checks(counts: list[_Count], batch: Batch, user: User) -> list[_Count]:
    """Counts with the hidden checks of the assessor in a batch, which look like any other entry. One query."""
    own = {each.topic_id: each for each in counts if each.batch_id == batch.pk}
    of_topics = Q(entry__topic__in=own) | Q(kind=Check.Kind.GOLD)
    checks = (
        Check.objects.filter(of_topics, batch=batch, assessor=user).order_by().values_list("entry__topic")
    )
    is_done = Q(task__status=Task.Status.SUBMITTED)
    for topic, n, done in checks.annotate(n=Count("pk"), done=Count("pk", filter=is_done)):
        before = own.get(topic, _Count(batch.pk, topic, 0, 0))
        own[topic] = before._replace(judged=before.judged + done, total=before.total + n)
    return [each for each in counts if each.batch_id != batch.pk] + list(own.values())


def _sizes(batches: list[Batch]) -> dict[tuple[int, int], int]:
    """The number of entries by batch and topic. Pools are counted once per process."""
    sizes = {
        (batch.pk, topic): n
        for batch in batches
        if not batch.is_selective
        for topic, n in pool_sizes(batch.pool).items()
    }
    selective = [batch for batch in batches if batch.is_selective]
    return sizes | (sizes_by_topic(selective) if selective else {})


def _settled_counts(ids: list[int]) -> Counter[int]:
    """The number of entries that other batches have settled, by assignment. One query, and none for no assignment."""
    return Counter({pk: len(entries) for pk, entries in settled_entries(ids).items()} if ids else {})


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


_TASK, _ENTRY, _BATCH = Table(Task, "task"), Table(PoolEntry, "entry"), Table(Batch, "batch")
_TOPIC, _DOCUMENT = Table(Topic, "topic", without=("source",)), Table(Document, "document")
_POOL, _PROTOCOL = Table(Pool, "pool", without=("statistics",)), Table(StoredProtocol, "protocol")
_TRACK, _COLLECTION = Table(Track, "track"), Table(Collection, "collection")
_SUBMITTED = Statement(f"""
SELECT {_TASK.columns}, {_ENTRY.columns}, {_BATCH.columns}, {_POOL.columns}, {_PROTOCOL.columns}, {_TRACK.columns},
    {_COLLECTION.columns}
FROM assessment_task task
JOIN pooling_poolentry entry ON entry.id = task.entry_id
JOIN assessment_batch batch ON batch.id = task.batch_id
JOIN pooling_pool pool ON pool.id = batch.pool_id
JOIN tracks_storedprotocol protocol ON protocol.id = pool.protocol_id
JOIN tracks_track track ON track.id = pool.track_id
LEFT JOIN corpus_collection collection ON collection.id = track.collection_id
WHERE task.id = %(task)s AND task.assessor_id = %(user)s
""")  # noqa: S608 - of constants


def task_to_submit(user: User, task_id: int) -> Task | None:
    """A task that a user has taken, with what a submission and the next page of the same batch need. One query."""
    rows = _SUBMITTED.rows(task=task_id, user=user.pk)
    if not rows:
        return None
    task: Task
    tables = (_TASK, _ENTRY, _BATCH, _POOL, _PROTOCOL, _TRACK, _COLLECTION)
    task, task.entry, task.batch, pool, pool.protocol, pool.track, collection = joined(rows[0], *tables)
    task.batch.pool, pool.track.collection = pool, collection
    return task


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
    citation: ShownCitation | None
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
    citation: ShownCitation | None
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


def task_page(
    task: Task,
    user: User,
    *,
    entered: Mapping[str, Any],
    following: PoolEntry | None = None,
    is_new: bool = False,
) -> TaskPage:
    """The judging page for the assessor who took the task.

    `entered` are values of its form that are not stored; `following` is the entry whose texts the page prepares. A task
    that `is_new` has no judgments.
    """
    rules = judging_rules(task.batch.pool.protocol)
    keys = keys_of(user, rules)
    topic, document, track = task.entry.topic, task.entry.document, task.batch.pool.track
    counts = _counts([task.batch], user)
    own_topic = next(
        (TopicProgress(topic, each.judged, each.total) for each in counts if each.topic_id == topic.pk), None
    )
    collections = [each for each in (track.collection, track.topic_collection) if each]
    previous = None if is_new else latest_judgment(task, rules)
    members = shown_members(task, in_context=rules.in_context) if has_members(rules) else []
    citation = _citation(task.entry, rules)
    answer = _first_answer(previous) | dict(entered)
    return TaskPage(
        task=task,
        batch=task.batch,
        topic=topic,
        rendered_topic=render_topic(topic, collections, has_rules=rules.layout == "citation"),
        topic_thread=_topic_thread(track, topic),
        document=None if document is None or citation else render_document(document),
        document_thread=_document_thread(task, rules) if rules.in_context else "",
        docno=task.entry.docno,
        layout=rules.layout,
        formula=shown_formula(task, in_context=rules.in_context) if rules.layout == "formula" else None,
        citation=citation,
        members=filled_in(members, rules, entered),
        earlier=[] if members else earlier_judgments(task, [task.entry.docno]).get(task.entry.docno, []),
        choices=choices(rules, keys),
        keys=keys,
        answer=answer,
        questions=[] if members else shown_questions(rules, document.language if document else "", answer),
        previous=previous,
        lock_reason=_lock_reason(task, has_topic=own_topic is not None),
        topic_progress=own_topic,
        judged=sum(each.judged for each in counts),
        total=sum(each.total for each in counts),
        ahead=None if following is None else _ahead(task, following, rules, collections),
        news=unread(track, user),
    )


def _ahead(task: Task, entry: PoolEntry, rules: JudgingRules, collections: list[Collection]) -> Ahead:
    """The texts that follow a task. They are only shown if the assessor gets a task for that entry."""
    topic = None if entry.topic_id == task.entry.topic_id else entry.topic
    coming = Task(batch=task.batch, entry=entry, assessor_id=task.assessor_id, seat=task.seat)
    if task.batch.has_checks:  # then it may be a repeat
        judged = Task.objects.filter(batch=task.batch, entry=entry, assessor=task.assessor_id)
        coming.is_check = judged.filter(status=Task.Status.SUBMITTED).exists()
    citation = _citation(entry, rules)
    return Ahead(
        topic=topic,
        rendered_topic=None
        if topic is None
        else render_topic(topic, collections, has_rules=rules.layout == "citation"),
        document=None if entry.document is None or citation else render_document(entry.document),
        formula=shown_formula(coming, in_context=rules.in_context) if rules.layout == "formula" else None,
        citation=citation,
        members=shown_members(coming, in_context=rules.in_context) if has_members(rules) else [],
    )


def _citation(entry: PoolEntry, rules: JudgingRules) -> ShownCitation | None:
    return shown_citation(entry, in_context=rules.in_context) if rules.layout == "citation" else None


def following(task: Task) -> PoolEntry | None:
    """The entry that will probably follow an open task, with its texts."""
    if task.status != Task.Status.ACCEPTED or task.batch.status != Batch.Status.OPEN:
        return None
    entry_id = queue.after(task.batch, task)
    return _entries([entry_id], task.batch)[entry_id] if entry_id else None


def with_texts(task: Task, following: int | None, batch: Batch) -> PoolEntry | None:
    """Give a task that was just taken its batch and its texts; returns the following entry with its texts."""
    entries = _entries([pk for pk in (task.entry_id, following) if pk], batch)
    task.batch, task.entry = batch, entries[task.entry_id]
    return entries[following] if following else None


_TEXTS = Statement(f"""
SELECT {_ENTRY.columns}, {_TOPIC.columns}, {_DOCUMENT.columns}
FROM pooling_poolentry entry
JOIN tracks_topic topic ON topic.id = entry.topic_id
LEFT JOIN corpus_document document ON document.id = entry.document_id
WHERE entry.id IN (%(first)s, %(last)s)
""")  # noqa: S608 - of constants


def _entries(ids: list[int], batch: Batch) -> dict[int, PoolEntry]:
    """One or two entries of a batch with their texts, by id. One query if their documents are in its collection."""
    collection = batch.pool.track.collection
    entries = {}
    for row in _TEXTS.rows(first=ids[0], last=ids[-1]):
        entry, entry.topic, document = joined(row, _ENTRY, _TOPIC, _DOCUMENT)
        entry.document, entries[entry.pk] = document, entry
        if document is not None and collection and document.collection_id == collection.pk:
            document.collection = collection
    return entries


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
