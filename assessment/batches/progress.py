"""The progress of batches, by assessor and topic, and how long the rest of their judging will take."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from statistics import fmean
from typing import Any, NamedTuple

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from accounts.models import User
from assessment.batches.other_batches import settled_by_plan, settled_entries, with_others
from assessment.batches.selectors import batches_for_organizer, sizes_by_topic
from assessment.models import Batch, Judgment, Task, TopicAssignment
from tracks.models import Track
from web.caches import kept_for_a_minute
from web.statements import Prepared, Statement, is_among, read_rows

MOST_MEDIANS = 5  # a judgment counts as at most so many medians: people leave pages open
LEAST_TIMED = 20  # units whose time is known, before they are a speed
SECONDS_PER_HOUR = 3600
MANY = 10_000  # judgments whose times are measured once a minute

# The current judgments of people, and their hidden checks: without these, the limit would reveal them on the desk
_MEANS = Statement(f"""
WITH timed AS (
    SELECT judgment.track_id, judgment.assessor_id, judgment.seconds
    FROM assessment_judgment judgment JOIN assessment_batch batch ON batch.id = judgment.batch_id
    WHERE judgment.track_id = ANY(%(tracks)s) AND (judgment.is_current OR judgment.is_check)
        AND judgment.seconds IS NOT NULL AND batch.kind <> 'machine'
), median AS (
    SELECT track_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS seconds FROM timed GROUP BY track_id
)
SELECT track_id, timed.assessor_id, count(*), avg(least(timed.seconds, {MOST_MEDIANS} * median.seconds))
FROM timed JOIN median USING (track_id) GROUP BY track_id, timed.assessor_id
""")  # noqa: S608 - of constants
# Of each batch, of its assessors, and of their topics
_TIMES = """
SELECT batch_id, topic_id, assessor_id, count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds),
    max(created_at)::text
FROM assessment_judgment
WHERE batch_id = ANY(%(batches)s) AND is_current
GROUP BY GROUPING SETS ((batch_id), (batch_id, assessor_id), (batch_id, topic_id, assessor_id))
"""

_BATCHES = Prepared(lambda track: batches_for_organizer().filter(pool__track=track))
# Those of some batches, and of other main batches of some pools
_ASSIGNMENTS = Prepared(
    lambda batches, pools: (
        TopicAssignment.objects.filter(
            Q(is_among("batch", batches))
            | Q(is_among("batch__pool", pools), batch__kind=Batch.Kind.MAIN, is_withdrawn=False)
        )
        .select_related("assessor", "topic")
        .annotate(pool=F("batch__pool"))
        .order_by("topic", "seat", "is_withdrawn", "assessor__username")
    )
)


@dataclass
class Share:
    """One assessor's part of one topic of a batch: how many entries they have judged, of how many.

    Only `with_times` sets the median and the time of the latest judgment.
    """

    assignment: TopicAssignment
    judged: int = 0
    total: int = 0
    median_seconds: float | None = None
    last_at: datetime | None = None

    @property
    def left(self) -> int:
        return 0 if self.assignment.is_withdrawn else self.total - self.judged


@dataclass(frozen=True, kw_only=True)
class Work:
    """The work of one assessor, or of several, in units; without rates, nobody knows how long the rest takes."""

    judged: int
    total: int
    last_at: datetime | None
    hours_left: float | None


class Rates(NamedTuple):
    """Seconds per unit, from which every page estimates the time that judging will still take.

    Args:
        by_assessor: by id, of those with at least `LEAST_TIMED` timed units in the track.
        others: of everyone else: the mean of the track.
    """

    by_assessor: Mapping[int, float]
    others: float

    def hours(self, assessor_id: int, n: int) -> float:
        """The hours that an assessor will take for `n` units."""
        return n * self.by_assessor.get(assessor_id, self.others) / SECONDS_PER_HOUR


def rates_of(batches: Collection[Batch]) -> dict[int, Rates]:
    """The rates for each batch, by its id; none for batches of machines, and before `LEAST_TIMED` units are timed.

    A track has the same rates on every page. They are of people's current judgments, and of their hidden checks; long
    ones count as five medians. One query for any number of batches and tracks. Those of many judgments may be a minute
    old.
    """
    judged = [batch for batch in batches if batch.kind != Batch.Kind.MACHINE]
    of_tracks = _rates({batch.pool.track_id for batch in judged})
    return {batch.pk: of_tracks[batch.pool.track_id] for batch in judged if batch.pool.track_id in of_tracks}


def rates_of_track(track_id: int, *, n_judged: int) -> Rates | None:
    """The rates for the batches of a track, in which people have made so many judgments."""
    return _rates({track_id}, has_many=n_judged >= MANY).get(track_id)


def _rates(tracks: Collection[int], *, has_many: bool = True) -> dict[int, Rates]:
    if not tracks:
        return {}
    asked = sorted(tracks)

    def read() -> list[tuple[Any, ...]]:
        return _MEANS.rows(tracks=asked)

    rows = (
        read()
        if not has_many
        else kept_for_a_minute(["means", *asked], read, lambda rows: sum(n for *_, n, _ in rows) >= MANY)
    )
    rates = {}
    for track in asked:
        means = [(assessor, n, mean) for of_track, assessor, n, mean in rows if of_track == track]
        n_timed = sum(n for _, n, _ in means)
        if n_timed >= LEAST_TIMED:
            by_assessor = {assessor: mean for assessor, n, mean in means if n >= LEAST_TIMED}
            rates[track] = Rates(by_assessor, sum(n * mean for _, n, mean in means) / n_timed)
    return rates


@dataclass
class BatchProgress:
    """A batch with the shares of its assessors; `n_open` and `n_overdue` count tasks, none if it is closed.

    `untaken` are the units that nobody has, by the id of the topic: in a batch open to join, of seats that nobody
    has joined yet; in another main batch, of topics that nobody has, there or in another main batch of the pool.
    """

    batch: Batch
    shares: list[Share] = field(default_factory=list)
    n_open: int = 0
    n_overdue: int = 0
    untaken: dict[int, int] = field(default_factory=dict)
    elsewhere: set[int] = field(default_factory=set)  # topics that somebody has in another batch of the pool
    median_seconds: float | None = None
    medians: dict[int, float | None] = field(default_factory=dict)  # of seconds, by assessor

    @property
    def judged(self) -> int:
        return sum(share.judged for share in self.shares)

    @property
    def total(self) -> int:
        """All units, also those that nobody has."""
        return sum(share.total for share in self.shares) + self.n_untaken

    @property
    def n_untaken(self) -> int:
        return sum(self.untaken.values())

    @property
    def is_closed(self) -> bool:
        return self.batch.status == Batch.Status.CLOSED

    @property
    def n_unjudged(self) -> int:
        return max(0, self.total - self.judged)

    @property
    def is_finished(self) -> bool:
        return 0 < self.total <= self.judged

    def hours_left(self, rates: Rates | None) -> dict[User, float]:
        """The hours that each assessor will still take: none in a closed batch; empty without rates."""
        if rates is None:
            return {}
        hours = dict.fromkeys(self.assessors, 0.0)
        for share in () if self.is_closed else self._active:
            hours[share.assignment.assessor] += rates.hours(share.assignment.assessor_id, share.left)
        return hours

    def total_hours(self, rates: Rates | None) -> float:
        """The hours that the units will still take, also those that nobody has; 0 if closed, and without rates."""
        if rates is None or self.is_closed:
            return 0.0
        untaken = self.n_untaken * rates.others / SECONDS_PER_HOUR
        return untaken + sum(rates.hours(share.assignment.assessor_id, share.left) for share in self.shares)

    @property
    def assessors(self) -> list[User]:
        return sorted({share.assignment.assessor for share in self._active}, key=lambda user: user.username)

    @property
    def n_topics(self) -> int:
        return len({share.assignment.topic_id for share in self._active})

    @property
    def _active(self) -> list[Share]:
        return [share for share in self.shares if not share.assignment.is_withdrawn]


def hours_each(batches: Iterable[BatchProgress], rates: Mapping[int, Rates]) -> float | None:
    """The mean of the hours of those who have work left; None of less than two people."""
    left: defaultdict[User, float] = defaultdict(float)
    for progress in batches:
        for assessor, n in progress.hours_left(rates.get(progress.batch.pk)).items():
            left[assessor] += n
    hours = [n for n in left.values() if n]
    return fmean(hours) if len(hours) > 1 else None


def track_progress(track: Track) -> list[BatchProgress]:
    """Every batch of a track with its progress, newest first, in a fixed number of queries."""
    return _progress_of(_BATCHES(track=track.pk))


def progress_of(batch: Batch) -> BatchProgress:
    return progress_of_each([batch])[batch.pk]


def progress_of_each(batches: Collection[Batch] | QuerySet[Batch]) -> dict[int, BatchProgress]:
    """The progress of some batches, by id."""
    chosen: Any = batches.values("pk") if isinstance(batches, QuerySet) else [batch.pk for batch in batches]
    progress = _progress_of(batches_for_organizer().filter(pk__in=chosen))
    return {batch_progress.batch.pk: batch_progress for batch_progress in progress}


def with_times(progress: list[BatchProgress]) -> list[BatchProgress]:
    """Progress with medians and latest judgments. Those of many judgments may be a minute old. One query."""
    asked = sorted(batch_progress.batch.pk for batch_progress in progress)
    rows = kept_for_a_minute(
        ["times", *asked],
        lambda: read_rows(_TIMES, batches=asked),
        lambda rows: sum(row[3] for row in rows) >= MANY,
    )
    times = {(batch, topic, assessor): (median, last) for batch, topic, assessor, _, median, last in rows}
    for batch_progress in progress:
        pk = batch_progress.batch.pk
        batch_progress.median_seconds = times.get((pk, None, None), (None,))[0]
        batch_progress.medians = {
            assessor: median
            for (batch, topic, assessor), (median, _) in times.items()
            if (batch, topic) == (pk, None) and assessor is not None
        }
        for share in batch_progress.shares:
            key = pk, share.assignment.topic_id, share.assignment.assessor_id
            if key in times:
                share.median_seconds, last = times[key]
                share.last_at = datetime.fromisoformat(last)
    return progress


def planned_progress(progress: BatchProgress, assignments: Sequence[TopicAssignment]) -> BatchProgress:
    """The progress of a batch as it would be with other assignments, each with an id of its own."""
    batch, before = progress.batch, {_key_of(share.assignment): share for share in progress.shares}
    planned = replace(progress, shares=[])
    for assignment in assignments:
        share = before.get(_key_of(assignment)) or Share(assignment)
        planned.shares.append(replace(share, assignment=assignment, total=0))
    active = [assignment for assignment in assignments if not assignment.is_withdrawn]
    settled = settled_by_plan(active) if with_others([batch]) else {}
    sizes = sizes_by_topic([batch])
    _set_totals(planned, sizes, {pk: len(entries) for pk, entries in settled.items()})
    return planned


def _key_of(assignment: TopicAssignment) -> tuple[int, int]:
    return assignment.topic_id, assignment.assessor_id


def _progress_of(batches: Iterable[Batch]) -> list[BatchProgress]:
    """The progress of some batches; the number of queries does not depend on how many there are."""
    batches_by_id = {batch.pk: batch for batch in batches}
    # Each assignment with the current judgments made for it
    judgments = Judgment.objects.filter(batch__in=batches_by_id, is_current=True).order_by()
    judged = judgments.values("batch", "topic", "assessor").annotate(n=Count("task", distinct=True))
    # Also those of other main batches of the same pools
    pools = {batch.pool_id for batch in batches_by_id.values() if batch.kind == Batch.Kind.MAIN}
    assignments = _ASSIGNMENTS(batches=[*batches_by_id], pools=[*pools])
    sizes = sizes_by_topic(list(batches_by_id.values()))
    # What other batches have settled; a track with one batch has none
    others = with_others(batches_by_id.values())
    ids = [row.pk for row in assignments if row.batch_id in others and not row.is_withdrawn]
    settled = {pk: len(entries) for pk, entries in settled_entries(ids).items()}
    progress = progress_from(batches_by_id, assignments, judged, sizes, settled)
    opened = [pk for pk, row in progress.items() if not row.is_closed]
    # Not those that were taken back with their topic
    held = TopicAssignment.objects.filter(
        batch=OuterRef("batch"), topic=OuterRef("entry__topic"), assessor=OuterRef("assessor")
    )
    tasks = Task.objects.filter(batch__in=opened, status__in=Task.UNFINISHED).order_by()
    tasks = tasks.filter(Exists(held.filter(is_withdrawn=False)))
    in_time = Q(status=Task.Status.ACCEPTED, expires_at__gt=timezone.now())
    counts = tasks.values_list("batch").annotate(
        n_open=Count("pk", filter=in_time), n_overdue=Count("pk", filter=_overdue())
    )
    for batch_id, n_open, n_overdue in counts:
        progress[batch_id].n_open, progress[batch_id].n_overdue = n_open, n_overdue
    return list(progress.values())


def _overdue() -> Q:
    """Unfinished tasks whose time ran out, and which nobody has returned or judged in their assessor's place since."""
    others = taken_units().filter(batch=OuterRef("batch"), entry=OuterRef("entry"), seat=OuterRef("seat"))
    is_returned = Q(expires_at=F("accepted_at"))
    return Q(expires_at__lte=timezone.now()) & ~is_returned & ~Q(Exists(others.exclude(pk=OuterRef("pk"))))


def taken_units() -> QuerySet[Task]:
    """The tasks that are judged or, in a batch that is open to join, in somebody's hands; without hidden checks."""
    held = Q(status=Task.Status.ACCEPTED, expires_at__gt=timezone.now(), batch__is_shared=True)
    return Task.objects.filter(held | Q(status=Task.Status.SUBMITTED), is_check=False)


def progress_from(
    batches: Mapping[int, Batch],
    assignments: Iterable[TopicAssignment],
    judged: Iterable[Mapping[str, Any]],
    sizes: Mapping[tuple[int, int], int],
    settled: Mapping[int, int],
) -> dict[int, BatchProgress]:
    """The progress of batches, by id, from what the database has of them.

    Args:
        assignments: those of the batches, and of other main batches of their pools; each with its `pool`, in order.
        judged: the number `n` of units with a current judgment, by batch, topic and assessor.
        sizes: the number of entries, by batch and topic.
        settled: the number of entries that other batches have settled, by assignment.
    """
    progress = {pk: BatchProgress(batch) for pk, batch in batches.items()}
    n_judged = {(row["batch"], row["topic"], row["assessor"]): row["n"] for row in judged}
    for assignment in assignments:
        for other in progress.values():
            is_other = other.batch.pk != assignment.batch_id and other.batch.pool_id == assignment.pool  # type: ignore[attr-defined]
            if is_other and not assignment.is_withdrawn:
                other.elsewhere.add(assignment.topic_id)
        if assignment.batch_id not in progress:
            continue
        key = assignment.batch_id, assignment.topic_id, assignment.assessor_id
        progress[assignment.batch_id].shares.append(Share(assignment, n_judged.get(key, 0)))
    for batch_progress in progress.values():
        _set_totals(batch_progress, sizes, settled)
    return progress


def _set_totals(
    progress: BatchProgress, sizes: Mapping[tuple[int, int], int], settled: Mapping[int, int]
) -> None:
    """The number of entries of each share. When a topic changes hands, each assessor keeps what they have judged.

    What is left of a topic that several assessors share is divided evenly among them.
    """
    judged_before: dict[tuple[int, int], int] = {}
    for share in progress.shares:
        if share.assignment.is_withdrawn:
            key = (share.assignment.topic_id, share.assignment.seat)
            share.total = share.judged
            judged_before[key] = judged_before.get(key, 0) + share.judged
    of_seat: dict[tuple[int, int], list[Share]] = {}
    for share in progress.shares:
        if not share.assignment.is_withdrawn:
            of_seat.setdefault((share.assignment.topic_id, share.assignment.seat), []).append(share)
    for key, shares in of_seat.items():
        done = judged_before.get(key, 0) + max(settled.get(share.assignment.pk, 0) for share in shares)
        left = sizes.get((progress.batch.pk, key[0]), 0) - done - sum(share.judged for share in shares)
        for place, share in enumerate(shares):
            share.total = share.judged + (left + place) // len(shares)
    if progress.batch.kind == Batch.Kind.MAIN:
        progress.untaken = _untaken(progress, sizes, judged_before, of_seat)


def _untaken(
    progress: BatchProgress,
    sizes: Mapping[tuple[int, int], int],
    judged_before: Mapping[tuple[int, int], int],
    of_seat: Collection[tuple[int, int]],
) -> dict[int, int]:
    """The units of a main batch that nobody has, by topic."""
    untaken: Counter[int] = Counter()
    for (pk, topic), n in sizes.items():
        if pk != progress.batch.pk or (topic in progress.elsewhere and not progress.batch.is_shared):
            continue
        for seat in range(1, progress.batch.n_judges + 1):
            if (topic, seat) not in of_seat:
                untaken[topic] += n - judged_before.get((topic, seat), 0)
    return dict(+untaken)
