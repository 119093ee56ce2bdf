"""Releases of leaderboards at a set time."""

from django.db import models

from accounts.models import User
from scoring.models.leaderboards import Leaderboard


class ScheduledRelease(models.Model):
    """A leaderboard is released at an instant, which was entered in `zone`.

    The row is deleted when the leaderboard is released. `problem` says why that was refused at the time; then somebody
    has to decide.
    """

    leaderboard = models.OneToOneField(Leaderboard, models.CASCADE, related_name="schedule")
    level = models.CharField(
        max_length=20, choices=[choice for choice in Leaderboard.Release.choices if choice[0] != "hidden"]
    )
    release_at = models.DateTimeField()
    zone = models.CharField(max_length=64, default="UTC")
    reason = models.CharField(max_length=500, blank=True)
    problem = models.TextField(blank=True)
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"release of {self.leaderboard_id}"
