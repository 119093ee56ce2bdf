"""Hidden checks: units with known grades, and repeats of an assessor's own units."""

from django.db import models
from django.db.models import Q

from accounts.models import User
from assessment.models.batches import Batch
from assessment.models.tasks import Task
from pooling.models import PoolEntry
from tracks.models import Topic, Track


class GoldUnit(models.Model):
    """A document of a topic whose grade is known. Assessors never see which documents are gold."""

    class Source(models.TextChoices):
        TRAINING = "training", "agreed in training"
        IMPORTED = "imported", "imported file"

    id = models.BigAutoField(primary_key=True)
    track = models.ForeignKey(Track, models.PROTECT, related_name="gold_units")
    topic = models.ForeignKey(Topic, models.PROTECT, related_name="gold_units")
    docno = models.TextField(db_collation="C")
    grade = models.SmallIntegerField()
    source = models.CharField(max_length=10, choices=Source)
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["topic", "docno"]
        constraints = [models.UniqueConstraint(fields=["track", "topic", "docno"], name="gold_unit_unique")]

    def __str__(self) -> str:
        return f"{self.topic_id} {self.docno}: {self.grade}"


class Check(models.Model):
    """A hidden task planned for an assessor of a batch; `task` is set when they get it.

    A unit with a known grade is due after `after` submitted tasks of the assessor in the batch, a repeat after that
    many tasks since the unit was judged.
    """

    class Kind(models.TextChoices):
        GOLD = "gold", "known grade"
        REPEAT = "repeat", "repeat"

    id = models.BigAutoField(primary_key=True)
    batch = models.ForeignKey(Batch, models.PROTECT, related_name="checks")
    assessor = models.ForeignKey(User, models.PROTECT, related_name="checks")
    entry = models.ForeignKey(PoolEntry, models.PROTECT, related_name="checks")
    kind = models.CharField(max_length=10, choices=Kind)
    after = models.PositiveIntegerField()
    task = models.OneToOneField(Task, models.PROTECT, null=True, related_name="check_of")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["batch", "assessor", "entry"], name="check_unique")]
        indexes = [
            models.Index(fields=["batch", "assessor"], condition=Q(task__isnull=True), name="check_planned")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.entry_id} for {self.assessor_id}"
