"""The pages of webhooks: their list, and each with the log of its deliveries. Organizers only; chairs read."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache

from accounts.access import AuthenticatedRequest, organizer_action, organizer_form, organizer_required
from tracks.announcements import EVENTS, TEST
from tracks.models import Webhook
from tracks.tracks.selectors import track_or_404
from tracks.webhooks import services
from web.confirmation import Confirmation, confirmation_page
from web.forms import StyledForm, refusals_in
from web.pages import read_and_post

SHOWN = 100  # deliveries
WORDS = EVENTS | {TEST: "Test"}


class WebhookForm(StyledForm):
    """The address of a webhook, and its events."""

    url = forms.CharField(max_length=500, label="Address", help_text="It gets a POST for each event.")
    events = forms.MultipleChoiceField(
        choices=list(EVENTS.items()), widget=forms.CheckboxSelectMultiple, label="Events"
    )


def _webhook(request: AuthenticatedRequest, slug: str, webhook_id: int) -> Webhook:
    return get_object_or_404(Webhook.objects.select_related("track"), track__slug=slug, pk=webhook_id)


@read_and_post
@organizer_required
def webhooks(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The webhooks of a track, and the form of a new one. The answer to the form shows the secret, once."""
    track, form = track_or_404(request.user, slug), WebhookForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with refusals_in(form):
            added = services.add(track=track, by=request.user, **form.cleaned_data)
            return _shown(request, added, secret=added.secret)
    rows = [
        (webhook, [WORDS[event] for event in webhook.events])
        for webhook in track.webhooks.select_related("track")
    ]
    context = {"track": track, "form": form, "webhooks": rows}
    return render(request, "tracks/webhooks/webhooks.html", context, status=422 if form.errors else 200)


@read_and_post
@organizer_required
def webhook_page(request: AuthenticatedRequest, slug: str, webhook_id: int) -> HttpResponse:
    """A webhook: its address and events, to change, and what was sent to it."""
    row = _webhook(request, slug, webhook_id)
    form = WebhookForm(request.POST or None, initial={"url": row.url, "events": row.events})
    if request.method == "POST" and form.is_valid():
        with refusals_in(form):
            services.edit(webhook=row, **form.cleaned_data)
            messages.success(request, "The webhook is changed.")
            return redirect(row)
    return _shown(request, row, form=form, status=422 if form.errors else 200)


@organizer_action
def test(request: AuthenticatedRequest, slug: str, webhook_id: int) -> HttpResponse:
    """Send a test event."""
    row = _webhook(request, slug, webhook_id)
    services.test(webhook=row)
    messages.success(request, "A test is on its way. Load this page again to see the answer.")
    return redirect(row)


@organizer_form
def renew_secret(request: AuthenticatedRequest, slug: str, webhook_id: int) -> HttpResponse:
    """Ask, then renew the secret. The answer shows it, once."""
    row = _webhook(request, slug, webhook_id)
    page = Confirmation(
        act="Renew the secret",
        button="Renew secret",
        back=row.get_absolute_url(),
        text="A new secret signs everything from now on, also what already waits. The old one ends at once.",
        notified="Nobody. Give the new secret to the program that gets the events.",
    )
    if not page.is_given(request):
        return confirmation_page(request, page, layout="tracks/base.html", track=row.track)
    row = services.renew_secret(webhook=row)
    return _shown(request, row, secret=row.secret)


@organizer_action
def send_again(request: AuthenticatedRequest, slug: str, webhook_id: int, delivery_key: UUID) -> HttpResponse:
    """Send an event again."""
    row = _webhook(request, slug, webhook_id)
    services.send_again(delivery=get_object_or_404(row.deliveries, key=delivery_key))
    messages.success(request, "The event is on its way again. Load this page again to see the answer.")
    return redirect(row)


@organizer_form
def remove(request: AuthenticatedRequest, slug: str, webhook_id: int) -> HttpResponse:
    """Ask, then remove a webhook with its log."""
    row = _webhook(request, slug, webhook_id)
    page = Confirmation(
        act=f"Remove the webhook of {row}",
        button="Remove webhook",
        back=row.get_absolute_url(),
        text="The log of its deliveries is deleted too. Events that wait are not sent.",
        notified="Nobody.",
        is_danger=True,
    )
    if not page.is_given(request):
        return confirmation_page(request, page, layout="tracks/base.html", track=row.track)
    services.remove(webhook=row)
    messages.success(request, f"The webhook of {row} is removed.")
    return redirect("tracks:webhooks", slug)


@never_cache
def _shown(request: AuthenticatedRequest, row: Webhook, *, status: int = 200, **context: Any) -> HttpResponse:
    form = context.pop("form", None) or WebhookForm(initial={"url": row.url, "events": row.events})
    deliveries = [(delivery, WORDS[delivery.event]) for delivery in row.deliveries.all()[:SHOWN]]
    context |= {"track": row.track, "webhook": row, "form": form, "deliveries": deliveries}
    return render(request, "tracks/webhooks/webhook.html", context, status=status)
