"""Clusterings of formulas by what they look like."""

from django.db import models

from corpus.models.collections import Collection
from jobs.models import Job


class Clustering(models.Model):
    """One clustering of the formulas of a collection. Its job leads; helper jobs compute parts.

    Visual ids that an index gave are kept. Those that an earlier clustering assigned are kept unless
    `is_from_scratch` is set.
    """

    collection = models.ForeignKey(Collection, models.PROTECT, related_name="clusterings")
    job = models.OneToOneField(Job, models.PROTECT, related_name="clustering")
    is_from_scratch = models.BooleanField("replaces ids that the index did not give", default=False)
    is_complete = models.BooleanField(default=False)
    counts = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"clustering {self.pk} of {self.collection}"


class ClusteringPart(models.Model):
    """A range of formula ids, by bytes, and the keys of its formulas. Deleted when the clustering is complete.

    `holder` is the job that computes the keys. Its claim is void if that job is lost, finished or taken over.
    """

    clustering = models.ForeignKey(Clustering, models.CASCADE, related_name="parts")
    first = models.TextField(db_collation="C")
    last = models.TextField(db_collation="C")
    holder = models.ForeignKey(Job, models.PROTECT, null=True, related_name="+")
    holder_attempt = models.PositiveIntegerField(default=0)
    keys = models.BinaryField(null=True)
    counts = models.JSONField(default=dict)
    is_stored = models.BooleanField("its visual ids are stored", default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["clustering", "first"], name="clustering_part_unique")]

    def __str__(self) -> str:
        return f"{self.first} to {self.last}"


class Disagreement(models.Model):
    """Formulas with one string and one given visual id, if that id has other strings or that string other ids."""

    id = models.BigAutoField(primary_key=True)
    clustering = models.ForeignKey(Clustering, models.CASCADE, related_name="disagreements")
    visual = models.TextField("visual id", db_collation="C")
    formula = models.TextField("first formula", db_collation="C")
    n = models.PositiveIntegerField("formulas")
    string = models.TextField(help_text="The SLT string, or LaTeX if the formulas have no SLT string.")
    is_slt = models.BooleanField("is an SLT string")
    n_strings = models.PositiveIntegerField("strings of the id")
    n_ids = models.PositiveIntegerField("ids of the string")

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.visual}: {self.string}"
