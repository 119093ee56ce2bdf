"""Analyses of a leaderboard."""

from django.db import models
from django.db.models import Q

from accounts.models import User
from jobs.models import Job
from scoring.models.leaderboards import Leaderboard


class Analysis(models.Model):
    """A job's analysis of how reliable the numbers of a leaderboard are, with its seed."""

    class Kind(models.TextChoices):
        REUSABILITY = "reusability", "one team left out, and shallower pools"
        TOPICS = "topics", "fewer topics, and significantly different pairs"
        COMPARE = "compare", "the same runs with other qrels"
        INSTANCES = "instances", "the same runs over instances and over distinct formulas"
        JUDGES = "judges", "the same runs with the grades of either judge"

    class Status(models.TextChoices):
        COMPUTING = "computing", "being computed"
        READY = "ready", "ready"
        FAILED = "failed", "failed"

    leaderboard = models.ForeignKey(Leaderboard, models.PROTECT, related_name="analyses")
    kind = models.CharField(max_length=20, choices=Kind)
    seed = models.BigIntegerField(help_text="Seed of the random draws.")
    arguments = models.JSONField(default=dict, help_text="Further arguments, by name.")
    status = models.CharField("state", max_length=10, choices=Status, default=Status.COMPUTING)
    result = models.JSONField(default=dict, help_text="The results, as plain values.")
    job = models.OneToOneField(Job, models.PROTECT, null=True, related_name="analysis")
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "analyses"
        constraints = [
            models.UniqueConstraint(
                fields=["leaderboard", "kind"],
                condition=Q(status="computing"),
                name="analysis_computing_unique",
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} of {self.leaderboard_id}"
