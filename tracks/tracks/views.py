"""The overview page of a track, and the buttons that open and close it."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.access import AuthenticatedRequest, organizer_required
from tracks.tracks import selectors, services
from web.pages import context_of


@require_safe
def track(request: HttpRequest, slug: str) -> HttpResponse:
    """What a track is about, and how it is judged and scored. Everyone; drafts for organizers only."""
    track = get_object_or_404(selectors.tracks_for(request.user), slug=slug)
    return render(request, "tracks/tracks/track.html", context_of(selectors.track_page(request.user, track)))


@require_POST
@organizer_required
def open_track(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Let teams submit runs. Organizers only."""
    track = get_object_or_404(selectors.tracks_for(request.user), slug=slug)
    services.open_for_runs(track=track)
    messages.success(request, f"{track} is open. Its teams can submit runs.")
    return redirect(track)


@require_POST
@organizer_required
def close_track(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Accept no more runs. Organizers only."""
    track = get_object_or_404(selectors.tracks_for(request.user), slug=slug)
    services.close(track=track)
    messages.success(request, f"{track} is closed. Runs can no longer be submitted or withdrawn.")
    return redirect(track)
