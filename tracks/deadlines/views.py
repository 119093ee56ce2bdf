"""The page on which organizers set deadlines and milestones, and the calendar of a track."""

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, organizer_form
from tracks import deadline_acceptance
from tracks.deadlines import services
from tracks.deadlines.calendar import ical
from tracks.deadlines.forms import DatesForm
from tracks.models import Deadline, Track
from tracks.tracks.selectors import track_or_404
from web.downloads import download
from web.forms import refusals_in
from web.pages import site_of
from web.times import in_words, now


@organizer_form
def deadlines(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Set when runs of each kind are accepted, and the milestones, all at once. Organizers only."""
    track = track_or_404(request.user, slug)
    if "more" in request.POST:  # a row is added to what is typed, and nothing is stored
        form = DatesForm(initial=request.POST.dict(), track=track)
    else:
        form = DatesForm(request.POST or None, track=track)
    if form.is_valid():
        before = list(track.deadlines.all())
        with refusals_in(form):
            services.set_dates(
                track=track,
                zone=form.cleaned_data["zone"],
                windows=form.windows,
                reminder_days=form.cleaned_data["reminder_days"],
                milestones=form.milestones,
                names_hidden_until=form.cleaned_data["names_hidden_until"],
            )
            after = list(track.deadlines.all())
            messages.success(request, _saved(track, before, after))
            if track.status == Track.Status.DRAFT and any(
                not row.kind and row.opens_at and row.opens_at <= now() for row in after
            ):
                messages.warning(request, f"The opening time has passed, so everybody sees {track} now.")
            if track.status == Track.Status.CLOSED and _closings(before) != _closings(after):
                messages.warning(request, f"{track} is closed. Open it for runs to apply the deadlines.")
            return redirect("tracks:deadlines", track.slug)
    states = deadline_acceptance.acceptances_at(track, form.stored, now())
    context = {"track": track, "form": form, "states": states}
    status = 422 if form.errors else 200
    return render(request, "tracks/deadlines/deadlines.html", context, status=status)


def _closings(rows: Sequence[Deadline]) -> dict[str, datetime | None]:
    return {row.kind: row.closes_at for row in rows}


def _saved(track: Track, before: Sequence[Deadline], after: Sequence[Deadline]) -> str:
    """The message; if closing times of a public track moved, with a link that announces them."""
    if track.status == Track.Status.DRAFT or _closings(before) == _closings(after):
        return "Dates saved."
    times = ", ".join(
        f"{row.kind or 'all'} runs close {in_words(row.closes_at, row.zone)}"
        for row in after
        if row.closes_at
    )
    text = f"The deadlines of {track} moved: {times or 'there is none now'}."
    query = urlencode({"title": "The deadlines moved", "text": text})
    address = f"{reverse('participation:new_announcement', args=[track.slug])}?{query}"
    return format_html('Dates saved. Nobody was notified: <a href="{}">announce them</a>.', address)


@require_safe
def calendar(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Milestones and deadlines as an iCalendar file. Everyone who sees the track."""
    track = track_or_404(request.user, slug)
    return download(ical(track, site_of(request)), f"{track.slug}.ics")
