"""Consents of teams to the publication of their runs, and published archives."""

from django.db import models

from accounts.models import User
from jobs.models import Job
from participation.models.teams import Team
from tracks.models import Track


class Consent(models.Model):
    """A team agrees to the publication of its runs, or no longer does. The latest row counts; rows are only added."""

    team = models.ForeignKey(Team, models.PROTECT, related_name="consents")
    is_given = models.BooleanField()
    by = models.ForeignKey(User, models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.team}: {'yes' if self.is_given else 'no'}"


class Publication(models.Model):
    """An archive of the runs of a finished track, of the teams that agreed. A job makes it; it never changes."""

    class Status(models.TextChoices):
        BUILDING = "building", "being made"
        READY = "ready", "published"
        FAILED = "failed", "failed"
        WITHDRAWN = "withdrawn", "withdrawn"

    track = models.ForeignKey(Track, models.PROTECT, related_name="publications")
    status = models.CharField("state", max_length=10, choices=Status, default=Status.BUILDING)
    file = models.FileField(max_length=255, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    n_bytes = models.PositiveBigIntegerField(default=0)
    runs = models.JSONField(default=list, help_text="The runs in it, as in its runs.json.")
    left_out = models.JSONField(default=dict, help_text="Teams without consent, and disqualified runs.")
    job = models.OneToOneField(Job, models.PROTECT, null=True, related_name="publication")
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"runs of {self.track}"
