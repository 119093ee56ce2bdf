"""The buttons that skip recommended points of the checklist, accept its remarks, and ask for both again."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect

from accounts.access import AuthenticatedRequest, organizer_action
from tracks.checklist import services
from tracks.tracks.selectors import track_or_404
from web.pages import local_address


@organizer_action
def skip(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Skip recommended points and accept remarks, or ask again; then show the page of the button. Organizers only."""
    track = track_or_404(request.user, slug)
    is_skipped = request.POST.get("action") != "resume"
    skipped = services.skip(track=track, keys=request.POST.get("points", "").split(), is_skipped=is_skipped)
    names = ", ".join(each.label.removesuffix(".") for each in skipped)
    done = skipped[0].word.capitalize()
    text = f"{done}: {names}. You can undo that on the home of the track."
    messages.success(request, text if is_skipped else f"Asked for again: {names}.")
    return redirect(local_address(request, request.POST.get("next", "")) or track)
