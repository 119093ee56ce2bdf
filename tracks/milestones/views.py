"""The page on which organizers set milestones, and the calendar of a track."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from accounts.access import AuthenticatedRequest, organizer_required
from tracks.milestones import services
from tracks.milestones.calendar import ical
from tracks.milestones.forms import MilestonesForm
from tracks.tracks.selectors import tracks_for
from web.downloads import download
from web.forms import refusals_in
from web.pages import site_of


@require_http_methods(["GET", "HEAD", "POST"])
@organizer_required
def milestones(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Set the milestones of a track. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    form = MilestonesForm(request.POST or None, track=track)
    if request.method == "POST" and form.is_valid():
        with refusals_in(form):
            services.set_milestones(track=track, **form.cleaned_data)
            messages.success(request, "Milestones saved.")
            return redirect(track)
    return render(
        request, "tracks/milestones/milestones.html", {"track": track, "form": form, "tab": "track"}
    )


@require_safe
def calendar(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Milestones and deadlines as an iCalendar file. Everyone who sees the track."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    return download(ical(track, site_of(request)), f"{track.slug}.ics")
