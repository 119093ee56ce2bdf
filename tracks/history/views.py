"""The audit log of a track and of the whole site."""

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, organizer_required
from audit import selectors as log
from tracks.history import selectors
from tracks.history.forms import FilterForm
from tracks.models import Track
from tracks.tracks.selectors import tracks_for
from web.downloads import download
from web.pages import context_of


@require_safe
@organizer_required
def history(request: AuthenticatedRequest, slug: str = "") -> HttpResponse:
    """Who did what in a track, or on the whole site. Organizers only."""
    track = _track(request, slug)
    form = _filter(request, track)
    page = selectors.history_page(track, form.chosen, request.GET.get("page"))
    name = "tracks/history/history.html" if track else "tracks/history/site_history.html"
    return render(request, name, context_of(page) | {"form": form, "tab": "track"})


@require_safe
@organizer_required
def history_csv(request: AuthenticatedRequest, slug: str = "") -> HttpResponseBase:
    """The events that the filter chooses, as CSV. Organizers only."""
    track = _track(request, slug)
    rows = selectors.events(track, _filter(request, track).chosen)
    return download(log.as_csv(rows.iterator(chunk_size=2_000)), f"audit-log-{slug or 'site'}.csv")


def _track(request: AuthenticatedRequest, slug: str) -> Track | None:
    return get_object_or_404(tracks_for(request.user), slug=slug) if slug else None


def _filter(request: AuthenticatedRequest, track: Track | None) -> FilterForm:
    return FilterForm(request.GET, choices=log.choices(log.events(track.pk if track else None)))
