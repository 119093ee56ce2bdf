"""Add, change, test and remove the webhooks of a track, and send an event again."""

import secrets
from collections.abc import Collection
from functools import partial

from django.db import transaction
from django.utils import timezone

from accounts.audit import services as audit
from accounts.models import User
from assay.errors import Refused
from tracks.announcements import EVENTS, TEST, launch, store
from tracks.models import Delivery, Track, Webhook
from tracks.tracks.services import lock
from tracks.webhooks.delivery import check_address

MOST = 10  # of a track

webhook_refused = partial(Refused, code="webhook-refused", title="The webhook was not stored")


def _check(track: Track, url: str, events: Collection[str], *, own: int | None = None) -> None:
    check_address(url)
    if unknown := sorted(set(events) - set(EVENTS)):
        raise webhook_refused(f"There is no event {unknown[0]}. Accepted: {', '.join(EVENTS)}.")
    if not events:
        raise webhook_refused(
            "Choose an event: a webhook without events would never be called.", field="events"
        )
    if track.webhooks.filter(url=url).exclude(pk=own or 0).exists():
        raise webhook_refused(f"{track} already has a webhook with this address.", field="url")


@transaction.atomic
def add(*, track: Track, url: str, events: Collection[str], by: User) -> Webhook:
    """Add a webhook, with a new secret.

    Raises Refused.
    """
    current = lock(track.pk)
    _check(current, url, events)
    if current.webhooks.count() >= MOST:
        raise webhook_refused(f"{track} already has {MOST} webhooks. Remove one of them first.")
    webhook = Webhook.objects.create(track=current, url=url, events=_in_order(events), created_by=by)
    audit.record(
        action="webhook.added", subject=webhook, track=current, details={"events": webhook.events}, by=by
    )
    return webhook


@transaction.atomic
def edit(*, webhook: Webhook, url: str, events: Collection[str]) -> Webhook:
    """Change the address and the events. The secret stays, and what waits is sent to the new address.

    Raises Refused.
    """
    track = lock(webhook.track_id)
    _check(track, url, events, own=webhook.pk)
    webhook.url, webhook.events, webhook.rests_until = url, _in_order(events), timezone.now()
    webhook.save(update_fields=["url", "events", "rests_until"])
    audit.record(action="webhook.changed", subject=webhook, track=track, details={"events": webhook.events})
    return webhook


@transaction.atomic
def renew_secret(*, webhook: Webhook) -> Webhook:
    """Give a webhook a new secret. From now on it signs everything, also what already waits."""
    track = lock(webhook.track_id)
    webhook.secret = secrets.token_urlsafe()
    webhook.save(update_fields=["secret"])
    audit.record(action="webhook.renewed", subject=webhook, track=track)
    return webhook


@transaction.atomic
def remove(*, webhook: Webhook) -> None:
    """Remove a webhook with the log of its deliveries. What waits is not sent."""
    track = lock(webhook.track_id)
    audit.record(action="webhook.removed", subject=str(webhook), track=track)
    webhook.delete()


@transaction.atomic
def test(*, webhook: Webhook) -> Delivery:
    """Send an event that says nothing, as a test of the address and of the signature. It goes at once."""
    _wake(webhook)
    return store(webhook=webhook, event=TEST, subject=webhook.track)


@transaction.atomic
def send_again(*, delivery: Delivery) -> Delivery:
    """Send an event again, with the same id and body, as if it were new: it has all its tries again."""
    delivery.due_at, delivery.n_tries, delivery.error = timezone.now(), 0, ""
    delivery.delivered_at = delivery.status = None
    delivery.save()
    _wake(delivery.webhook)
    transaction.on_commit(launch)
    return delivery


def _wake(webhook: Webhook) -> None:
    Webhook.objects.filter(pk=webhook.pk).update(rests_until=timezone.now())


def _in_order(events: Collection[str]) -> list[str]:
    return [event for event in EVENTS if event in events]
