"""Events of a track, for its webhooks.

The audit log and the jobs call this module for each event of a track; it stores one delivery per webhook that wants the
event, in the transaction of the event. So an event that is undone is never sent, and one that happened is never lost.
Services of tracks import this module, so that it listens in every process. Decision: ADR 29.
"""

import json
import logging

from celery import current_app
from django.db import transaction
from django.db.models import Model
from django.urls import reverse
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from accounts.audit import services as audit
from accounts.models import Event
from jobs import services as jobs
from jobs.models import Job
from tracks.models import Delivery, Track, Webhook
from web.addresses import track_of_page

logger = logging.getLogger(__name__)

EVENTS = {
    "track.opened": "Track opened for runs",
    "track.closed": "Track closed for runs",
    "run.submitted": "Run submitted",
    "run.withdrawn": "Run withdrawn",
    "run.disqualified": "Run disqualified",
    "batch.opened": "Batch opened",
    "batch.closed": "Batch closed",
    "qrels.frozen": "Qrels frozen",
    "leaderboard.released": "Leaderboard released",
    "leaderboard.hidden": "Leaderboard hidden",
    "job.failed": "Job failed",
}
TEST = "webhook.tested"
NAMES = {"run", "batch", "qrels", "leaderboard", "job"}  # of models, as of their addresses in the API


def announce(*, event: str, track_id: int, subject: object) -> None:
    """Store an event for each webhook of the track that wants it. One query if none does."""
    wanting = Webhook.objects.filter(track_id=track_id, events__contains=[event]).select_related("track")
    for webhook in wanting:
        store(webhook=webhook, event=event, subject=subject)


def store(*, webhook: Webhook, event: str, subject: object) -> Delivery:
    """Store an event for a webhook, and wake a worker when the transaction commits.

    The body names nobody: it has the event, its time, and addresses of the API, which ask for a token.
    """
    delivery = Delivery(webhook=webhook, event=event)
    content = {
        "id": str(delivery.key),
        "event": event,
        "created_at": timezone.now().isoformat(timespec="seconds"),
        "track": webhook.track.slug,
        "url": _address(subject) or _address(webhook.track),
    }
    delivery.body = json.dumps(content)
    delivery.save()
    transaction.on_commit(launch)
    return delivery


def _address(subject: object) -> str:
    """The address of a row in the API; empty for what has none."""
    if isinstance(subject, Track):
        return reverse("api:track", args=[subject.slug])
    name = subject._meta.model_name if isinstance(subject, Model) else ""
    return reverse(f"api:{name}", args=[subject.pk]) if name in NAMES else ""  # type: ignore[attr-defined]


def launch() -> None:
    """Wake a worker that sends what is due. If the queue cannot be reached, Celery beat does it within a minute."""
    try:
        current_app.send_task("tracks.webhooks.deliver", retry=False)
    except BrokerError as error:
        logger.warning("an event waits for Celery beat, because the queue cannot be reached: %s", error)


@audit.on_event
def _announce_event(event: Event, subject: object) -> None:
    if event.action in EVENTS and event.track_id is not None:
        announce(event=event.action, track_id=event.track_id, subject=subject)


@jobs.on_failure
def _announce_failure(job: Job) -> None:
    """Jobs know the page of their subject only: the track is that of the page."""
    at = track_of_page(job.subject_path)
    track = Track.objects.filter(**{"slug" if isinstance(at, str) else "pk": at}).only("pk").first()
    if track is not None:
        announce(event="job.failed", track_id=track.pk, subject=job)
