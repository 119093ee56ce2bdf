"""Clusterings of formulas by their appearance."""

from django.db import models

from corpus.models.collections import Collection
from jobs.models import Job


class Clustering(models.Model):
    """One clustering of a collection's formulas by what they look like. Its job does it; helpers' jobs take parts.

    Ids that an index gave are kept. So are those that an earlier clustering made, unless this one begins anew.
    """

    collection = models.ForeignKey(Collection, models.PROTECT, related_name="clusterings")
    job = models.OneToOneField(Job, models.PROTECT, related_name="clustering")
    is_anew = models.BooleanField("makes all new ids again", default=False)
    is_complete = models.BooleanField(default=False)
    counts = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"clustering {self.pk} of {self.collection}"


class ClusteringPart(models.Model):
    """Formulas from one id to another by bytes, and their keys once they are made. Gone when the clustering is done.

    `holder` makes the keys. The claim of a job that is lost, ended or taken over counts for nothing.
    """

    clustering = models.ForeignKey(Clustering, models.CASCADE, related_name="parts")
    first = models.TextField(db_collation="C")
    last = models.TextField(db_collation="C")
    holder = models.ForeignKey(Job, models.PROTECT, null=True, related_name="+")
    holder_attempt = models.PositiveIntegerField(default=0)
    keys = models.BinaryField(null=True)
    counts = models.JSONField(default=dict)
    is_stored = models.BooleanField("its new ids are stored", default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["clustering", "first"], name="clustering_part_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.first} to {self.last}"


class Disagreement(models.Model):
    """Formulas of one string and one given visual id, where the id has other strings, or the string other ids."""

    id = models.BigAutoField(primary_key=True)
    clustering = models.ForeignKey(Clustering, models.CASCADE, related_name="disagreements")
    visual = models.TextField("visual id", db_collation="C")
    formula = models.TextField("first formula", db_collation="C")
    n = models.PositiveIntegerField("formulas")
    string = models.TextField(help_text="The SLT string; LaTeX where the formulas have none.")
    is_slt = models.BooleanField("is an SLT string")
    n_strings = models.PositiveIntegerField("strings of the id")
    n_ids = models.PositiveIntegerField("ids of the string")

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.visual}: {self.string}"
