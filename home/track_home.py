"""The home of a track for its organizers: the next step, what needs a look, numbers, phases, and what happened last."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, islice
from typing import NamedTuple

from django.db.models import Count
from django.db.models.functions import TruncDate
from django.utils import timezone

from accounts.audit import selectors as log
from accounts.models import Event
from assay.tables import natural
from assessment.batches.progress import BatchProgress, hours_each, rates_of
from assessment.checklist import GOES_ON, KINDS, progress_of_all
from assessment.models import Batch, Judgment
from participation.teams.selectors import RunCounts
from pooling.checklist import counts_of, runs_of
from tracks.checklist.points import Problem
from tracks.checklist.selectors import Checklist
from tracks.deadline_acceptance import next_closing
from tracks.models import Deadline, Track
from web import times

PROBLEMS = 5  # shown at first
TOPICS = 10
DAYS = 10
COMPARED = 3  # days with judgments, from which on a chart says more than their numbers
EVENTS = 4
READ = 50  # events, of which the same in a row are one line
STEP, HIGHEST, BASE = 30, 100, 128  # of the bars of days, in units of their picture


class TopicBar(NamedTuple):
    """The judging of a topic in the main batches."""

    code: str
    judged: int
    total: int


class DayBar(NamedTuple):
    """The judgments of a day, as a bar of the picture."""

    n: int
    x: int
    y: float
    height: float

    @property
    def label_y(self) -> float:
        return self.y - 6


@dataclass(frozen=True)
class Judged:
    """The main judging: units judged of all; hours left of all open batches, those of each person if there are
    several, and seconds per unit where they are known.

    Before and after it, what is open: the training, second judgments or an adjudication. `label` names it, and
    `goes_on` says that people judge.
    """

    label: str
    goes_on: str
    judged: int
    total: int
    hours: float | None
    hours_each: float | None
    seconds: float | None
    topics: list[TopicBar]
    n_topics: int
    is_live: bool


@dataclass(frozen=True)
class Home:
    """The home. `rest` are the problems after the first ones; `days` are the last ten, from `first_day`.

    `events` are the last ones, each with its subject as a page of the track names it, and how often it came in a row.
    """

    track: Track
    checklist: Checklist
    problems: list[Problem]
    rest: list[Problem]
    n_problems: int
    judging: Judged | None
    closing: Deadline | None
    time_left: str
    counts: RunCounts
    n_warned: int
    days: list[DayBar]
    first_day: datetime
    events: list[tuple[Event, str, int]]


def track_home(track: Track, page: Checklist) -> Home:
    """The home of a track with its checklist, which has looks. The number of queries does not grow with its rows."""
    now = timezone.now()
    problems = page.problems
    closing = next_closing(track)
    left = (closing.closes_at - now).total_seconds() if closing and closing.closes_at else 0
    return Home(
        track=track,
        checklist=page,
        problems=problems[:PROBLEMS],
        rest=problems[PROBLEMS:],
        n_problems=len(problems),
        judging=_judging(page.campaign.once(progress_of_all)),
        closing=closing,
        time_left=times.time_left(left) if closing else "",
        counts=page.campaign.once(counts_of),
        n_warned=sum(run.n_warnings > 0 for run in page.campaign.rows(runs_of)),
        days=_days(track, now),
        first_day=now - timedelta(days=DAYS - 1),
        events=_events(track),
    )


def _judging(batches: Sequence[BatchProgress]) -> Judged | None:
    """The main batches that are not drafts, together, or the open ones of another kind if none of them is open.

    None without one.
    """
    begun = [row for row in batches if row.batch.status != Batch.Status.DRAFT]
    of_people = [row for row in begun if row.batch.kind != Batch.Kind.MACHINE]
    opened = [row for row in of_people if row.batch.status == Batch.Status.OPEN]
    has_main = any(row.batch.kind == Batch.Kind.MAIN for row in begun)
    kinds = {row.batch.kind for row in opened} - ({Batch.Kind.TRAINING} if has_main else set())
    is_main = not kinds or Batch.Kind.MAIN in kinds
    kind = Batch.Kind.MAIN if is_main else next(each for each in KINDS if each in kinds)
    main = [row for row in (begun if is_main else opened) if row.batch.kind == kind]
    if not main:
        return None
    rates = rates_of([row.batch for row in opened])
    hours = [row.total_hours(rates[row.batch.pk]) for row in opened if row.batch.pk in rates]
    topics = _topics(main)
    unfinished = [topic for topic in topics if topic.judged < topic.total]
    shown = topics if len(topics) <= TOPICS else (unfinished or topics)[:TOPICS]
    return Judged(
        label=KINDS[kind],
        goes_on=GOES_ON[kind],
        judged=sum(row.judged for row in main),
        total=sum(row.total for row in main),
        hours=sum(hours) or None,
        hours_each=hours_each(opened, rates),
        seconds=next((rate.others for rate in rates.values()), None),
        topics=shown,
        n_topics=len(topics),
        is_live=bool(opened),
    )


def _topics(main: Sequence[BatchProgress]) -> list[TopicBar]:
    judged: Counter[int] = Counter()
    total: Counter[int] = Counter()
    codes: dict[int, str] = {}
    for progress in main:
        for share in progress.shares:
            codes[share.assignment.topic_id] = share.assignment.topic.code
            judged[share.assignment.topic_id] += share.judged
            total[share.assignment.topic_id] += share.total
        total.update(progress.untaken)
    others = dict(main[0].batch.pool.track.topics.values_list("pk", "code"))
    bars = [TopicBar(codes.get(pk) or others.get(pk, ""), judged[pk], n) for pk, n in total.items() if n]
    return sorted(bars, key=lambda bar: natural(bar.code))


def _events(track: Track) -> list[tuple[Event, str, int]]:
    """The last events. The same act of the same person on the same subject is one line."""
    rows = groupby(log.events(track.pk)[:READ], key=lambda event: (event.by_id, event.action, event.subject))
    groups = [list(group) for _, group in islice(rows, EVENTS)]
    return [(group[0], log.subject_within(group[0], track.name), len(group)) for group in groups]


def _days(track: Track, now: datetime) -> list[DayBar]:
    """The judgments of people in the last days; empty before there are enough days to compare."""
    since = (now - timedelta(days=DAYS - 1)).replace(hour=0, minute=0, second=0, microsecond=0)
    judged = Judgment.objects.filter(track=track, is_current=True, created_at__gte=since).order_by()
    judged = judged.exclude(batch__kind=Batch.Kind.MACHINE)
    counts = dict(judged.values_list(TruncDate("created_at")).annotate(n=Count("pk")))
    if len(counts) < COMPARED:
        return []
    most = max(counts.values())
    days = [(since + timedelta(days=n)).date() for n in range(DAYS)]
    heights = [HIGHEST * counts.get(day, 0) / most for day in days]
    return [
        DayBar(counts.get(day, 0), 4 + place * STEP, BASE - height, height)
        for place, (day, height) in enumerate(zip(days, heights, strict=True))
    ]
