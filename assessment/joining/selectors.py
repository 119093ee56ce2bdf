"""Batches that are open to join, and a unit of a batch as its assessors will see it, before anything is stored."""

from dataclasses import dataclass, replace
from typing import Any

from django.db.models import QuerySet

from accounts.models import User
from assessment.batches.selectors import batches_for_organizer, batches_to_join, entries_of
from assessment.judging.page import TaskPage, task_page
from assessment.models import Batch, Task
from pooling.models import PoolEntry
from web.pages import counted

UNIT = "topic", "document__collection"


@dataclass(frozen=True)
class Preview:
    """A unit of a batch with its form. `number` is its place among the units, from 1.

    `can_choose` says whether other units can be looked at too; `can_accept`, whether the reader may join the batch.
    """

    page: TaskPage
    number: int
    n_units: int
    can_choose: bool
    can_accept: bool

    @property
    def previous(self) -> int:
        return self.number - 1

    @property
    def following(self) -> int:
        return self.number + 1 if self.number < self.n_units else 0


def batches_to_preview(user: User) -> QuerySet[Batch]:
    """The batches of which a user may see a unit before it is judged: all for organizers."""
    return batches_for_organizer() if user.is_organizer else batches_to_join(user)


def facts_of(batch: Batch) -> list[str]:
    """What a person wants to know before they accept: the units, the people per unit and the time for a task."""
    people = counted(batch.n_judges, "person,people")
    return [
        counted(entries_of(batch).count(), "unit"),
        f"{people} per unit" if batch.kind == Batch.Kind.MAIN else f"{batch.get_kind_display()} batch",
        f"{counted(batch.minutes_allotted, 'minute')} for each",
    ]


def unit_of(batch: Batch, number: int = 1) -> tuple[PoolEntry | None, int]:
    """The unit with a number in the order of judging, and the number of units. Three queries."""
    entries = entries_of(batch).order_by("topic__natural_code", "topic__code", "position")
    n = entries.count()
    if not n:
        return None, 0
    return entries.select_related(*UNIT)[min(max(number, 1), n) - 1], n


def unsaved_task(batch: Batch, entry: PoolEntry, user: User) -> Task:
    """A task for a preview, which nobody has taken."""
    if entry.document is not None and entry.document.collection_id == batch.pool.track.collection_id:
        batch.pool.track.collection = entry.document.collection
    return Task(batch=batch, entry=entry, assessor_id=user.pk, status=Task.Status.EXPIRED)


def preview_of(batch: Batch, user: User, *, number: int = 1, can_accept: bool) -> Preview | None:
    """A unit with its form; None if the batch has no units. Without an account, the user is one that is not stored."""
    entry, n_units = unit_of(batch, number)
    if entry is None:
        return None
    entered: dict[str, Any] = {}
    page = task_page(unsaved_task(batch, entry, user), user, entered=entered, is_new=True)
    place = min(max(number, 1), n_units)
    if page.row is not None and page.row.frame:
        page = replace(page, row=replace(page.row, frame=f"{page.row.frame}?unit={place}"))
    return Preview(page, place, n_units, can_choose=user.is_organizer, can_accept=can_accept)
