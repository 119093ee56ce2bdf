"""Samples of what a machine judged, for people to judge, and the estimates that they give."""

from collections.abc import Sequence
from typing import Any

from django.db import models

from accounts.models import User
from assessment.models import Batch
from jobs.models import Job
from pooling.models import Pool
from tracks.models import Machine, Track
from web.links import address_of
from web.models import JsonField
from web.names import NameField


class Sample(models.Model):
    """Units that a job drew for people from those that a machine judged in a pool, as a batch.

    `units` has every unit from which it drew, as topic, docno, the probability to be in the sample, and 1 if it is in
    it. It never changes: an estimate needs the probabilities with which the units were drawn.
    """

    class Design(models.TextChoices):
        WEIGHT = "weight", "by weight"
        UNIFORM = "uniform", "uniform"
        STRATA = "strata", "from strata"
        NEXT = "next", "next units"

    track = models.ForeignKey(Track, models.PROTECT, related_name="estimate_samples")
    machine = models.ForeignKey(Machine, models.PROTECT, related_name="+")
    pool = models.ForeignKey(Pool, models.PROTECT, related_name="+")
    name = NameField(max_length=100, help_text="Of the batch.")
    design = models.CharField(max_length=10, choices=Design)
    arguments = JsonField(default=dict, help_text="The size, and what else the design needs.")
    seed = models.BigIntegerField()
    after = models.ForeignKey(
        "self",
        models.PROTECT,
        null=True,
        related_name="+",
        help_text="The sample that the units are added to.",
    )
    fit = JsonField(default=list, help_text="Codes of the topics that are left out of estimates.")
    units = JsonField(default=list)
    batch = models.OneToOneField(Batch, models.PROTECT, null=True, related_name="estimate_sample")
    job = models.OneToOneField(Job, models.PROTECT, null=True, related_name="+")
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return address_of("estimates:estimates", self.track.slug)


class Estimate(models.Model):
    """Values of runs that a job computed from the judgments of a machine and of people at a moment.

    Without a sample, people judged all units of some topics.
    """

    track = models.ForeignKey(Track, models.PROTECT, related_name="estimates")
    machine = models.ForeignKey(Machine, models.PROTECT, related_name="+")
    pool = models.ForeignKey(Pool, models.PROTECT, related_name="+")
    sample = models.ForeignKey(Sample, models.PROTECT, null=True, related_name="estimates")
    measures = JsonField(default=list)
    result = JsonField(default=dict, help_text="Tables, and remarks about them; empty until it is computed.")
    units = JsonField(
        default=list,
        db_default=[],
        help_text="What it was computed from: topic, docno, the machine's grade, and people's grade or null.",
    )
    job = models.OneToOneField(Job, models.PROTECT, null=True, related_name="+")
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"estimate {self.pk} of {self.machine}"

    def get_absolute_url(self) -> str:
        return address_of("estimates:estimates", self.track.slug)

    @property
    def tables(self) -> Sequence[dict[str, Any]]:
        tables: Sequence[dict[str, Any]] = self.result.get("tables", [])
        return tables
