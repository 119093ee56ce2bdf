"""Imported files."""

from django.db import models

from corpus.models.collections import Collection
from jobs.models import Job


class Import(models.Model):
    """One file going into a collection, with what it brought and what it skipped, and why.

    `position` is the byte of the unpacked file up to which everything is committed: a killed import goes on there.
    The files of one job go in in the order of their ids.
    """

    collection = models.ForeignKey(Collection, models.PROTECT, related_name="imports")
    format = models.CharField(max_length=40)
    name = models.TextField("file name")
    location = models.TextField(help_text="Where the worker reads the file.")
    sha256 = models.CharField(max_length=64, blank=True)
    size = models.BigIntegerField(default=0)
    position = models.BigIntegerField(default=0)
    is_complete = models.BooleanField(default=False)
    counts = models.JSONField(default=dict, blank=True)
    skipped = models.JSONField(default=dict, blank=True)
    skipped_lines = models.JSONField(
        default=dict, blank=True, help_text="The first lines that were skipped for each reason."
    )
    job = models.ForeignKey(Job, models.PROTECT, null=True, related_name="imports")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name
