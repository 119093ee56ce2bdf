"""The live board: how the judging of a track, or of one of its batches, goes on, and how fast. For organizers only.

The page asks for the board again and again, so the number of queries is fixed, and each table of judgments is read
once, grouped in the database.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import fmean, median
from typing import NamedTuple

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet
from django.db.models.functions import TruncHour
from django.http import Http404
from django.utils import timezone

from assay import plots
from assay.protocols.schema import JudgingRules
from assay.tables import natural
from assessment.batches.page import Remark
from assessment.batches.progress import (
    BatchProgress,
    Rates,
    Work,
    hours_each,
    rates_of,
    track_progress,
)
from assessment.judgments.statistics import ChoiceShare, shares_of
from assessment.models import Batch, BatchEntry, Judgment, Task
from pooling.pools.entries import ShownDocument, shown_documents
from tracks.assessors.selectors import names_of_assessors
from tracks.models import Track
from web.pages import counted

WINDOW = timedelta(days=7)
SHORTEST = timedelta(hours=1)  # a campaign that began a minute ago has no pace yet
PROJECTABLE = 8  # hours of judging, before which a day cannot be projected
FARTHEST_DAYS = 3650


class Pace(NamedTuple):
    """Units judged in the last days, per hour and per day of 24 hours, and the day on which the rest is judged.

    `hours` is the length of the window. `finish` is None if nothing is left, nothing was judged in the window, the
    window is shorter than a working day, or the rest takes more than ten years.
    """

    n: int
    hours: float
    per_hour: float
    per_day: float
    left: int
    finish: datetime | None

    @property
    def is_long(self) -> bool:
        """True if the window is long enough for a projection."""
        return self.hours >= PROJECTABLE

    @property
    def whole_hours(self) -> int:
        """The length of the window, rounded."""
        return round(self.hours)


def pace_of(by_hour: Mapping[datetime, int], *, left: int, now: datetime) -> Pace:
    """The pace of the last seven days, nights and pauses included, or since the first judgment if that is later.

    `by_hour` is the number of units judged in each hour, by the beginning of the hour.

    >>> from datetime import UTC
    >>> now = datetime(2026, 3, 2, 12, tzinfo=UTC)
    >>> pace = pace_of({now - timedelta(hours=10): 30, now - timedelta(hours=1): 20}, left=50, now=now)
    >>> pace.per_hour, pace.per_day, str(pace.finish)
    (5.0, 120.0, '2026-03-02 22:00:00+00:00')
    """
    recent = {hour: n for hour, n in by_hour.items() if hour > now - WINDOW}
    first = min(by_hour, default=now)
    window = max(SHORTEST, min(WINDOW, now - first))
    n, hours = sum(recent.values()), window / timedelta(hours=1)
    per_hour = n / hours
    days = left / per_hour / 24 if per_hour else math.inf
    is_projected = left > 0 and hours >= PROJECTABLE and days < FARTHEST_DAYS
    return Pace(n, hours, per_hour, 24 * per_hour, left, now + timedelta(days=days) if is_projected else None)


DAYS, HOURS = 14, 24
N_ROWS = 50  # of a list that can be long


class BoardScope(NamedTuple):
    """The batches that the board shows: all batches of a track that are not drafts or for machines, or one batch."""

    key: str
    label: str
    batches: list[BatchProgress]

    @property
    def is_live(self) -> bool:
        return any(progress.batch.status == Batch.Status.OPEN for progress in self.batches)


def scopes_of(track: Track) -> list[BoardScope]:
    """The open batches if others are closed, the whole track, both without machines, and each batch, newest first."""
    batches = [progress for progress in track_progress(track) if progress.batch.status != Batch.Status.DRAFT]
    of_people = [progress for progress in batches if progress.batch.kind != Batch.Kind.MACHINE]
    opened = [progress for progress in of_people if not progress.is_closed]
    is_mixed = 0 < len(opened) < len(of_people)
    return [
        *([BoardScope("open", "Open batches", opened)] if is_mixed else []),
        BoardScope("", "All batches", of_people),
        *(BoardScope(str(progress.batch.pk), progress.batch.name, [progress]) for progress in batches),
    ]


class Times(NamedTuple):
    """Seconds per unit, of the units whose time is known."""

    n: int
    mean: float | None
    median: float | None

    @classmethod
    def from_seconds(cls, seconds: Sequence[int]) -> "Times":
        return cls(len(seconds), fmean(seconds), median(seconds)) if seconds else cls(0, None, None)


@dataclass(frozen=True, kw_only=True)
class AssessorRow(Work):
    """The work of one assessor. The hours are those of people."""

    name: str
    times: Times
    mix: list[ChoiceShare]  # one for each choice of the protocol; empty if they have judged nothing


class TopicRow(NamedTuple):
    """The judging of one topic; `n_relevant` are units, `n_without_grade` the non-answers."""

    code: str
    assessors: list[str]
    people: list[str]  # the names of `assessors`, with the number of guests instead of theirs
    judged: int
    total: int
    times: Times
    n_relevant: int
    n_without_grade: int


class Period(NamedTuple):
    """The units judged in a day or an hour, by its beginning."""

    start: datetime
    n: int


class Periods(NamedTuple):
    """The units judged by day or by hour; `name` is that of their file."""

    name: str
    title: str
    unit: str
    pattern: str
    rows: list[Period]
    plot: plots.Plot

    @property
    def n_judged(self) -> int:
        return sum(period.n for period in self.rows)


@dataclass(frozen=True)
class BoardPage:
    """The board of a scope. Lists are cut at `N_ROWS`; their full lengths are `n_skipped` and `n_unsettled`."""

    track: Track
    scopes: list[BoardScope]
    current: BoardScope
    is_live: bool
    now: datetime
    judged: int
    total: int
    n_open: int
    n_overdue: int
    pace: Pace
    times: Times
    rates: Rates | None
    hours_left: float | None
    hours_each: float | None
    labels: list[str]
    assessors: list[AssessorRow]
    shown: list[AssessorRow]  # with the names of people, and one row for all guests
    topics: list[TopicRow]
    mix_plot: plots.Plot
    days: list[Period]
    hours: list[Period]
    periods: list[Periods]
    period: Periods
    skips: QuerySet[Task]
    n_skipped: int
    unsettled: list[Remark]
    n_unsettled: int
    documents: dict[str, ShownDocument]


def board_page(track: Track, key: str | None, *, by: str = "", is_paused: bool = False) -> BoardPage:
    """The board of a track (with an empty key) or of one batch, by its id, with a plot by "days" or "hours".

    Without a key, it is that of the open batches if there are closed ones too.

    Raises:
        Http404: The track has no such batch, or it is a draft.
    """
    scopes = scopes_of(track)
    current = next((scope for scope in scopes if key in (None, scope.key)), None)
    if current is None:
        raise Http404(f"{track} has no batch {key!r}")
    now, rules = timezone.now(), track.protocol.parsed.judging
    ids = [progress.batch.pk for progress in current.batches]
    # All current judgments, in one query. The times of a unit are on the judgment of its first member.
    judgments = Judgment.objects.filter(batch__in=ids, is_current=True).order_by()
    rows = judgments.values_list("assessor", "topic", "choice", "grade").annotate(
        n=Count("pk"), seconds=ArrayAgg("seconds", filter=Q(seconds__isnull=False)), last_at=Max("created_at")
    )
    groups = [_Group(*row) for row in rows]
    judged = sum(progress.judged for progress in current.batches)
    total = sum(progress.total for progress in current.batches)
    left = sum(progress.n_unjudged for progress in current.batches if not progress.is_closed)
    by_hour = _by_hour(ids, now)
    hour = now.replace(minute=0, second=0, microsecond=0)
    days = _periods(by_hour, hour.replace(hour=0), timedelta(days=1), DAYS)
    hours = _periods(by_hour, hour, timedelta(hours=1), HOURS)
    periods = [
        Periods("days", "By day", "Day", "Y-m-d", days, _plot(track, "Day", "%d %b", days)),
        Periods("hours", "By hour, UTC", "Hour", "Y-m-d H:i", hours, _plot(track, "Hour", "%H", hours)),
    ]
    rates = rates_of([progress.batch for progress in current.batches])
    names, guests = names_of_assessors(track), _guests(current)
    together = names | dict.fromkeys(guests, counted(len(guests), "guest"))
    shown = _assessor_rows(current, groups, rules, rates, together)
    skipped, unsettled = skipped_tasks(ids), unsettled_judgments(ids)
    skips = skipped.select_related("entry__topic", "assessor", "batch").order_by("-skipped_at")[:N_ROWS]
    remarks = [
        Remark(judgment, rules.label_of(judgment.choice, judgment.docno)) for judgment in unsettled[:N_ROWS]
    ]
    listed = [task.entry.docno for task in skips] + [remark.judgment.docno for remark in remarks]
    return BoardPage(
        track=track,
        scopes=scopes,
        current=current,
        is_live=current.is_live and not is_paused,
        now=now,
        judged=judged,
        total=total,
        n_open=sum(progress.n_open for progress in current.batches),
        n_overdue=sum(progress.n_overdue for progress in current.batches),
        pace=pace_of(by_hour, left=left, now=now),
        times=Times.from_seconds(_seconds(groups)),
        rates=next(iter(rates.values()), None) if current.is_live else None,
        hours_left=sum(row.total_hours(rates.get(row.batch.pk)) for row in current.batches)
        if rates
        else None,
        hours_each=hours_each(current.batches, rates),
        labels=[choice.label for choice in rules.choices],
        assessors=_assessor_rows(current, groups, rules, rates, {}),
        shown=shown,
        topics=_topic_rows(current, groups, track, names),
        mix_plot=plots.shares(
            f"{track.slug}-choices",
            f"{track.name}: Choices by assessor",
            [(row.name, [(share.label, share.n) for share in row.mix]) for row in shown if row.mix],
            across="Percent of judgments",
            up="Assessor",
            gray={choice.label for choice in rules.non_answers},
        ),
        days=days,
        hours=hours,
        periods=periods,
        period=next((each for each in periods if each.name == by), periods[0]),
        skips=skips,
        n_skipped=skipped.count(),
        unsettled=remarks,
        n_unsettled=unsettled.count(),
        documents=shown_documents(track.collection, listed),
    )


def _plot(track: Track, across: str, pattern: str, periods: Sequence[Period]) -> plots.Plot:
    values = [(f"{period.start:{pattern}}", period.n) for period in periods]
    name, title = f"{track.slug}-judged-{across.lower()}s", f"{track.name}: Judged units by {across.lower()}"
    return plots.bars(name, title, values, up="Judged", across=across, digits=0)


class _Group(NamedTuple):
    """The current judgments of an assessor for a topic with one choice."""

    assessor_id: int
    topic_id: int
    choice: str
    grade: int | None
    n: int
    seconds: list[int] | None
    last_at: datetime


def _seconds(groups: Iterable[_Group]) -> list[int]:
    return [seconds for group in groups for seconds in group.seconds or ()]


def _guests(current: BoardScope) -> frozenset[str]:
    """The names of those who judge by a link."""
    people = {share.assignment.assessor for batch in current.batches for share in batch.shares}
    return frozenset(user.username for user in people if user.guest_until)


def _assessor_rows(
    current: BoardScope,
    groups: Iterable[_Group],
    rules: JudgingRules,
    rates: Mapping[int, Rates],
    shown_names: Mapping[str, str],
) -> list[AssessorRow]:
    """The work by assessor. Those who are shown with the same name, as guests are, have one row."""

    def named(username: str) -> str:
        return shown_names.get(username, username)

    by_name: defaultdict[str, list[_Group]] = defaultdict(list)
    chosen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    names = {
        share.assignment.assessor_id: named(share.assignment.assessor.username)
        for batch in current.batches
        for share in batch.shares
    }
    for group in groups:
        if name := names.get(group.assessor_id):
            by_name[name].append(group)
            chosen[name][group.choice] += group.n
    work: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    hours: defaultdict[str, float] = defaultdict(float)
    for batch in current.batches:
        for assessor, left in batch.hours_left(rates.get(batch.batch.pk)).items():
            hours[named(assessor.username)] += left
        for share in batch.shares:
            counts = work[named(share.assignment.assessor.username)]
            counts[0] += share.judged
            counts[1] += share.total
    return [
        AssessorRow(
            name=name,
            judged=judged,
            total=total,
            times=Times.from_seconds(_seconds(by_name[name])),
            mix=shares_of(chosen[name], rules),
            last_at=max((group.last_at for group in by_name[name]), default=None),
            hours_left=hours.get(name),
        )
        for name, (judged, total) in sorted(work.items(), key=lambda item: natural(item[0]))
    ]


def _people(usernames: Collection[str], guests: frozenset[str], names: Mapping[str, str]) -> list[str]:
    """The names of assessors, with the number of guests among them instead of their names."""
    n_guests = len(guests.intersection(usernames))
    people = sorted(names.get(username, username) for username in usernames if username not in guests)
    return [*people, counted(n_guests, "guest")] if n_guests else people


def _topic_rows(
    current: BoardScope, groups: Iterable[_Group], track: Track, shown_names: Mapping[str, str]
) -> list[TopicRow]:
    by_topic: defaultdict[int, list[_Group]] = defaultdict(list)
    for group in groups:
        by_topic[group.topic_id].append(group)
    # Units with a relevant member, once for each of their judges
    relevant = Judgment.objects.filter(
        batch__in=[progress.batch.pk for progress in current.batches],
        is_current=True,
        grade__gte=track.protocol.parsed.agreement.binary_from,
    )
    n_of_topics = relevant.order_by().values_list("topic").annotate(n=Count("task", distinct=True))
    n_relevant: dict[int, int] = dict(n_of_topics)
    work: dict[int, list[int]] = {}
    codes: dict[int, str] = {}
    names: defaultdict[int, set[str]] = defaultdict(set)
    guests = _guests(current)
    for batch in current.batches:
        for share in batch.shares:
            topic_id = share.assignment.topic_id
            codes[topic_id] = share.assignment.topic.code
            counts = work.setdefault(topic_id, [0, 0])
            counts[0] += share.judged
            counts[1] += share.total
            if not share.assignment.is_withdrawn:
                names[topic_id].add(share.assignment.assessor.username)
    return [
        TopicRow(
            code=codes[pk],
            assessors=sorted(names[pk]),
            people=_people(names[pk], guests, shown_names),
            judged=judged,
            total=total,
            times=Times.from_seconds(_seconds(by_topic[pk])),
            n_relevant=n_relevant.get(pk, 0),
            n_without_grade=sum(group.n for group in by_topic[pk] if group.grade is None),
        )
        for pk, (judged, total) in sorted(work.items(), key=lambda item: natural(codes[item[0]]))
    ]


def _by_hour(ids: Sequence[int], now: datetime) -> dict[datetime, int]:
    """Units by the hour of their first submission, of the last days; and the hour of the very first one."""
    tasks = Task.objects.filter(batch__in=ids, status=Task.Status.SUBMITTED, is_check=False).order_by()
    since = (now - timedelta(days=DAYS - 1)).replace(hour=0, minute=0, second=0, microsecond=0)
    recent = tasks.filter(submitted_at__gte=since).annotate(hour=TruncHour("submitted_at"))
    counts = dict(recent.values_list("hour").annotate(n=Count("pk")))
    earlier = tasks.filter(submitted_at__lt=since).aggregate(last=Max("submitted_at"))["last"]
    return counts if earlier is None else {earlier: 0, **counts}


def _periods(by_hour: dict[datetime, int], last: datetime, length: timedelta, n: int) -> list[Period]:
    """The last periods of a length, oldest first, in UTC."""
    starts = [last - back * length for back in reversed(range(n))]
    return [
        Period(start, sum(n for hour, n in by_hour.items() if start <= hour < start + length))
        for start in starts
    ]


def skipped_tasks(ids: Sequence[int]) -> QuerySet[Task]:
    """The tasks that their assessors skipped and have not judged since."""
    skipped = Task.objects.filter(batch__in=ids, skipped_at__isnull=False, is_check=False)
    return skipped.exclude(status=Task.Status.SUBMITTED)


def non_answers_to_return() -> QuerySet[Judgment]:
    """The non-answers that count, in open batches."""
    current = Judgment.objects.filter(is_current=True, grade=None, batch__status=Batch.Status.OPEN)
    return current.select_related("topic", "assessor", "track__protocol", "batch", "task__entry")


def unsettled_judgments(ids: Sequence[int]) -> QuerySet[Judgment]:
    """The current non-answers that count, newest first, without units that are in an adjudication batch."""
    adjudicated = BatchEntry.objects.filter(
        batch__kind=Batch.Kind.ADJUDICATION, entry__topic=OuterRef("topic"), entry__tasks=OuterRef("task")
    )
    current = Judgment.objects.filter(batch__in=ids, is_current=True, grade=None)
    open_cases = current.filter(~Exists(adjudicated))
    return open_cases.select_related("topic", "assessor", "batch", "task").order_by("-pk")
