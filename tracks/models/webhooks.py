"""Webhooks: the addresses to which the events of a track are sent, and what was sent."""

import secrets
import uuid
from urllib.parse import urlsplit

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from accounts.models import User
from tracks.models.tracks import Track
from web.links import address_of
from web.models import JsonField


class Webhook(models.Model):
    """An address to which the events of a track are sent. The secret signs them, so it is stored as it is."""

    track = models.ForeignKey(Track, models.PROTECT, related_name="webhooks")
    url = models.CharField("address", max_length=500)
    events = JsonField(default=list)
    secret = models.CharField(max_length=64, default=secrets.token_urlsafe, editable=False)
    rests_until = models.DateTimeField(
        default=timezone.now, help_text="After a failure, nothing is sent before."
    )
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["track", "url"], name="webhook_url_unique")]

    def __str__(self) -> str:
        return urlsplit(self.url).netloc

    def get_absolute_url(self) -> str:
        return address_of("tracks:webhook", self.track.slug, self.pk)


class Delivery(models.Model):
    """An event for one webhook, with the body that is sent. It is due until it was accepted or is given up."""

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries")
    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    event = models.CharField(max_length=60)
    body = models.TextField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    due_at = models.DateTimeField(null=True, default=timezone.now, help_text="Empty: accepted, or given up.")
    n_tries = models.PositiveSmallIntegerField(default=0)
    delivered_at = models.DateTimeField(null=True)
    status = models.PositiveSmallIntegerField(null=True, help_text="HTTP status of the latest answer.")
    error = models.CharField(max_length=300, blank=True, help_text="Why the latest try failed.")

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "deliveries"
        indexes = [models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="delivery_due")]

    def __str__(self) -> str:
        return f"{self.event} to {self.webhook}"

    @property
    def state(self) -> str:
        if self.delivered_at:
            return "accepted"
        if self.due_at is None:
            return "given up"
        return "waiting for another try" if self.error else "waiting"
