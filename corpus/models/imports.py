"""Imports of files."""

from django.db import models

from corpus.models.collections import Collection
from jobs.models import Job


class Import(models.Model):
    """A file that is imported into a collection, with its numbers of imported and skipped rows.

    Everything before the byte `position` of the unpacked file is committed; a killed import continues there. The files
    of a job are imported in the order of their ids.
    """

    collection = models.ForeignKey(Collection, models.PROTECT, related_name="imports")
    format = models.CharField(max_length=40)
    name = models.TextField("file name")
    location = models.TextField(
        help_text="Where the worker reads the file: a path, or a name in the storage."
    )
    sha256 = models.CharField(max_length=64, blank=True)
    size = models.BigIntegerField(default=0)
    position = models.BigIntegerField(default=0)
    is_complete = models.BooleanField(default=False)
    counts = models.JSONField(default=dict, blank=True)
    skipped = models.JSONField(default=dict, blank=True)
    skipped_lines = models.JSONField(
        default=dict, blank=True, help_text="The first skipped lines of each reason."
    )
    job = models.ForeignKey(Job, models.PROTECT, null=True, related_name="imports")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name
