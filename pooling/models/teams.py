"""Teams."""

from django.db import models
from django.db.models.functions import Lower

from accounts.models import User
from tracks.models import Track


class Team(models.Model):
    """A group that submits runs to a track. Names are unique in the track, ignoring case."""

    track = models.ForeignKey(Track, models.PROTECT, related_name="teams")
    name = models.CharField(max_length=100)
    members = models.ManyToManyField(User, blank=True, related_name="teams")
    max_megabytes = models.PositiveIntegerField(
        "disk limit",
        null=True,
        blank=True,
        help_text="In megabytes, for all runs of the team, also withdrawn ones. Empty: the limit of the site.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(Lower("name"), "track", name="team_name_unique"),
        ]

    def __str__(self) -> str:
        return self.name
