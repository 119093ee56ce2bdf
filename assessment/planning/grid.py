"""The grid of a batch: its topics by assessors, with load and progress. In a fixed number of queries."""

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import NamedTuple

from django.db.models import Avg, F, FloatField, Value
from django.db.models.functions import Cast, Least

from accounts.models import User
from assessment.assignments.proposals import n_missing
from assessment.assignments.rules import Plan
from assessment.assignments.selectors import plan_of
from assessment.batches.selectors import BatchProgress, Median, Share, planned_progress, progress_of
from assessment.models import Batch, Judgment, TopicAssignment
from tracks.models import Topic, Track

MOST_MEDIANS = 5  # a judgment counts as at most so many medians: people leave pages open
SECONDS_PER_HOUR = 3600


class Rates(NamedTuple):
    """Seconds per judgment: of each assessor who has judged in the track, and of all together."""

    by_assessor: dict[int, float]
    overall: float | None

    def hours(self, assessor_id: int, n: int) -> float | None:
        """How long an assessor will take for `n` units; None if nobody has judged yet."""
        seconds = self.by_assessor.get(assessor_id, self.overall)
        return None if seconds is None else n * seconds / SECONDS_PER_HOUR


def rates_of(track: Track) -> Rates:
    """The mean seconds per judgment of people in a track, where long ones count as five medians. Three queries."""
    timed = Judgment.objects.filter(track=track, is_current=True, seconds__isnull=False).order_by()
    timed = timed.exclude(batch__kind=Batch.Kind.MACHINE)
    median = timed.aggregate(median=Median("seconds"))["median"]
    if median is None:
        return Rates({}, None)
    most = Value(MOST_MEDIANS * median, output_field=FloatField())
    mean = Avg(Least(Cast(F("seconds"), FloatField()), most))
    return Rates(dict(timed.values_list("assessor").annotate(mean=mean)), timed.aggregate(mean=mean)["mean"])


class Cell(NamedTuple):
    """An assessor's part of a topic. A former assessor has judged some units, and has nothing left to judge."""

    assessor: User
    judged: int
    total: int
    hours: float | None
    is_former: bool

    @property
    def to_do(self) -> int:
        return 0 if self.is_former else self.total - self.judged


@dataclass(frozen=True)
class Row:
    """A topic with a cell for each column of the grid. `others`: who judges it in other batches of the track."""

    topic: Topic
    n_units: int
    cells: list[Cell | None]
    n_missing: int
    others: str


@dataclass(frozen=True)
class Column:
    """An assessor with their load. `reason`: why they cannot get topics; empty if they can."""

    assessor: User
    group: str
    reason: str
    n_topics: int = 0
    judged: int = 0
    to_do: int = 0
    hours: float | None = None


@dataclass(frozen=True)
class Grid:
    """The topics of a batch by its assessors; `n_missing` counts the places that nobody has."""

    plan: Plan
    columns: list[Column]
    rows: list[Row]
    faults: list[tuple[Topic, str]]
    progress: BatchProgress
    rates: Rates

    @property
    def batch(self) -> Batch:
        return self.plan.batch

    @property
    def n_missing(self) -> int:
        """In a dual batch no place is missing: most topics are judged once."""
        return 0 if self.batch.kind == Batch.Kind.DUAL else sum(row.n_missing for row in self.rows)

    @property
    def empty_groups(self) -> list[str]:
        """The groups that the protocol needs and of which no assessor can get topics."""
        able = {column.group for column in self.columns if not column.reason}
        return [group for group in self.plan.groups if group not in able]

    @property
    def judged(self) -> int:
        return sum(column.judged for column in self.columns)

    @property
    def to_do(self) -> int:
        return sum(column.to_do for column in self.columns)

    @property
    def hours(self) -> float | None:
        known = [column.hours for column in self.columns if column.hours is not None]
        return sum(known) if known else None

    @property
    def able(self) -> list[User]:
        """The assessors who can get topics."""
        return [column.assessor for column in self.columns if not column.reason]

    @property
    def holders(self) -> list[User]:
        """The assessors who have topics."""
        return [column.assessor for column in self.columns if column.n_topics]

    @property
    def units_to_do(self) -> dict[tuple[int, int], int]:
        """The units left to judge, by topic and assessor."""
        return {
            (row.topic.pk, cell.assessor.pk): cell.to_do
            for row in self.rows
            for cell in row.cells
            if cell is not None and not cell.is_former
        }


def grid_of(batch: Batch) -> Grid:
    """The grid of a batch. Its pool, track and protocol are loaded."""
    is_machine = batch.kind == Batch.Kind.MACHINE
    rates = Rates({}, None) if is_machine else rates_of(batch.pool.track)
    return _grid(plan_of(batch), rates, progress_of(batch))


def planned_grid(grid: Grid, plan: Plan) -> Grid:
    """The grid of a batch as it would be with another plan. Nothing is locked or written."""
    stored = {
        (share.assignment.topic_id, share.assignment.assessor_id): share.assignment
        for share in grid.progress.shares
    }
    assignments = [
        TopicAssignment(
            pk=each.pk if (each := stored.get((topic, assessor))) else -n,
            batch=plan.batch,
            topic=plan.topics[topic],
            assessor=each.assessor if each else plan.judges[assessor].user,
            seat=place.seat,
            is_withdrawn=place.is_withdrawn,
        )
        for n, (topic, assessor, place) in enumerate(plan.flat, 1)
    ]
    return _grid(plan, grid.rates, planned_progress(grid.progress, assignments))


def _grid(plan: Plan, rates: Rates, progress: BatchProgress) -> Grid:
    cells: defaultdict[int, dict[int, Cell]] = defaultdict(dict)
    for share in progress.shares:
        if share.judged or not share.assignment.is_withdrawn:
            cells[share.assignment.topic_id][share.assignment.assessor_id] = _cell(share, rates)
    columns = _columns(plan, cells)
    order = [column.assessor.pk for column in columns]
    rows = [
        Row(
            topic,
            plan.sizes[topic.pk],
            [cells[topic.pk].get(assessor) for assessor in order],
            n_missing(plan, topic),
            _others(plan, topic),
        )
        for topic in sorted(plan.topics.values(), key=lambda topic: topic.code)
    ]
    return Grid(plan, columns, rows, plan.faults(), progress, rates)


def _cell(share: Share, rates: Rates) -> Cell:
    assessor = share.assignment.assessor
    is_former = share.assignment.is_withdrawn
    hours = None if is_former else rates.hours(assessor.pk, share.total - share.judged)
    return Cell(assessor, share.judged, share.total, hours, is_former)


def _columns(plan: Plan, cells: dict[int, dict[int, Cell]]) -> list[Column]:
    """The assessors of the track, and everyone who has judged in the batch, by group and name."""
    columns = {pk: _column(plan, judge.user) for pk, judge in plan.judges.items()}
    for cell in (cell for of_topic in cells.values() for cell in of_topic.values()):
        pk = cell.assessor.pk
        columns.setdefault(pk, _column(plan, cell.assessor))
        columns[pk] = _with_cell(columns[pk], cell)
    return sorted(columns.values(), key=lambda column: (column.group, column.assessor.username))


def _column(plan: Plan, assessor: User) -> Column:
    judge = plan.judges.get(assessor.pk)
    if judge is None:
        return Column(assessor, "", "not an active assessor of the track")
    reason = f"a member of the team {judge.team}" if judge.team else ""
    if plan.groups and judge.group not in plan.groups:
        reason = reason or "in no group"
    return Column(assessor, judge.group, reason)


def _with_cell(column: Column, cell: Cell) -> Column:
    return replace(
        column,
        n_topics=column.n_topics + (not cell.is_former),
        judged=column.judged + cell.judged,
        to_do=column.to_do + cell.to_do,
        hours=column.hours if cell.hours is None else (column.hours or 0) + cell.hours,
    )


def _others(plan: Plan, topic: Topic) -> str:
    """The names of those who judge the topic in other batches, where that matters: in a dual batch."""
    if plan.batch.kind != Batch.Kind.DUAL:
        return ""
    people = plan.elsewhere.get(topic.pk, {})
    return ", ".join(sorted(str(plan.judges[pk].user) for pk in people if pk in plan.judges))
