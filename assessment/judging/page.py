"""The judging page: a task with its texts, its choices and what will follow."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.utils.translation import gettext

from accounts.models import User
from assay.protocols.schema import ANSWERED, Grade, JudgingRules
from assessment.judging import queue
from assessment.judging.keys import Keys, keys_of
from assessment.judging.layouts import LAYOUTS, shown_unit
from assessment.judging.layouts.documents import Layout
from assessment.judging.selectors import DeskBatch, TopicProgress, announced, counts_of, desk_batch, is_taken
from assessment.judgments.answers import (
    ShownChoice,
    ShownQuestion,
    fields_of,
    in_language,
    needs_comment,
    questions_of,
    shown_questions,
)
from assessment.judgments.selectors import (
    EarlierJudgment,
    OwnJudgment,
    earlier_judgments,
    latest_judgment,
    own_judgment,
    own_judgments,
    with_words,
)
from assessment.models import Batch, Task
from corpus.models import Collection
from corpus.threads.selectors import RenderedText, address
from pooling.models import PoolEntry
from tracks.guidelines.selectors import unread
from tracks.models import GuidelinesVersion, StoredProtocol, Topic
from tracks.topics.selectors import render_topic
from web.statements import Prepared

_SUBMITTED = Prepared(
    lambda task, user: (
        Task.objects.filter(pk=task, assessor=user)
        .select_related("entry", "batch__pool__protocol", "batch__pool__track__collection")
        .defer("batch__pool__statistics", "batch__pool__votes")
    )
)
_TEXTS = Prepared(
    lambda first, last: (
        PoolEntry.objects.filter(pk__in=[first, last])
        .select_related("topic", "document")
        .defer("topic__source", "topic__natural_code")
    )
)


def task_to_submit(user: User, task_id: int) -> Task | None:
    """A task that a user has taken, with what a submission and the next page of the same batch need. One query."""
    return _SUBMITTED.first(task=task_id, user=user.pk)


def choices(rules: JudgingRules, keys: Keys, docno: str = "") -> list[ShownChoice]:
    """The protocol's choices for a unit, each with its key: grades first, then non-answers."""
    return [
        ShownChoice(
            choice.key,
            in_language(choice.label_for(docno) if isinstance(choice, Grade) else choice.label),
            in_language(choice.definition_for(docno) if isinstance(choice, Grade) else choice.definition),
            keys.choices.get(choice.key, ""),
            choice.value if isinstance(choice, Grade) else None,
            needs_comment(choice),
        )
        for choice in rules.choices
    ]


def choices_of(protocol: StoredProtocol, user: User) -> list[ShownChoice]:
    """The choices of a stored protocol with the user's keys."""
    rules = protocol.parsed.judging
    return choices(rules, keys_of(user, rules))


@dataclass(frozen=True)
class StoredPage:
    """The page between two tasks: the assessor's progress, and their latest judgment of the batch."""

    batch: Batch
    item: DeskBatch
    last: OwnJudgment | None
    keys: Keys


def stored_page(batch: Batch, user: User) -> StoredPage:
    judgment = with_words(own_judgments(batch, user), batch).first()
    rules = batch.pool.protocol.parsed.judging
    last = None if judgment is None else own_judgment(judgment, rules, judgment.topic)
    return StoredPage(batch, desk_batch(batch, user), last, keys_of(user, rules))


@dataclass(frozen=True, kw_only=True)
class Ahead:
    """The texts of the page that will probably follow. `topic` is None if it is the current one."""

    topic: Topic | None
    rendered_topic: RenderedText | None
    unit: Layout


@dataclass(frozen=True, kw_only=True)
class TaskPage:
    """The judging page of a task.

    `answer` has the values of the form's fields, `previous` the assessor's judgment of this task. `lock_reason` states
    why the judgment cannot be changed; empty while it can. `hides_choices`: there is nothing to choose, because a form
    has questions only. `has_threads`: the reader may open whole threads. `has_no_topic`: the topic is nothing but a
    code. `is_taken`: the time is over, and somebody else has the unit.
    `news` is the version of the guidelines that the assessor is asked to read.
    """

    task: Task
    batch: Batch
    topic: Topic
    rendered_topic: RenderedText
    topic_thread: str
    has_threads: bool
    docno: str
    unit: Layout
    earlier: list[EarlierJudgment]
    choices: list[ShownChoice]
    hides_choices: bool
    has_no_topic: bool
    keys: Keys
    answer: dict[str, Any]
    questions: list[ShownQuestion]
    marks_text: bool
    previous: OwnJudgment | None
    lock_reason: str
    is_taken: bool
    topic_progress: TopicProgress | None
    judged: int
    total: int
    ahead: Ahead | None
    news: GuidelinesVersion | None


def task_page(
    task: Task,
    user: User,
    *,
    entered: Mapping[str, object],
    following: PoolEntry | None = None,
    is_new: bool = False,
    unit: Layout | None = None,
) -> TaskPage:
    """The judging page for the assessor who took the task.

    `entered` are values of its form that are not stored; `following` is the entry whose texts the page prepares. A task
    that `is_new` has no judgments. `unit` replaces that of the task.
    """
    unit = unit or shown_unit(task)
    rules = unit.rules
    keys = keys_of(user, rules)
    topic, track = task.entry.topic, task.batch.pool.track
    counts = counts_of([task.batch], user)
    judged = sum(count.judged for count in counts)
    own_topic = next(
        (TopicProgress(topic, count.judged, count.total) for count in counts if count.topic_id == topic.pk),
        None,
    )
    collections = [collection for collection in (track.collection, track.topic_collection) if collection]
    previous = None if is_new else latest_judgment(task, rules)
    usual = "" if rules.given_grades else ANSWERED.key
    answer: dict[str, Any] = {
        "request_id": uuid4(),
        "shown": 0,
        "choice": usual,
        "comment": "",
        "answers": "",
    }
    if previous is not None:
        stored = previous.judgment
        answer |= {"choice": stored.choice, "comment": stored.comment, "shown": stored.pk}
        answer |= fields_of(rules, stored.answers)
    answer |= entered
    questions = [] if unit.by_member else questions_of(task, rules, [task.entry.docno])[task.entry.docno]
    shown = shown_questions(rules, questions, answer, keys.of_questions)
    topic_thread = ""
    has_threads = user.pk is not None and not user.guest_until
    if topic.thread and track.topic_collection is not None and has_threads:
        topic_thread = address(track.topic_collection, topic.thread, topic.thread)
    return TaskPage(
        task=task,
        batch=task.batch,
        topic=topic,
        rendered_topic=render_topic(topic, collections, has_rules=LAYOUTS[rules.layout].topic_has_rules),
        topic_thread=topic_thread,
        has_threads=has_threads,
        docno=task.entry.docno,
        unit=unit.with_answers(keys, entered, shown),
        earlier=[]
        if unit.by_member
        else earlier_judgments(task, [task.entry.docno], rules).get(task.entry.docno, []),
        choices=choices(rules, keys, task.entry.docno),
        has_no_topic=not any(
            [topic.title, topic.body, topic.narrative, topic.scenario, topic.criteria, topic.latex]
        ),
        hides_choices=rules.choices == (ANSWERED,),
        keys=keys,
        answer=answer,
        questions=shown,
        marks_text=rules.marks_text,
        previous=previous,
        lock_reason=_lock_reason(task, has_topic=own_topic is not None),
        is_taken=task.pk is not None and is_taken(task),
        topic_progress=own_topic,
        judged=judged,
        total=sum(count.total for count in counts),
        ahead=None if following is None else _ahead(task, following, rules, collections),
        news=announced(unread(track, user), judged) if task.pk else None,
    )


def _ahead(task: Task, entry: PoolEntry, rules: JudgingRules, collections: list[Collection]) -> Ahead:
    """The texts that follow a task. They are only shown if the assessor gets a task for that entry."""
    topic = None if entry.topic_id == task.entry.topic_id else entry.topic
    coming = Task(batch=task.batch, entry=entry, assessor_id=task.assessor_id, seat=task.seat)
    if task.batch.has_checks:  # then it may be a repeat
        judged = Task.objects.filter(batch=task.batch, entry=entry, assessor=task.assessor_id)
        coming.is_check = judged.filter(status=Task.Status.SUBMITTED).exists()
    return Ahead(
        topic=topic,
        rendered_topic=None
        if topic is None
        else render_topic(topic, collections, has_rules=LAYOUTS[rules.layout].topic_has_rules),
        unit=shown_unit(coming),
    )


def following_entry(task: Task) -> PoolEntry | None:
    """The entry that will probably follow an open task, with its texts."""
    if task.status != Task.Status.ACCEPTED or task.batch.status != Batch.Status.OPEN:
        return None
    entry_id = queue.entry_after(task.batch, task)
    return _entries([entry_id], task.batch)[entry_id] if entry_id else None


def with_texts(task: Task, following: int | None, batch: Batch) -> PoolEntry | None:
    """Give a task that was just taken its batch and its texts; returns the following entry with its texts."""
    entries = _entries([pk for pk in (task.entry_id, following) if pk], batch)
    task.batch, task.entry = batch, entries[task.entry_id]
    return entries[following] if following else None


def _entries(ids: list[int], batch: Batch) -> dict[int, PoolEntry]:
    """One or two entries of a batch with their texts, by id. One query if their documents are in its collection."""
    collection = batch.pool.track.collection
    entries = _TEXTS(first=ids[0], last=ids[-1])
    for entry in entries:
        if entry.document is not None and collection and entry.document.collection_id == collection.pk:
            entry.document.collection = collection
    return {entry.pk: entry for entry in entries}


def _lock_reason(task: Task, *, has_topic: bool) -> str:
    if task.status != Task.Status.SUBMITTED:
        return ""
    if task.batch.status != Batch.Status.OPEN:
        return gettext("The batch is closed, so you cannot change it.")
    if not has_topic:
        text = gettext("Topic {topic} is no longer assigned to you, so you cannot change it.")
        return text.format(topic=task.entry.topic)
    return ""
