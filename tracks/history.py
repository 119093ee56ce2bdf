"""The audit log of a track and of the whole site: its pages, their filter and the file."""

from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from django import forms
from django.core.paginator import Page, Paginator
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, administrator_required, organizer_required
from accounts.audit import selectors as log
from accounts.audit.selectors import Choices, Detail
from accounts.models import Event
from tracks.models import Track
from tracks.tracks.selectors import track_or_404
from web.downloads import download
from web.forms import StyledForm
from web.pages import context_of

PER_PAGE = 100


class FilterForm(StyledForm):
    """A person, an action and a period. A value that the log does not contain is an error, and filters nothing."""

    person = forms.ChoiceField(required=False)
    action = forms.ChoiceField(required=False)
    first = forms.DateField(required=False, label="From", widget=forms.DateInput(attrs={"type": "date"}))
    last = forms.DateField(required=False, label="To", widget=forms.DateInput(attrs={"type": "date"}))

    def __init__(self, *args: Any, choices: Choices, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, offered, every in (
            ("person", choices.people, "everybody"),
            ("action", choices.actions, "every action"),
        ):
            cast("forms.ChoiceField", self.fields[name]).choices = [("", every), *offered]

    @property
    def chosen(self) -> dict[str, Any]:
        """The valid values."""
        self.is_valid()
        return self.cleaned_data


class EventRow(NamedTuple):
    """An event, its subject, and its details in words."""

    event: Event
    subject: str
    details: list[Detail]


@dataclass(frozen=True)
class HistoryPage:
    """Events, newest first; `track` is None on the page of the whole site."""

    track: Track | None
    rows: Page[EventRow]


def history_page(track: Track | None, chosen: dict[str, Any], number: object) -> HistoryPage:
    """The events that a filter chooses. Two queries."""
    page: Page[Any] = Paginator(events(track, chosen), PER_PAGE).get_page(number)  # type: ignore[arg-type]
    name = track.name if track else ""
    page.object_list = [
        EventRow(event, log.subject_within(event, name), log.details_of(event)) for event in page.object_list
    ]
    return HistoryPage(track, page)


def events(track: Track | None, chosen: dict[str, Any]) -> Any:
    """The events of a track or of the site that a filter chooses."""
    return log.filtered(log.events(track.pk if track else None), **chosen)


def _history(request: AuthenticatedRequest, slug: str = "") -> HttpResponse:
    """The events in a track, or on the whole site, with who caused them."""
    track = _track(request, slug)
    form = _filter(request, track)
    page = history_page(track, form.chosen, request.GET.get("page"))
    context = context_of(page) | {"form": form}
    context["layout"] = "tracks/base.html" if track else "base.html"
    return render(request, "tracks/history/history.html", context)


def _history_csv(request: AuthenticatedRequest, slug: str = "") -> HttpResponseBase:
    """The events that the filter chooses, as CSV."""
    track = _track(request, slug)
    rows = events(track, _filter(request, track).chosen)
    return download(log.as_csv(rows.iterator(chunk_size=2_000)), f"audit-log-{slug or 'site'}.csv")


# Organizers and chairs read the log of their track, administrators that of the site.
history, history_csv = (
    require_safe(organizer_required(_history)),
    require_safe(organizer_required(_history_csv)),
)
site_history = require_safe(administrator_required(_history))
site_history_csv = require_safe(administrator_required(_history_csv))


def _track(request: AuthenticatedRequest, slug: str) -> Track | None:
    return track_or_404(request.user, slug) if slug else None


def _filter(request: AuthenticatedRequest, track: Track | None) -> FilterForm:
    return FilterForm(request.GET, choices=log.choices(log.events(track.pk if track else None)))
