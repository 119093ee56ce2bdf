"""Assessors of tracks."""

from django.db import models

from accounts.models import User
from tracks.models.tracks import Track


class Assessor(models.Model):
    """A user who judges for a track, and who is not a member of any of its teams."""

    track = models.ForeignKey(Track, models.PROTECT, related_name="assessors")
    user = models.ForeignKey(User, models.PROTECT, related_name="assessor_of")
    group = models.CharField(
        max_length=50, blank=True, help_text="One of the groups of the protocol; empty if it defines none."
    )
    pseudonym = models.PositiveIntegerField(
        null=True,
        editable=False,
        help_text="The number in the code name, such as A1; set by the first export.",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["track", "user"], name="assessor_unique"),
            models.UniqueConstraint(fields=["track", "pseudonym"], name="assessor_pseudonym_unique"),
        ]

    def __str__(self) -> str:
        return self.user.username
