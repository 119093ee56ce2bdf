"""Imports of judgments and of projects."""

from django.db import models

from accounts.models import User
from assessment.models.batches import Batch
from jobs.models import Job
from pooling.models import Pool
from tracks.models import Track
from web.links import address_of
from web.models import JsonField
from web.names import NameField
from web.slots import address_if_known


class CheckedUpload(models.Model):
    """A file that is first checked, then imported as a whole.

    The file is deleted when its content is stored. `report` is the result of the latest check.
    """

    name = NameField("file name", max_length=255)
    size = models.BigIntegerField()
    sha256 = models.CharField(max_length=64)
    report = JsonField(default=dict)
    job = models.ForeignKey(Job, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    imported_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_running(self) -> bool:
        """True while a job checks or imports it."""
        return self.job is not None and not self.job.is_finished


class JudgmentImport(CheckedUpload):
    """A file of judgments that were made elsewhere."""

    track = models.ForeignKey(Track, models.PROTECT, related_name="judgment_imports")
    file = models.FileField(upload_to="judgments/", max_length=255, blank=True)
    pool = models.ForeignKey(
        Pool,
        models.PROTECT,
        null=True,
        related_name="+",
        help_text="Of all judgments; empty: as the file says.",
    )
    batch = models.CharField(
        max_length=100, help_text="The batch of judgments for which the file names none."
    )
    kind = models.CharField("kind of the batch", max_length=20, choices=Batch.Kind, default=Batch.Kind.MAIN)
    mapping = JsonField(
        default=dict, help_text="By kind (columns, assessors, answers): what words of the file mean here."
    )
    n_imported = models.PositiveIntegerField(default=0)
    created_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")

    def get_absolute_url(self) -> str:
        return address_of("assessment:import", self.pk)

    @property
    def is_ready(self) -> bool:
        """True if the latest check found judgments to import and nothing wrong."""
        return (
            self.imported_at is None and bool(self.report.get("new")) and not self.report.get("n_complaints")
        )

    @property
    def has_only_conflicts(self) -> bool:
        """True if the latest check found judgments to import, and nothing wrong except conflicts with stored ones."""
        n_conflicts, n_complaints = self.report.get("conflicts"), self.report.get("n_complaints")
        return self.imported_at is None and bool(self.report.get("new") and n_conflicts == n_complaints)

    @property
    def keeps_stored(self) -> bool:
        """True if the judgments that are here are kept where the file has others."""
        return "conflicts" in self.mapping


class ProjectImport(CheckedUpload):
    """Projects of Turkle in one upload, imported as tracks: all of them or none."""

    file = models.FileField(upload_to="projects/", max_length=255, blank=True)
    mapping = JsonField(
        default=dict,
        help_text="By kind: the titles and slugs of projects by folder, and the accounts of workers by name.",
    )
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")

    def get_absolute_url(self) -> str:
        return address_if_known("turkle:project_import", self.pk)

    @property
    def is_ready(self) -> bool:
        """True if the latest check found projects and nothing wrong."""
        is_right = bool(self.report.get("projects")) and not self.report.get("problems")
        return self.imported_at is None and is_right
