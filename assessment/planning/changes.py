"""A change of a plan before it is made: who gets which topics, who loses them, and what stays."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from accounts.models import User
from assessment.assignments.rules import Change
from assessment.models import Batch
from assessment.planning.grid import Cell, Column, Grid, Row, grid_of, planned_grid
from tracks.models import Topic


class Moved(NamedTuple):
    """What happens to a topic. `loses` and `gets` are cells before and after; `n_missing` counts free places after."""

    topic: Topic
    loses: list[Cell]
    gets: list[Cell]
    n_missing: int


class Load(NamedTuple):
    """An assessor whose load changes."""

    before: Column
    after: Column


@dataclass(frozen=True)
class Preview:
    """A change that is possible, with the digest of the plan that it changes."""

    batch: Batch
    changes: list[Change]
    seen: str
    moved: list[Moved]
    loads: list[Load]


def preview(*, batch: Batch, changes: Collection[Change]) -> Preview:
    """What a change does. It is made in memory, so that nobody who judges has to wait.

    Raises
    ------
    See `Plan.apply`.
    """
    before = grid_of(batch)
    plan = before.plan.copy()
    plan.apply(changes)
    after = planned_grid(before, plan)
    return Preview(batch, list(changes), before.plan.digest, _moved(before, after), _loads(before, after))


def _moved(before: Grid, after: Grid) -> list[Moved]:
    rows = zip(before.rows, after.rows, strict=True)
    moved = [Moved(was.topic, _gone(was, now), _gone(now, was), now.n_missing) for was, now in rows]
    return [each for each in moved if each.loses or each.gets]


def _gone(row: Row, other: Row) -> list[Cell]:
    """The cells of those who have the topic in one grid, and not in the other."""
    kept = {cell.assessor.pk for cell in _active(other)}
    return [cell for cell in _active(row) if cell.assessor.pk not in kept]


def _active(row: Row) -> list[Cell]:
    return [cell for cell in row.cells if cell is not None and not cell.is_former]


def _loads(before: Grid, after: Grid) -> list[Load]:
    was = {column.assessor: column for column in before.columns}
    loads = [Load(was.get(now.assessor, now), now) for now in after.columns]
    return [load for load in loads if load.before != load.after]


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
