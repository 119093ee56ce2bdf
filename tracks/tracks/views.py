"""The pages that show and edit a track, and the buttons that open and close it."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, organizer_action, organizer_form, oversees
from tracks.models import Track
from tracks.tracks import selectors, services
from tracks.tracks.forms import TrackForm
from web.forms import refusals_in
from web.pages import context_of, form_page


@require_safe
def track(request: HttpRequest, slug: str) -> HttpResponse:
    """The overview of a track: its subject, and how it is judged and scored. Everyone; drafts for organizers only."""
    track = selectors.track_or_404(request.user, slug)
    if not oversees(request.user, track.pk) or request.GET.get("view") == "public":
        return render(request, "tracks/tracks/public.html", {"track": track})
    return render(request, "tracks/tracks/track.html", context_of(selectors.track_page(request.user, track)))


@organizer_action
def open_track(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Let teams submit runs. Organizers only."""
    track = selectors.track_or_404(request.user, slug)
    services.open_for_runs(track=track)
    messages.success(request, f"{track} is open. Its teams can submit runs.")
    return redirect(track)


@organizer_action
def close_track(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Accept no more runs. Organizers only."""
    track = selectors.track_or_404(request.user, slug)
    services.close(track=track)
    messages.success(request, f"{track} is closed. Runs can no longer be submitted or withdrawn.")
    return redirect(track)


@organizer_form
def edit_track(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Edit a track. Organizers only."""
    track = selectors.track_or_404(request.user, slug)
    form = TrackForm(request.POST or None, instance=track, user=request.user)
    if form.is_valid():
        with refusals_in(form):
            messages.success(request, f"Saved {services.edit(track=track, changed=form.changed_data)}.")
            return redirect(track)
    stored = selectors.track_or_404(request.user, slug)  # the form has changed the other row
    note = (
        "The track was opened, and runs were checked against its protocol and collection. These and the short name "
        "cannot change any more."
    )
    return form_page(
        request,
        form,
        "Edit track",
        "Save track",
        layout="tracks/base.html",
        track=stored,
        tab="track",
        note="" if stored.status == Track.Status.DRAFT else note,
        is_section=True,
    )
