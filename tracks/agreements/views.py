"""The pages of data agreements: to read, to accept, and for organizers to write."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, organizer_form, public_page, user_action
from tracks.agreements import selectors, services
from tracks.editor import PREVIEW, Button, Done, MarkdownForm, editor
from tracks.tracks.selectors import track_or_404
from web.pages import context_of, local_address, number_in
from web.translation import translated_for_assessors

AGREEMENT = "tracks/agreements/agreement.html"


@translated_for_assessors
@public_page
def agreement(request: HttpRequest, slug: str) -> HttpResponse:
    """The data agreement in force. Everyone who sees the track."""
    track = track_or_404(request.user, slug)
    next_page = local_address(request, request.GET.get("next", ""))
    page = selectors.agreement_page(track, request.user, track.agreement, next_page)
    return render(request, AGREEMENT, context_of(page))


@translated_for_assessors
@require_safe
def version_page(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """One published version. Everyone who sees the track."""
    track = track_or_404(request.user, slug)
    version = get_object_or_404(selectors.versions_of(track), number=number)
    return render(request, AGREEMENT, context_of(selectors.agreement_page(track, request.user, version)))


@translated_for_assessors
@user_action
def accept(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Accept the version that the page showed. Everyone who has logged in."""
    track = track_or_404(request.user, slug)
    shown = number_in(request.POST.get("revision", ""), -1)
    services.accept(track=track, user=request.user, revision=shown)
    messages.success(request, f"You accepted the data agreement of {track}.")
    return redirect(local_address(request, request.POST.get("next", "")) or track.get_absolute_url())


@organizer_form
def edit(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Write the next version: preview, publish or withdraw it. Organizers only."""
    track = track_or_404(request.user, slug)
    in_force = track.agreement
    address = reverse("tracks:agreement", args=[track.slug])

    def publish(**values: Any) -> Done:
        number = services.publish(track=track, by=request.user, **values).number
        message = f"Version {number} is in force. Participants accept it before they get data or submit runs."
        return Done(message, address)

    def withdraw(*, revision: int, text: str) -> Done:
        services.withdraw(track=track, revision=revision)
        return Done("The agreement is withdrawn. Nobody is asked to accept it any more.", address)

    buttons = [
        Button("publish", f"Publish {'a new version' if in_force else 'the agreement'}", publish),
        PREVIEW,
    ]
    if in_force:
        buttons.append(Button("withdraw", "Withdraw the agreement", withdraw, "btn-outline-danger"))
    state = f"Version {in_force.number} is in force." if in_force else "No agreement is in force."
    page = {
        "track": track,
        "heading": "Edit the data agreement",
        "lead": f"{state} Participants accept it before they download data or submit runs. "
        "A new version asks everyone again.",
        "crumbs": [("Data agreement", address)],
    }
    initial = {"text": in_force.text, "revision": in_force.number} if in_force else {"revision": 0}
    return editor(request, MarkdownForm(initial=initial), buttons, page)
