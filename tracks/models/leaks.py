"""Checks whether the collection of a track gives its topics away."""

from django.db import models
from django.db.models import Q

from accounts.models import User
from jobs.models import Job
from tracks.models.tracks import Track


class LeakCheck(models.Model):
    """One check of the topics of a track against its collection. `leaks` are those of `assay.building.leaks`."""

    track = models.ForeignKey(Track, models.PROTECT, related_name="leak_checks")
    job = models.ForeignKey(Job, models.PROTECT, related_name="+")
    overlap = models.FloatField(help_text="The part of their word shingles that two near-duplicates share.")
    leaks = models.JSONField(default=list)
    unknown = models.JSONField(default=list, help_text="Topics whose own question is not known.")
    n_topics = models.PositiveIntegerField(default=0)
    n_forbidden = models.PositiveIntegerField(default=0)
    is_complete = models.BooleanField(default=False)
    reason = models.TextField(blank=True, help_text="Why the track may open with these leaks.")
    accepted_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(reason="", accepted_by=None) | ~Q(reason="") & Q(accepted_by__isnull=False),
                name="leak_check_reason_has_a_person",
            )
        ]

    def __str__(self) -> str:
        return f"check {self.pk} of {self.track} for leaks"
