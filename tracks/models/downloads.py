"""The files that participants download, and the log of their fetches."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from accounts.models import User
from tracks.models.tracks import Track
from web.names import NameField


class Download(models.Model):
    """A part of the downloads of a track: a stored file, a link, a text, or files that are made from the topics.

    The topics and the sample run are made when they are fetched; their row only states who gets them, and the start.
    Without a row, everyone who sees the track gets them. `released_at` is empty until somebody releases the part, and
    later than now if it is released at a set time.
    """

    class Kind(models.TextChoices):
        TOPICS = "topics", gettext_noop("Topics")
        SAMPLE_RUN = "sample-run", gettext_noop("Sample run")
        INSTRUCTIONS = "instructions", gettext_noop("Instructions")
        COLLECTION = "collection", gettext_noop("Collection")
        QRELS = "qrels", gettext_noop("Qrels of earlier years")
        OTHER = "other", gettext_noop("Other files")

    class Audience(models.TextChoices):
        EVERYONE = "everyone", "everyone"
        TEAMS = "teams", "members of teams"

    track = models.ForeignKey(Track, models.PROTECT, related_name="downloads")
    kind = models.CharField(max_length=20, choices=Kind)
    name = NameField("file name", max_length=255, blank=True)
    description = models.CharField(max_length=1000, blank=True)
    file = models.FileField(max_length=255, blank=True)
    url = models.URLField("link", max_length=1000, blank=True)
    text = models.TextField("Markdown", blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    n_bytes = models.PositiveBigIntegerField(null=True)
    audience = models.CharField(max_length=10, choices=Audience, default=Audience.EVERYONE)
    released_at = models.DateTimeField(null=True, blank=True)
    zone = models.CharField(max_length=64, default="UTC")
    created_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["kind", "name", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["track", "kind"],
                condition=Q(kind__in=["topics", "sample-run", "instructions"]),
                name="download_kind_unique",
            ),
            models.UniqueConstraint(
                fields=["track", "name"], condition=~Q(name=""), name="download_name_unique"
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.get_kind_display()

    @property
    def key(self) -> str:
        """Its name in addresses: the id of an attached part, or the kind."""
        return str(self.pk) if self.name else self.kind


class Fetch(models.Model):
    """Somebody fetched a file of the downloads. `user` is empty for a visitor. It stays when the file is removed."""

    track = models.ForeignKey(Track, models.PROTECT, related_name="fetches")
    user = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    name = NameField("file", max_length=255)
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(db_column="fetched_at", db_default=Now())

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "fetches"

    def __str__(self) -> str:
        return self.name
