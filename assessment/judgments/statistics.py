"""An assessor's own statistics: of a batch, of a track, or of everything.

They count current judgments, without those that were replaced or undone. Seconds are those for which the page of a task
was visible; a unit of several instances has them once. Days are in UTC.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, timedelta
from typing import NamedTuple

from django.db.models import Aggregate, Avg, Count, FloatField, Q, QuerySet, Sum
from django.db.models.functions import TruncDate
from django.utils.translation import gettext

from accounts.models import User
from assay import plots
from assay.protocols.schema import JudgingRules
from assessment.batches.selectors import batches_of
from assessment.judgments.selectors import COUNTED_FOR_ASSESSORS
from assessment.models import Batch, Judgment, Task

SHOWN_DAYS = 30


class Median(Aggregate):
    """The middle value, as PostgreSQL computes it."""

    name = "Median"
    function = "PERCENTILE_CONT"
    template = "%(function)s(0.5) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()


TIMES = {"judged": Count("pk"), "mean": Avg("seconds"), "median": Median("seconds"), "total": Sum("seconds")}


class StatisticsScope(NamedTuple):
    """The batches that the statistics are about; `key` names it in the address."""

    key: str
    label: str
    batches: list[Batch]


@dataclass(frozen=True)
class Totals:
    """Counts and seconds of all judgments; None without any seconds. `hours` is the sum of the seconds."""

    judged: int
    mean: float | None
    median: float | None
    hours: float | None


class Day(NamedTuple):
    day: date
    judged: int
    mean: float | None


class ChoiceShare(NamedTuple):
    """The frequency of a choice, as a number and in percent of all judgments."""

    label: str
    n: int
    percent: float


def shares_of(counts: Counter[str], rules: JudgingRules) -> list[ChoiceShare]:
    """The frequency of each choice of a protocol; `counts` are by key. Empty if there are no judgments."""
    n = counts.total()
    return [
        ChoiceShare(choice.label, counts[choice.key], 100 * counts[choice.key] / n)
        for choice in rules.choices
        if n
    ]


class ChoiceMix(NamedTuple):
    """The choices of one protocol."""

    protocol: str
    shares: list[ChoiceShare]


@dataclass(frozen=True)
class TopicTime(Totals):
    track: str
    code: str
    title: str


@dataclass(frozen=True)
class StatisticsPage:
    """An assessor's own statistics. `earlier` counts the judgments before the days that are shown.

    `skips` counts the skipped tasks, in `total` and `waiting` to be judged.
    """

    scopes: list[StatisticsScope]
    current: StatisticsScope
    totals: Totals
    days: list[Day]
    plot: plots.Plot
    earlier: int
    mixes: list[ChoiceMix]
    topics: list[TopicTime]
    skips: dict[str, int]


def scopes_of(user: User) -> list[StatisticsScope]:
    """Everything, then each track, then each batch, newest first. One query."""
    batches = list(batches_of(user).order_by("-pk"))
    of_track: dict[int, list[Batch]] = {}
    for batch in batches:
        of_track.setdefault(batch.pool.track_id, []).append(batch)
    tracks = [StatisticsScope(f"track-{pk}", own[0].pool.track.name, own) for pk, own in of_track.items()]
    single = [
        StatisticsScope(f"batch-{batch.pk}", f"{batch.name} · {batch.pool.track.name}", [batch])
        for batch in batches
    ]
    return [StatisticsScope("", gettext("All tracks"), batches), *tracks, *single]


def statistics_page(user: User, key: str) -> StatisticsPage | None:
    """The statistics of a scope, in a fixed number of queries; None if the user has no such scope."""
    scopes = scopes_of(user)
    current = next((scope for scope in scopes if scope.key == key), None)
    if current is None:
        return None
    ids = [batch.pk for batch in current.batches]
    own = Judgment.objects.filter(COUNTED_FOR_ASSESSORS, assessor=user, batch__in=ids).order_by()
    by_day = own.annotate(day=TruncDate("created_at")).values_list("day")
    rows = by_day.annotate(judged=Count("pk"), mean=Avg("seconds")).order_by("day")
    every_day = [Day(*row) for row in rows]
    shown = shown_days(every_day)
    row = own.aggregate(**TIMES)
    by_topic = own.values_list("track__name", "topic__code", "topic__title").annotate(**TIMES)
    by_topic = by_topic.order_by("track__name", "topic")
    skipped = Task.objects.filter(assessor=user, batch__in=ids, skipped_at__isnull=False)
    is_waiting = Q(status=Task.Status.SKIPPED)
    return StatisticsPage(
        scopes=scopes,
        current=current,
        totals=Totals(row["judged"], row["mean"], row["median"], _hours(row["total"])),
        days=[day for day in reversed(shown) if day.judged],
        plot=plots.bars(
            "judgments-per-day",
            gettext("Judgments per day"),
            [(f"{day.day:%m-%d}", day.judged) for day in shown],
            up=gettext("Judgments"),
            across=gettext("Day"),
            digits=0,
        ),
        earlier=sum(day.judged for day in every_day) - sum(day.judged for day in shown),
        mixes=_mixes(own, current.batches),
        topics=[
            TopicTime(judged, mean, median, _hours(total), track, code, title)
            for track, code, title, judged, mean, median, total in by_topic
        ],
        skips=skipped.aggregate(total=Count("pk"), waiting=Count("pk", filter=is_waiting)),
    )


def _hours(seconds: int | None) -> float | None:
    return None if seconds is None else seconds / 3600


def shown_days(days: list[Day]) -> list[Day]:
    """Every day of the last weeks, also without judgments, up to the last one with a judgment."""
    if not days:
        return []
    judged = {day.day: day for day in days}
    last = days[-1].day
    n = min(SHOWN_DAYS, (last - days[0].day).days + 1)
    calendar = [last - timedelta(days=back) for back in reversed(range(n))]
    return [judged.get(day, Day(day, 0, None)) for day in calendar]


def _mixes(own: QuerySet[Judgment], batches: Collection[Batch]) -> list[ChoiceMix]:
    """The frequency of each choice, for each protocol with judgments."""
    protocols = {batch.pool.protocol_id: batch.pool.protocol for batch in batches}
    counts: dict[int, Counter[str]] = {pk: Counter() for pk in protocols}
    for pk, choice, n in own.values_list("batch__pool__protocol", "choice").annotate(n=Count("pk")):
        counts[pk][choice] = n
    return [
        ChoiceMix(protocol.title, shares_of(counts[pk], protocol.as_written.judging))
        for pk, protocol in sorted(protocols.items(), key=lambda row: row[1].title)
        if counts[pk]
    ]
