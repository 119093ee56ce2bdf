"""Imports of files."""

from collections import Counter
from collections.abc import Mapping, Sequence

from django.db import models

from assay.errors import BadFile
from assay.formats.documents.batch import FIRST_LINES
from assay.formats.documents.indexes import Index
from corpus.models.documents import Collection
from jobs.models import Job
from web.models import JsonField


class Import(models.Model):
    """A file that is imported into a collection, with its numbers of imported and skipped rows.

    Everything before the byte `position` of the unpacked file is committed; a killed import continues there. The files
    of a job are imported in the order of their ids.
    """

    JOB = "corpus.imports.files"  # the kind of the jobs

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
    counts = JsonField(default=dict, blank=True)
    skipped = JsonField(default=dict, blank=True)
    skipped_lines = JsonField(default=dict, blank=True, help_text="The first skipped lines of each reason.")
    job = models.ForeignKey(Job, models.PROTECT, null=True, related_name="imports")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name

    @property
    def format_in_words(self) -> str:
        return str(Index.of(self.format) or self.format.replace("-", " "))

    def check_size(self, size: int) -> None:
        """Refuse a file whose size has changed since the import was requested."""
        if size != self.size:
            raise BadFile(f"{self.name} has changed since the import was requested. Start another import.")

    def add(
        self,
        *,
        counts: Mapping[str, int],
        skipped: Mapping[str, int],
        first: Mapping[str, Sequence[int | str]],
        position: int,
    ) -> None:
        """Save that the file is imported up to a position: the rows of its last part that were imported or skipped.

        `first` has the lines or names of skipped rows by reason, of which the first of the file are kept.
        """
        self.counts = dict(Counter(self.counts) + Counter(counts))
        self.skipped = dict(Counter(self.skipped) + Counter(skipped))
        for reason, rows in first.items():
            self.skipped_lines[reason] = [*self.skipped_lines.get(reason, []), *rows][:FIRST_LINES]
        self.position = position
        self.save(update_fields=["position", "counts", "skipped", "skipped_lines"])
