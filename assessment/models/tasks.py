"""Tasks, and hidden checks: units with known grades, and repeats of an assessor's own units."""

from django.db import models
from django.db.models import Q

from accounts.models import User
from assessment.models.batches import Batch
from pooling.models import Pool, PoolEntry
from tracks.models import Topic, Track
from web.links import address_of
from web.models import JsonField


class Task(models.Model):
    """An entry that an assessor has taken. At most one task per batch, entry and assessor, and one hidden check.

    An assessor has one open task of a batch at a time, in all windows together. Expiry returns the entry to the queue;
    an entry that its assessor skips comes back after all others. A task that nobody holds, because it was returned
    before its time ran out or never opened, has no time: it expires when it was accepted.
    """

    class Status(models.TextChoices):
        ACCEPTED = "accepted", "accepted"
        EXPIRED = "expired", "expired"
        SKIPPED = "skipped", "skipped"
        SUBMITTED = "submitted", "submitted"

    UNFINISHED = (Status.ACCEPTED, Status.EXPIRED)

    id = models.BigAutoField(primary_key=True)
    batch = models.ForeignKey(Batch, models.PROTECT, related_name="tasks")
    entry = models.ForeignKey(PoolEntry, models.PROTECT, related_name="tasks")
    assessor = models.ForeignKey(User, models.PROTECT, related_name="tasks")
    seat = models.PositiveSmallIntegerField(default=1, help_text="0 for a hidden check.")
    is_check = models.BooleanField(
        "hidden check", default=False, help_text="Its judgments never count; see Check."
    )
    order = models.CharField(
        max_length=20, choices=Pool.Order, help_text="The order of judging in force when the task was taken."
    )
    status = models.CharField("state", max_length=10, choices=Status, default=Status.ACCEPTED)
    accepted_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    submitted_at = models.DateTimeField(null=True)
    skipped_at = models.DateTimeField(null=True, help_text="When its assessor skipped it last.")
    skip_reason = models.CharField(max_length=500, blank=True)
    return_reason = models.CharField(
        max_length=500,
        blank=True,
        default="",
        db_default="",
        help_text="Why an organizer returned the task after it was submitted.",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["batch", "entry", "assessor", "is_check"], name="task_unique"),
            models.CheckConstraint(
                condition=Q(is_check=True, seat=0) | Q(is_check=False, seat__gt=0),
                name="task_check_has_no_seat",
            ),
            models.CheckConstraint(
                condition=Q(status="submitted", submitted_at__isnull=False)
                | (~Q(status="submitted") & Q(submitted_at__isnull=True)),
                name="task_submitted_when",
            ),
            models.CheckConstraint(
                condition=~Q(status="skipped") | Q(skipped_at__isnull=False), name="task_skipped_when"
            ),
            models.UniqueConstraint(
                fields=["batch", "assessor"], condition=Q(status="accepted"), name="task_one_open"
            ),
        ]
        indexes = [
            models.Index(
                fields=["expires_at"], condition=Q(status__in=["accepted", "expired"]), name="task_unfinished"
            ),
            models.Index(
                fields=["batch", "skipped_at"], condition=Q(skipped_at__isnull=False), name="task_skipped"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.entry} by {self.assessor}"

    def get_absolute_url(self) -> str:
        return address_of("assessment:task", self.pk)


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
    answers = JsonField(default=dict, help_text="The answers to questions that are known too, by question.")
    source = models.CharField(max_length=10, choices=Source)
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["topic", "docno"]
        constraints = [models.UniqueConstraint(fields=["track", "topic", "docno"], name="gold_unit_unique")]


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
