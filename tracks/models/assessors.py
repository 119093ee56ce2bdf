"""Assessors of a track."""

from django.db import models

from accounts.models import User
from tracks.models.tracks import Track


class Assessor(models.Model):
    """A person who judges for a track. Never a member of one of its teams."""

    track = models.ForeignKey(Track, models.PROTECT, related_name="assessors")
    user = models.ForeignKey(User, models.PROTECT, related_name="assessor_of")
    group = models.CharField(
        max_length=50, blank=True, help_text="Where the protocol has judges of several kinds."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["track", "user"], name="assessor_unique")]

    def __str__(self) -> str:
        return self.user.username
