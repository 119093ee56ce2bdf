"""The page on which organizers set deadlines."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from accounts.access import AuthenticatedRequest, organizer_required
from tracks import acceptance
from tracks.deadlines import services
from tracks.deadlines.forms import DeadlinesForm
from tracks.models import Track
from tracks.tracks.selectors import tracks_for
from web.forms import refusals_in


@require_http_methods(["GET", "HEAD", "POST"])
@organizer_required
def deadlines(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Set when runs of each kind are accepted. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    form = DeadlinesForm(request.POST or None, track=track)
    if request.method == "POST" and form.is_valid():
        with refusals_in(form):
            services.set_deadlines(track=track, zone=form.cleaned_data["zone"], windows=form.windows)
            messages.success(request, "Deadlines saved.")
            if track.status == Track.Status.CLOSED:
                messages.warning(request, f"{track} is closed. Open it for runs to apply the deadlines.")
            return redirect("tracks:deadlines", track.slug)
    context = {"track": track, "form": form, "states": acceptance.states(track), "tab": "track"}
    return render(request, "tracks/deadlines/deadlines.html", context)
