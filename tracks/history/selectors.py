"""The pages of the audit log."""

from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

from django.core.paginator import Page, Paginator

from audit import selectors as log
from audit.models import Event
from tracks.models import Track

PER_PAGE = 100


class EventRow(NamedTuple):
    """An event and its details in words: pairs of a name and a text."""

    event: Event
    details: list[tuple[str, str]]


@dataclass(frozen=True)
class HistoryPage:
    """Events, newest first; `track` is None on the page of the whole site."""

    track: Track | None
    rows: Page[EventRow]


def history_page(track: Track | None, chosen: dict[str, Any], number: object) -> HistoryPage:
    """The events that a filter chooses. Two queries."""
    page: Page[Any] = Paginator(events(track, chosen), PER_PAGE).get_page(number)  # type: ignore[arg-type]
    page.object_list = [EventRow(event, log.details_of(event)) for event in page.object_list]
    return HistoryPage(track, page)


def events(track: Track | None, chosen: dict[str, Any]) -> Any:
    """The events of a track or of the site that a filter chooses."""
    first: date | None = chosen.get("first")
    return log.filtered(
        log.events(track.pk if track else None),
        person=chosen.get("person", ""),
        action=chosen.get("action", ""),
        first=first,
        last=chosen.get("last"),
    )
