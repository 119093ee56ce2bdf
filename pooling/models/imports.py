"""Imports of runs."""

from django.db import models
from django.urls import reverse

from accounts.models import User
from jobs.models import Job
from tracks.models import Track


class RunImport(models.Model):
    """An archive with a manifest and its runs: first checked, then a job submits each run on its own.

    The archive is deleted when the job is done. `results` has the answer for each row of the plan, by its number.
    """

    track = models.ForeignKey(Track, models.PROTECT, related_name="run_imports")
    name = models.CharField("file name", max_length=255)
    file = models.FileField(max_length=255, blank=True)
    n_bytes = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    plan = models.JSONField(default=dict, help_text="The rows of the manifest, and what is wrong with it.")
    results = models.JSONField(default=dict)
    job = models.ForeignKey(Job, models.PROTECT, null=True, related_name="+")
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    requested_at = models.DateTimeField(null=True)
    done_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("pooling:run_import", args=[self.pk])

    @property
    def is_ready(self) -> bool:
        """Whether the archive was checked, nothing is wrong, and its runs were not submitted yet."""
        return bool(self.plan.get("rows")) and not self.plan.get("complaints") and self.requested_at is None
