"""The pages that show and edit a track, and the buttons that open and close it."""

from functools import partial

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, organizer_form, oversees
from accounts.visitors import same_for_visitors
from jobs.files.deletion import parts_in_words
from tracks.models import Track
from tracks.tracks import opening, selectors, services
from tracks.tracks.forms import TrackForm
from web.confirmation import confirmation_page, deletion, refusals
from web.forms import refusals_in
from web.pages import form_page
from web.translation import translated_for_assessors


@translated_for_assessors
@same_for_visitors
@require_safe
def track_page(request: HttpRequest, slug: str) -> HttpResponse:
    """The overview of a track: its subject, and how it is judged and scored. Everyone; drafts for organizers only."""
    track = selectors.track_or_404(request.user, slug)
    if not oversees(request.user, track.pk) or request.GET.get("view") == "public":
        return render(request, "tracks/tracks/public.html", {"track": track})
    can_be_draft = not list(refusals(partial(services.check_draft, track)))
    return render(request, "tracks/tracks/home.html", {"track": track, "can_be_draft": can_be_draft})


@organizer_form
def open_track(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Show what everybody will see; then let teams submit runs. Organizers only."""
    track = selectors.track_or_404(request.user, slug)
    page = opening.opening_page(track)
    if not page.is_given(request):
        return confirmation_page(request, page, layout="tracks/base.html", track=track)
    services.open_for_runs(track=track)
    follows = "Its teams can submit runs." if track.teams.exists() else "Visitors can ask to take part."
    messages.success(request, f"{track} is open. {follows}")
    return redirect(track)


@organizer_form
def back_to_draft(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Ask, then hide an opened track that nobody has used. Organizers only."""
    track = selectors.track_or_404(request.user, slug)
    page = opening.draft_page(track)
    if not page.is_given(request):
        return confirmation_page(request, page, layout="tracks/base.html", track=track)
    services.back_to_draft(track=track)
    messages.success(request, f"{track} is a draft again.")
    return redirect(track)


@organizer_form
def delete_track(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Ask, then delete a draft that nothing refers to. Organizers only."""
    track = selectors.track_or_404(request.user, slug)
    goes_with = parts_in_words(track, services.PARTS)
    can_be_draft = track.status != Track.Status.DRAFT and not list(
        refusals(partial(services.check_draft, track))
    )
    page = deletion(
        track,
        "track",
        lambda: services.check_deletion(track),
        goes_with=goes_with,
        way_on=(reverse("tracks:back_to_draft", args=[slug]), "Back to draft") if can_be_draft else ("", ""),
        instead=(reverse("publishing:archives", args=[slug]), "Archive the track"),
    )
    if not page.is_given(request):
        return confirmation_page(request, page, layout="tracks/base.html", track=track)
    services.delete(track=track, by=request.user)
    messages.success(request, f"The track {track} is deleted.")
    return redirect("home")


@organizer_form
def close_track(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Accept no more runs; asks first if that is earlier than announced. Organizers only."""
    track = selectors.track_or_404(request.user, slug)
    page = opening.closing_page(track)
    if not page.is_given(request):
        return confirmation_page(request, page, layout="tracks/base.html", track=track)
    services.close(track=track)
    done = f"{track} is closed. Runs can no longer be submitted or withdrawn."
    again = reverse("tracks:open_track", args=[slug])
    messages.success(request, format_html('{} <a href="{}">Open again</a>', done, again))
    return redirect(track)


@organizer_form
def edit_track(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Edit a track, with the field that the address names as `first` at the top. Organizers only."""
    track = selectors.track_or_404(request.user, slug)
    form = TrackForm(request.POST or None, instance=track, user=request.user)
    form.order_fields([request.GET.get("first", "")])
    if form.is_valid():
        with refusals_in(form):
            messages.success(request, f"Saved {services.edit(track=track, changed=form.changed_data)}.")
            return redirect(track)
    stored = selectors.track_or_404(request.user, slug)  # the form has changed the other row
    note = (
        "The track was opened, and runs are checked against its protocol and collection. To change these or the short "
        "name, make it a draft again, which is possible while it has no runs."
    )
    if stored.collection is None:
        note = "The track was opened without a collection. You can choose one as long as no pool is built."
    return form_page(
        request,
        form,
        "General settings",
        "Save track",
        layout="tracks/base.html",
        track=stored,
        saves=True,
        note="" if stored.status == Track.Status.DRAFT else note,
    )
