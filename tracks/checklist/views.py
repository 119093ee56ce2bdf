"""The buttons that skip recommended points of the checklist, and ask for them again."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect

from accounts.access import AuthenticatedRequest, organizer_action
from tracks.checklist import services
from tracks.tracks.selectors import track_or_404
from web.pages import local_address


@organizer_action
def skip(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Skip recommended points, or ask for them again; then show the page of the button. Organizers only."""
    track = track_or_404(request.user, slug)
    is_skipped = request.POST.get("action") != "resume"
    points = services.skip(track=track, keys=request.POST.get("points", "").split(), is_skipped=is_skipped)
    names = ", ".join(point.label for point in points)
    words = {point.dismiss for point in points}
    done = "Skipped" if "Skip" in words else " ".join(words).replace("Mark", "Marked")
    text = f"{done}: {names}. You can undo that on the home of the track."
    messages.success(request, text if is_skipped else f"Asked for again: {names}.")
    return redirect(local_address(request, request.POST.get("next", "")) or track)
