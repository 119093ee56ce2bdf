"""Read the audit log. Only organizers may."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from operator import itemgetter
from typing import NamedTuple

from django.db.models import QuerySet
from django.utils.timezone import get_current_timezone

from accounts.models import Event, User, action_in_words
from assay.formats.spreadsheet import csv_lines

NOBODY = "nobody"  # commands and workers, in the filter of people
TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d):[\d.]+\+00:00")
LONG = 6  # values of a list that a page shows without folding
COLUMNS = ["time", "person", "via", "action", "subject", "track", "details"]


@dataclass(frozen=True)
class Choices:
    """The people and the actions that the log contains, as pairs of a value and a label."""

    people: list[tuple[str, str]]
    actions: list[tuple[str, str]]


class Detail(NamedTuple):
    """A detail of an event in words; `short` is for a text that is folded."""

    name: str
    text: str
    short: str


def events(track_id: int | None = None) -> QuerySet[Event]:
    """The events of one track, or of the whole site, newest first."""
    rows = Event.objects.select_related("by")
    return rows if track_id is None else rows.filter(track_id=track_id)


def events_for(user: User) -> QuerySet[Event]:
    """The events that a user may read: administrators all, others those of the tracks that they organize or chair."""
    return events() if user.is_administrator else events().filter(track_id__in=[*user.roles])


def choices(rows: QuerySet[Event]) -> Choices:
    """Return the people and actions that rows can be filtered by. One query."""
    pairs = list(rows.order_by().values_list("by__username", "action").distinct())
    people = sorted({person for person, _ in pairs if person})
    actions = {action for _, action in pairs}
    nobody = (NOBODY, "command or worker")
    return Choices(
        [*((name, name) for name in people), nobody],
        sorted(((action, action_in_words(action)) for action in actions), key=itemgetter(1)),
    )


def filtered(
    rows: QuerySet[Event],
    *,
    person: str = "",
    action: str = "",
    first: date | None = None,
    last: date | None = None,
) -> QuerySet[Event]:
    """The events of a person, of an action, and of the days from `first` to `last`."""
    if person:
        rows = rows.filter(by=None) if person == NOBODY else rows.filter(by__username=person)
    if action:
        rows = rows.filter(action=action)
    if first:
        rows = rows.filter(at__gte=_midnight(first))
    if last and last < date.max:
        rows = rows.filter(at__lt=_midnight(last + timedelta(days=1)))
    return rows


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, get_current_timezone())


def subject_within(event: Event, track: str) -> str:
    """The subject as a page of the track names it: without the name of the track, so that of the track is empty."""
    return event.subject.removeprefix(track).strip()


def details_of(event: Event) -> list[Detail]:
    """The details of an event in words, in which times are to the minute."""
    return [
        Detail("SHA-256" if name == "sha256" else name.replace("_", " "), _text(value), _short(value))
        for name, value in event.details.items()
        if value not in ("", [], {}, None)
    ]


def _short(value: object) -> str:
    """A long list by its first two and last items; empty for other values."""
    if not isinstance(value, list) or len(value) <= LONG:
        return ""
    return f"{len(value)}: {_text(value[0])}, {_text(value[1])}, … {_text(value[-1])}"


def _text(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case {"from": old, "to": new}:
            return f"{_text(old) if old else '–'} → {_text(new) if new else '–'}"
        case list():
            return ", ".join(map(_text, value))
        case dict():
            return ", ".join(f"{name} {_text(detail)}" for name, detail in value.items())
        case _:
            return TIME.sub(r"\1 \2 UTC", str(value))


def as_csv(rows: Iterable[Event]) -> Iterator[str]:
    """The events with their details as JSON."""
    lines = (
        [
            event.at.isoformat(timespec="seconds"),
            event.by.username if event.by else "",
            event.via,
            event.action,
            event.subject,
            event.track_slug,
            json.dumps(event.details, ensure_ascii=False, sort_keys=True) if event.details else "",
        ]
        for event in rows
    )
    yield from csv_lines(COLUMNS, lines)
