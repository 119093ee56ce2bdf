"""The pages that create and edit a track."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from accounts.access import AuthenticatedRequest, organizer_required
from assay.errors import Refused
from tracks.setup import services
from tracks.setup.forms import NewTrackForm
from tracks.tracks import services as track_services
from tracks.tracks.forms import TrackForm
from tracks.tracks.selectors import tracks_for


@require_http_methods(["GET", "HEAD", "POST"])
@organizer_required
def new_track(request: AuthenticatedRequest) -> HttpResponse:
    """Create a track. Organizers only."""
    form = NewTrackForm(request.POST or None, request.FILES or None, initial=request.GET.dict())
    if form.is_valid():
        try:
            report = services.create(track=form.instance, topics=form.cleaned_data["topics"], by=request.user)
            messages.success(request, f"Created {form.instance}. {report}".strip())
            return redirect(form.instance)
        except Refused as refusal:
            form.instance.pk = None
            form.add_error("topics" if form.cleaned_data["topics"] else None, refusal.message.split("\n"))
    return render(request, "tracks/setup/new_track.html", {"form": form})


@require_http_methods(["GET", "HEAD", "POST"])
@organizer_required
def edit_track(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Edit a track. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    form = TrackForm(request.POST or None, instance=track)
    if form.is_valid():
        try:
            messages.success(request, f"Saved {track_services.edit(track=track, changed=form.changed_data)}.")
            return redirect(track)
        except Refused as refusal:
            form.add_error(None, refusal.message)
    stored = get_object_or_404(tracks_for(request.user), slug=slug)  # the form has changed the other row
    return render(request, "tracks/setup/edit_track.html", {"track": stored, "form": form, "tab": "track"})
