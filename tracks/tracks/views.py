"""The pages of a track: overview, topics, protocol; and the jobs that work for it."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from accounts.access import AuthenticatedRequest, organizer_required
from assay.protocols.description import facts
from tracks.tracks import selectors, services


@require_GET
def track(request: HttpRequest, slug: str) -> HttpResponse:
    """What a track is about and how it is judged and scored. Everybody, once it is no draft."""
    found = get_object_or_404(selectors.tracks_for(request.user), slug=slug)
    protocol = found.protocol.parsed
    context = {
        "track": found,
        "protocol": protocol,
        "facts": facts(protocol),
        "n_topics": found.topics.count(),
    }
    return render(request, "tracks/tracks/track.html", context)


@require_POST
@organizer_required
def open_track(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Let teams submit. Organizers only."""
    found = services.open_for_runs(track=get_object_or_404(selectors.tracks_for(request.user), slug=slug))
    messages.success(request, f"{found} is open: its teams can submit runs.")
    return redirect(found)


@require_POST
@organizer_required
def close_track(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Take no more runs. Organizers only."""
    found = services.close(track=get_object_or_404(selectors.tracks_for(request.user), slug=slug))
    messages.success(request, f"{found} is closed: no run is taken or withdrawn from now on.")
    return redirect(found)
