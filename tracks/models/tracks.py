"""Tracks."""

from django.db import models
from django.urls import reverse

from corpus.models import Collection
from tracks.models.protocols import StoredProtocol


class Track(models.Model):
    """One task of a campaign: a protocol, the collection that runs search, and topics."""

    class Status(models.TextChoices):
        DRAFT = "draft", "draft"
        OPEN = "open", "open for runs"
        CLOSED = "closed", "closed for runs"

    slug = models.SlugField(unique=True, max_length=100)
    name = models.CharField(max_length=200)
    description = models.TextField(
        blank=True, help_text="Plain text, shown to everyone once the track is open."
    )
    protocol = models.ForeignKey(StoredProtocol, models.PROTECT, related_name="tracks")
    collection = models.ForeignKey(
        Collection,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="tracks",
        help_text="The collection that runs search.",
    )
    topic_collection = models.ForeignKey(
        Collection,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="topic_tracks",
        help_text="The threads from which the topics were made, with their answers. Participants never see it.",
    )
    status = models.CharField("state", max_length=10, choices=Status, default=Status.DRAFT)
    is_closed_by_deadline = models.BooleanField(
        default=False,
        editable=False,
        help_text="Runs that arrived before the deadline are still accepted while they are checked.",
    )
    guidelines = models.ForeignKey(
        "tracks.GuidelinesVersion",
        models.PROTECT,
        null=True,
        editable=False,
        related_name="+",
        help_text="The version in force.",
    )
    agreement = models.ForeignKey(
        "tracks.AgreementVersion",
        models.PROTECT,
        null=True,
        editable=False,
        related_name="+",
        help_text="The version of the data agreement in force.",
    )
    shows_labels = models.BooleanField(
        "labels are public",
        default=False,
        help_text="Everyone sees the labels of the topics, and gets them with the topics. Otherwise, only "
        "organizers and assessors see them.",
    )
    reminder_days = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        default=3,
        help_text="Teams that owe runs or documents get an e-mail so many days before a closing time. Empty: none.",
    )
    derived_from = models.ForeignKey(
        "self",
        models.PROTECT,
        null=True,
        editable=False,
        related_name="derived_tracks",
        help_text="The track from whose topics the formulas of the topics come.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("tracks:track", args=[self.slug])
