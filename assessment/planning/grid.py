"""The grid of a batch: its topics by assessors, with load and progress; and what a change of it would do."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import NamedTuple

from accounts.models import User
from assessment.batches.progress import BatchProgress, Rates, planned_progress, progress_of, rates_of
from assessment.models import Batch, TopicAssignment
from assessment.planning.proposals import n_missing
from assessment.planning.rules import Change, Plan
from assessment.planning.selectors import plan_of
from tracks.models import Topic


class GridCell(NamedTuple):
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
class GridRow:
    """A topic with a cell for each column of the grid. `others`: who judges it in other batches of the track.

    The first `n_people` cells are of people with an account, the others of guests.
    """

    topic: Topic
    n_units: int
    cells: list[GridCell | None]
    n_missing: int
    others: str
    n_people: int

    @property
    def cells_of_people(self) -> list[GridCell | None]:
        return self.cells[: self.n_people]

    @property
    def guest_counts(self) -> tuple[int, int]:
        """The judged units of all guests, and those that they have."""
        cells = [cell for cell in self.cells[self.n_people :] if cell]
        return sum(cell.judged for cell in cells), sum(cell.total for cell in cells)


@dataclass(frozen=True)
class GridColumn:
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
    columns: list[GridColumn]
    rows: list[GridRow]
    faults: list[tuple[Topic, str]]
    progress: BatchProgress
    rates: Rates | None

    @property
    def batch(self) -> Batch:
        return self.plan.batch

    @property
    def n_missing(self) -> int:
        """In second judgments no place is missing: most topics are judged once."""
        return 0 if self.batch.kind == Batch.Kind.DUAL else sum(row.n_missing for row in self.rows)

    @property
    def n_topics_missing(self) -> int:
        """The topics with a place that nobody has."""
        return sum(row.n_missing > 0 for row in self.rows)

    @property
    def is_new(self) -> bool:
        """True for a draft in which nobody has a topic: no change can take anything from anybody."""
        return self.batch.status == Batch.Status.DRAFT and not self.holders

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
        """The units left to judge, also those of topics that nobody has."""
        return sum(column.to_do for column in self.columns) + self.progress.n_untaken

    @property
    def people(self) -> list[GridColumn]:
        return [column for column in self.columns if not column.assessor.guest_until]

    @property
    def guests(self) -> list[GridColumn]:
        """Those who judge by a link: many, who come and go, so that pages show them together."""
        return [column for column in self.columns if column.assessor.guest_until]

    @property
    def guest_counts(self) -> tuple[int, int]:
        """The judged units of all guests, and those that are left for them."""
        return sum(guest.judged for guest in self.guests), sum(guest.to_do for guest in self.guests)

    @property
    def hours(self) -> float:
        return self.progress.total_hours(self.rates)

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
    return _grid(plan_of(batch), rates_of([batch]).get(batch.pk), progress_of(batch))


def planned_grid(grid: Grid, plan: Plan) -> Grid:
    """The grid of a batch as it would be with another plan. Nothing is locked or written."""
    stored = {
        (share.assignment.topic_id, share.assignment.assessor_id): share.assignment
        for share in grid.progress.shares
    }
    assignments = [
        TopicAssignment(
            pk=assignment.pk if (assignment := stored.get((topic, assessor))) else -n,
            batch=plan.batch,
            topic=plan.topics[topic],
            assessor=assignment.assessor if assignment else plan.judges[assessor].user,
            seat=place.seat,
            is_withdrawn=place.is_withdrawn,
        )
        for n, ((topic, assessor), place) in enumerate(plan.all_places.items(), 1)
    ]
    return _grid(plan, grid.rates, planned_progress(grid.progress, assignments))


def _grid(plan: Plan, rates: Rates | None, progress: BatchProgress) -> Grid:
    hours_left = progress.hours_left(rates)
    cells: defaultdict[int, dict[int, GridCell]] = defaultdict(dict)
    # The assessors of the track, and everyone who has judged in the batch
    columns = {pk: _column(plan, judge.user) for pk, judge in plan.judges.items()}
    for share in progress.shares:
        assessor, is_former = share.assignment.assessor, share.assignment.is_withdrawn
        if is_former and not share.judged:
            continue
        hours = rates.hours(assessor.pk, share.left) if rates and not is_former else None
        cell = GridCell(assessor, share.judged, share.total, hours, is_former)
        cells[share.assignment.topic_id][assessor.pk] = cell
        column = columns.get(assessor.pk) or _column(plan, assessor)
        columns[assessor.pk] = replace(
            column,
            n_topics=column.n_topics + (not is_former),
            judged=column.judged + cell.judged,
            to_do=column.to_do + cell.to_do,
            hours=hours_left.get(assessor),
        )
    ordered = sorted(
        columns.values(),
        key=lambda column: (bool(column.assessor.guest_until), column.group, column.assessor.username),
    )
    n_people = sum(not column.assessor.guest_until for column in ordered)
    rows = [
        GridRow(
            topic,
            plan.sizes[topic.pk],
            [cells[topic.pk].get(column.assessor.pk) for column in ordered],
            n_missing(plan, topic),
            _others(plan, topic),
            n_people,
        )
        for topic in sorted(plan.topics.values(), key=lambda topic: topic.natural_code)
    ]
    faults = list(dict.fromkeys(plan.faults()))  # one for all guests whose link has ended
    return Grid(plan, ordered, rows, faults, progress, rates)


def _column(plan: Plan, assessor: User) -> GridColumn:
    judge = plan.judges.get(assessor.pk)
    if judge is None:
        return GridColumn(assessor, "", "not an active assessor of the track")
    reason = f"a member of the team {judge.team}" if judge.team else ""
    if plan.groups and judge.group not in plan.groups:
        reason = reason or "in no group"
    return GridColumn(assessor, judge.group, reason)


def _others(plan: Plan, topic: Topic) -> str:
    """The names of those who judge the topic in other batches, where that matters: in second judgments."""
    if plan.batch.kind != Batch.Kind.DUAL:
        return ""
    people = plan.elsewhere.get(topic.pk, {})
    return ", ".join(sorted(str(plan.judges[pk].user) for pk in people if pk in plan.judges))


class Moved(NamedTuple):
    """A change of a topic. `loses` and `gets` are cells before and after; `n_missing` counts free places after."""

    topic: Topic
    loses: list[GridCell]
    gets: list[GridCell]
    n_missing: int


class Load(NamedTuple):
    """An assessor whose load changes."""

    before: GridColumn
    after: GridColumn


@dataclass(frozen=True)
class Preview:
    """A change that is possible, with the digest of the plan that it changes."""

    batch: Batch
    changes: list[Change]
    seen: str
    moved: list[Moved]
    loads: list[Load]


def preview(*, batch: Batch, changes: Collection[Change]) -> Preview:
    """Preview a change. It is made in memory, so that nobody who judges has to wait."""
    before = grid_of(batch)
    plan = before.plan.copy()
    plan.apply(changes)
    after = planned_grid(before, plan)
    pairs = zip(before.rows, after.rows, strict=True)
    moved = [
        Moved(was.topic, _cells_only_in(was, now), _cells_only_in(now, was), now.n_missing)
        for was, now in pairs
    ]
    earlier = {column.assessor: column for column in before.columns}
    loads = [Load(earlier.get(now.assessor, now), now) for now in after.columns]
    return Preview(
        batch,
        list(changes),
        seen=before.plan.digest,
        moved=[move for move in moved if move.loses or move.gets],
        loads=[load for load in loads if load.before != load.after],
    )


def _cells_only_in(row: GridRow, other: GridRow) -> list[GridCell]:
    """The cells of those who have the topic in one grid, and not in the other."""
    kept = {cell.assessor.pk for cell in other.cells if cell is not None and not cell.is_former}
    return [
        cell for cell in row.cells if cell is not None and not cell.is_former and cell.assessor.pk not in kept
    ]


def packed(change: Change) -> str:
    """A change as the value of a form's field."""
    return f"{'-' if change.is_withdrawn else '+'}{change.topic.pk}:{change.assessor.pk}"


def unpacked(text: str, grid: Grid) -> Change:
    """The change of a form's field. `ValueError` if it is about something that the grid does not have."""
    sign, (topic_id, _, user_id) = text[:1], text[1:].partition(":")
    people: dict[str, User] = {str(column.assessor.pk): column.assessor for column in grid.columns}
    topics = {str(pk): topic for pk, topic in grid.plan.topics.items()}
    if sign not in ("+", "-") or topic_id not in topics or user_id not in people:
        raise ValueError(text)
    return Change(topics[topic_id], people[user_id], is_withdrawn=sign == "-")
