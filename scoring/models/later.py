"""Runs of the teams of other tracks that were scored after a track closed."""

from django.db import models

from accounts.models import User
from participation.models import Team
from scoring.models.leaderboards import Leaderboard


class LaterRun(models.Model):
    """A run on the topics of a closed track by a team of another track, such as the next year's.

    It is in no pool and on no leaderboard: what it was scored against, and every value on it, stay as they were. The
    file is not kept.
    """

    leaderboard = models.ForeignKey(
        Leaderboard,
        models.PROTECT,
        related_name="later_runs",
        help_text="Its qrels and measures score the run.",
    )
    team = models.ForeignKey(Team, models.PROTECT, related_name="later_runs")
    tag = models.CharField(max_length=100)
    sha256 = models.CharField(max_length=64, help_text="Of the file as uploaded.")
    n_topics = models.PositiveIntegerField(help_text="Topics in the means.")
    n_missing = models.PositiveIntegerField(help_text="Topics of the qrels that are missing from the run.")
    values = models.JSONField(help_text="Topic, or `all` for the means, to measure to value.")
    scored_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    scored_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["team__name", "tag"]
        constraints = [
            models.UniqueConstraint(fields=["leaderboard", "team", "tag"], name="later_run_unique")
        ]

    def __str__(self) -> str:
        return f"{self.team}-{self.tag}"
