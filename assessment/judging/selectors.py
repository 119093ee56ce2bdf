"""The tasks and the progress of assessors. Nothing here shows runs, ranks or other assessors."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from accounts.models import User
from assessment.batches.other_batches import HAS_OTHERS, settled_entries
from assessment.batches.progress import Rates, progress_of, rates_of, taken_units
from assessment.batches.selectors import batches_of, pool_sizes, sizes_by_topic
from assessment.models import Batch, Check, Task
from tracks.guidelines.selectors import tracks_with_news
from tracks.models import GuidelinesVersion, Topic, Track
from web.statements import Prepared, Statement, is_among


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
    """A batch on an assessor's desk; `news` is the version of the guidelines that they are asked to read.

    `user_id` is the assessor's. `rates` are those of the desk, which estimates the time that is left.
    """

    batch: Batch
    user_id: int
    topics: list[TopicProgress]
    open_task: Task | None
    news: GuidelinesVersion | None = None
    rates: Rates | None = None

    @property
    def judged(self) -> int:
        return sum(topic.judged for topic in self.topics)

    @property
    def total(self) -> int:
        return sum(topic.total for topic in self.topics)

    @property
    def is_done(self) -> bool:
        return self.judged >= self.total

    @property
    def is_begun(self) -> bool:
        """True if the user holds a task, or has judged one."""
        return self.open_task is not None or self.judged > 0

    @property
    def starts_with_guidelines(self) -> bool:
        """True if the user should read the guidelines before the first task."""
        return self.news is not None and not self.is_begun

    @property
    def hours(self) -> float | None:
        """The hours left for all that the desk counts, hidden checks included: without them, it would reveal these."""
        return self.rates.hours(self.user_id, self.total - self.judged) if self.rates else None


_OPEN = Prepared(lambda user: batches_of(user).filter(status=Batch.Status.OPEN))
_HELD = Prepared(
    lambda batches, user: Task.objects.filter(
        is_among("batch", batches), assessor=user, status=Task.Status.ACCEPTED
    ).select_related("entry__topic")
)
_TOPICS = Prepared(lambda topics: Topic.objects.filter(is_among("pk", topics)).order_by())


def desk(user: User, *, track: Track | None = None) -> list[DeskBatch]:
    """The open batches of a user: training first, then those in progress, then the newest; what is done comes last."""
    shown = [batch for batch in _OPEN(user=user.pk) if track is None or batch.pool.track_id == track.pk]
    rates = rates_of(shown)
    items = [replace(item, rates=rates.get(item.batch.pk)) for item in _desk_batches(shown, user)]
    return sorted(
        items, key=lambda item: (item.is_done, item.batch.kind != Batch.Kind.TRAINING, not item.is_begun)
    )


def closed_batches(user: User) -> QuerySet[Batch]:
    return batches_of(user).filter(status=Batch.Status.CLOSED)


def desk_batch(batch: Batch, user: User) -> DeskBatch:
    """A batch with the user's progress and open task."""
    [item] = _desk_batches([batch], user)
    return item


def _desk_batches(batches: list[Batch], user: User) -> list[DeskBatch]:
    """Batches with the user's progress and open tasks; the number of queries does not depend on how many there are."""
    held = _HELD(batches=[batch.pk for batch in batches], user=user.pk)
    tasks = {task.batch_id: task for task in held}
    counts = counts_of(batches, user)
    topics = {topic.pk: topic for topic in _TOPICS(topics=list({count.topic_id for count in counts}))}
    progress: dict[int, list[TopicProgress]] = {batch.pk: [] for batch in batches}
    for count in counts:
        progress[count.batch_id].append(TopicProgress(topics[count.topic_id], count.judged, count.total))
    for batch in batches:
        if batch.has_checks:
            progress[batch.pk].sort(key=lambda topic_progress: topic_progress.topic.natural_code)
    news = tracks_with_news({batch.pool.track_id for batch in batches}, user) if batches else {}
    return [
        DeskBatch(
            batch,
            user.pk,
            progress[batch.pk],
            tasks.get(batch.pk),
            announced(news.get(batch.pool.track_id), sum(topic.judged for topic in progress[batch.pk])),
        )
        for batch in batches
    ]


def announced(unread: GuidelinesVersion | None, judged: int) -> GuidelinesVersion | None:
    """Unread guidelines. The first version is not announced any more to those who have judged without it."""
    return None if unread is not None and unread.number == 1 and judged else unread


class _Count(NamedTuple):
    batch_id: int
    topic_id: int
    judged: int
    total: int


# For each topic that a user has in batches: what they have judged, and what others judged who have or had their seat.
# What the user has open is left for them, even if an earlier holder still sent a judgment.
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
        AND before.topic_id = assignment.topic_id AND before.seat = assignment.seat
        AND (before.is_withdrawn OR before.is_shared) AND before.id <> assignment.id
    JOIN assessment_judgment judgment ON judgment.batch_id = before.batch_id
        AND judgment.topic_id = before.topic_id AND judgment.assessor_id = before.assessor_id AND judgment.is_current
    JOIN assessment_task task ON task.id = judgment.task_id AND task.seat = before.seat
    LEFT JOIN assessment_task open ON open.batch_id = assignment.batch_id AND open.assessor_id = assignment.assessor_id
        AND open.status = 'accepted' AND NOT open.is_check
    WHERE assignment.batch_id = ANY(%(batches)s) AND assignment.assessor_id = %(user)s
        AND NOT assignment.is_withdrawn AND open.entry_id IS DISTINCT FROM task.entry_id
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
ORDER BY topic.natural_code, topic.code
""")  # noqa: S608 - of constants


def counts_of(batches: list[Batch], user: User) -> list[_Count]:
    """Count the judged and all entries in each topic that a user has in batches, by topic code."""
    rows = _JUDGED.rows(batches=[batch.pk for batch in batches], user=user.pk)
    # The number of entries by batch and topic. Pools are counted once per process.
    sizes = {
        (batch.pk, topic): n
        for batch in batches
        if not batch.is_selective
        for topic, n in pool_sizes(batch.pool).items()
    }
    selective = [batch for batch in batches if batch.is_selective]
    sizes = sizes | (sizes_by_topic(selective) if selective else {})
    settled = settled_entries([assignment for assignment, *_, has_others in rows if has_others])
    counts = [
        _Count(batch, topic, judged, sizes.get((batch, topic), 0) - former - len(settled.get(assignment, ())))
        for assignment, batch, topic, judged, former, _ in rows
    ]
    for batch in batches:
        if batch.has_checks:
            counts = _with_checks(counts, batch, user)
    return counts


def _with_checks(counts: list[_Count], batch: Batch, user: User) -> list[_Count]:
    """Counts with the hidden checks of the assessor in a batch, which look like any other entry. One query."""
    own = {count.topic_id: count for count in counts if count.batch_id == batch.pk}
    of_topics = Q(entry__topic__in=own) | Q(kind=Check.Kind.GOLD)
    checks = (
        Check.objects.filter(of_topics, batch=batch, assessor=user).order_by().values_list("entry__topic")
    )
    if batch.is_shared:  # nobody judges all of it, so few of the planned checks will ever be given
        checks = checks.exclude(task=None)
    is_done = Q(task__status=Task.Status.SUBMITTED)
    for topic, n, done in checks.annotate(n=Count("pk"), done=Count("pk", filter=is_done)):
        before = own.get(topic, _Count(batch.pk, topic, 0, 0))
        own[topic] = before._replace(judged=before.judged + done, total=before.total + n)
    return [count for count in counts if count.batch_id != batch.pk] + list(own.values())


def is_active_assessor_of(task_id: int, user_id: int) -> bool:
    """True if a user has taken a task, and may log in."""
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


def batch_counts(batch: Batch, user: User) -> tuple[int, int]:
    """The numbers of judged and of all units: of all assessors for organizers, by the user for others."""
    shown = progress_of(batch) if user.oversees(batch.pool.track_id) else desk_batch(batch, user)
    return shown.judged, shown.total


def tasks_in_seat(task: Task) -> QuerySet[Task]:
    """The tasks of an entry and a seat that are judged or, in a batch that is open to join, in somebody's hands."""
    return taken_units().filter(batch=task.batch_id, entry=task.entry_id, seat=task.seat)


def is_taken(task: Task) -> bool:
    """Return whether the time of a task is over, and another person has its unit. No query for a task in time."""
    is_open = task.status in {Task.Status.ACCEPTED, Task.Status.EXPIRED} and not task.is_check
    is_over = task.status == Task.Status.EXPIRED or task.expires_at <= timezone.now()
    return is_open and is_over and tasks_in_seat(task).exclude(pk=task.pk).exists()
