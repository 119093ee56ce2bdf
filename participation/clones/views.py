"""The page that clones a track."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from accounts.access import AuthenticatedRequest, organizer_required
from participation.clones import services
from tracks.tracks.forms import CloneForm
from tracks.tracks.selectors import tracks_for


@require_http_methods(["GET", "HEAD", "POST"])
@organizer_required
def clone_track(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Create a track like this one. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    form = CloneForm(request.POST or None)
    if form.is_valid():
        new = services.clone(track=track, by=request.user, **form.cleaned_data)
        messages.success(request, f"Created {new}, a draft like {track}. Import its topics next.")
        return redirect(new)
    return render(
        request, "participation/clones/clone_track.html", {"track": track, "form": form, "tab": "track"}
    )
