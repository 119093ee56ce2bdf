"""Webhooks for programs."""

from uuid import UUID

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of
from tracks.announcements import EVENTS
from tracks.models import Delivery, Webhook
from tracks.tracks.api import track_of
from tracks.webhooks import services
from web.api.answers import answer
from web.api.conditional import require_match
from web.api.filters import Filter
from web.api.permissions import Organizer
from web.api.serializers import Address, Strict
from web.api.views import Endpoints, created, delete, get, patch, post

WEBHOOK = "id url address events created_at"
OF_WEBHOOK = {
    "url": Address("api:webhook", "track.slug", "pk", help_text="The address of this webhook in the API."),
    "address": serializers.CharField(source="url", help_text="It gets a POST for each event."),
    "events": serializers.ListField(child=serializers.CharField(), help_text=f"Of {', '.join(EVENTS)}."),
}
WebhookSerializer = answer(
    Webhook, "Webhook", WEBHOOK, "An address to which the events of a track are sent.", **OF_WEBHOOK
)
CreatedWebhookSerializer = answer(
    Webhook,
    "CreatedWebhook",
    f"{WEBHOOK} secret",
    "A webhook with its new secret, which is shown once.",
    **OF_WEBHOOK,
    secret=serializers.CharField(help_text="The key of the signatures."),
)


class WebhookChangeSerializer(Strict):
    """The changes of a webhook. What is left out stays."""

    address = serializers.CharField(max_length=500, required=False)
    events = serializers.ListField(
        child=serializers.ChoiceField(list(EVENTS)), required=False, max_length=len(EVENTS)
    )


class NewWebhookSerializer(Strict):
    """The address and the events of a new webhook."""

    address = serializers.CharField(max_length=500)
    events = serializers.ListField(child=serializers.ChoiceField(list(EVENTS)), max_length=len(EVENTS))


DeliverySerializer = answer(
    Delivery,
    "Delivery",
    "id event status n_tries http_status=status error created_at delivered_at due_at",
    "An event for a webhook, and the answer to the latest try.",
    id=serializers.UUIDField(source="key", help_text="As in the body and in `Assay-Delivery`."),
    status=serializers.CharField(
        source="state", help_text="waiting, waiting for another try, accepted, or given up."
    ),
    http_status="Of the answer to the latest try.",
)


def _webhook(request: Request, slug: str, webhook_id: int) -> Webhook:
    track = track_of(request, slug)
    return get_object_or_404(Webhook.objects.select_related("track"), track=track, pk=webhook_id)


WEBHOOKS = ("tracks/<slug:slug>/webhooks/", "webhooks")


class Webhooks(Endpoints):
    tag = "Webhooks"
    permission_classes = [Organizer]

    @get(*WEBHOOKS, WebhookSerializer, ordering=("pk",))
    def list_webhooks(self, request: Request, slug: str) -> object:
        """List the webhooks of a track, oldest first."""
        return track_of(request, slug).webhooks.select_related("track")

    @post(*WEBHOOKS, CreatedWebhookSerializer, takes=NewWebhookSerializer, status=201, secrets=("secret",))
    def create_webhook(self, request: Request, slug: str) -> object:
        """Add a webhook. The answer has the secret of its signatures."""
        data, by = self.validated(request), person_of(request)
        row = services.add(track=track_of(request, slug), url=data["address"], events=data["events"], by=by)
        shown = CreatedWebhookSerializer(row).data
        return created(shown, shown["url"])

    @get("tracks/<slug:slug>/webhooks/<int:webhook_id>/", "webhook", WebhookSerializer)
    def get_webhook(self, request: Request, slug: str, webhook_id: int) -> object:
        """Read a webhook, without its secret."""
        return _webhook(request, slug, webhook_id)

    @patch(
        "tracks/<slug:slug>/webhooks/<int:webhook_id>/",
        "webhook",
        WebhookSerializer,
        takes=WebhookChangeSerializer,
    )
    def update_webhook(self, request: Request, slug: str, webhook_id: int) -> object:
        """Change the address and the events of a webhook. Its secret stays."""
        row = _webhook(request, slug, webhook_id)
        require_match(request, WebhookSerializer(row).data)
        data = {"address": row.url, "events": row.events} | self.validated(request)
        return services.edit(webhook=row, url=data["address"], events=data["events"])

    @delete("tracks/<slug:slug>/webhooks/<int:webhook_id>/", "webhook")
    def delete_webhook(self, request: Request, slug: str, webhook_id: int) -> None:
        """Remove a webhook with the log of its deliveries. What waits is not sent."""
        row = _webhook(request, slug, webhook_id)
        require_match(request, WebhookSerializer(row).data)
        services.remove(webhook=row)

    @post(
        "tracks/<slug:slug>/webhooks/<int:webhook_id>/test/",
        "test_webhook",
        DeliverySerializer,
        status=202,
    )
    def test_webhook(self, request: Request, slug: str, webhook_id: int) -> object:
        """Send the event `webhook.tested`. The deliveries show the answer."""
        return services.test(webhook=_webhook(request, slug, webhook_id))

    @post(
        "tracks/<slug:slug>/webhooks/<int:webhook_id>/secret/",
        "renew_webhook_secret",
        CreatedWebhookSerializer,
        secrets=("secret",),
    )
    def renew_webhook_secret(self, request: Request, slug: str, webhook_id: int) -> object:
        """Give a webhook a new secret, which signs everything from now on, also what already waits."""
        return services.renew_secret(webhook=_webhook(request, slug, webhook_id))

    @post(
        "tracks/<slug:slug>/webhooks/<int:webhook_id>/deliveries/<uuid:delivery_key>/resend/",
        "resend_delivery",
        DeliverySerializer,
        status=202,
    )
    def resend_delivery(self, request: Request, slug: str, webhook_id: int, delivery_key: UUID) -> object:
        """Send an event again, with the same id and body, also if it was accepted or given up."""
        row = _webhook(request, slug, webhook_id)
        return services.send_again(delivery=get_object_or_404(row.deliveries, key=delivery_key))

    @get(
        "tracks/<slug:slug>/webhooks/<int:webhook_id>/deliveries/",
        "deliveries",
        DeliverySerializer,
        ordering=("-pk",),
        filters=[Filter("event")],
    )
    def list_deliveries(self, request: Request, slug: str, webhook_id: int) -> object:
        """List what was sent to a webhook in the last 30 days, newest first."""
        return _webhook(request, slug, webhook_id).deliveries.all()


urlpatterns = Webhooks.urls()
