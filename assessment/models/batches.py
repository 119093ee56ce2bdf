"""Batches of a pool's topics given to assessors, the tasks they take, and the judgments they make."""

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.urls import reverse

from corpus.models import Topic, Track, User
from pooling.models import Pool, PoolEntry


class Batch(models.Model):
    """A round of judging on one pool. Which assessor has which topic stands in its `TopicAssignment`s."""

    class Kind(models.TextChoices):
        TRAINING = "training", "training"
        MAIN = "main", "main"
        DUAL = "dual", "dual"
        ADJUDICATION = "adjudication", "adjudication"

    class Status(models.TextChoices):
        DRAFT = "draft", "draft"
        OPEN = "open", "open"
        CLOSED = "closed", "closed"

    pool = models.ForeignKey(Pool, models.PROTECT, related_name="batches")
    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=20, choices=Kind, default=Kind.MAIN)
    status = models.CharField(max_length=10, choices=Status, default=Status.DRAFT)
    minutes_allotted = models.PositiveIntegerField(
        default=120,
        validators=[MinValueValidator(1)],
        help_text="A task not submitted within this time returns to the queue; work submitted later is kept.",
    )
    closed_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "batches"
        constraints = [
            models.UniqueConstraint(fields=["pool", "name"], name="batch_name_unique"),
            models.CheckConstraint(condition=Q(minutes_allotted__gte=1), name="batch_minutes_positive"),
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("assessment:batch", args=[self.pk])


class TopicAssignment(models.Model):
    """A topic of a batch given to an assessor. Withdrawn rather than deleted: what was judged stays judged.

    `seat` numbers the times that a topic is judged in the batch. Who takes over a withdrawn topic takes its seat,
    and judges what is not judged from it yet. `cursor` is a hint where the next entry stands: nothing is lost if
    it is wrong, only time.
    """

    batch = models.ForeignKey(Batch, models.PROTECT, related_name="topic_assignments")
    topic = models.ForeignKey(Topic, models.PROTECT, related_name="topic_assignments")
    assessor = models.ForeignKey(User, models.PROTECT, related_name="topic_assignments")
    is_withdrawn = models.BooleanField("withdrawn", default=False)
    seat = models.PositiveSmallIntegerField(default=1, editable=False)
    cursor = models.PositiveIntegerField(default=0, editable=False)

    class Meta:
        ordering = ["batch", "topic"]
        constraints = [
            models.UniqueConstraint(fields=["batch", "topic", "assessor"], name="topic_assignment_unique"),
            models.UniqueConstraint(
                fields=["batch", "topic", "seat"], condition=Q(is_withdrawn=False), name="topic_seat_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.topic} to {self.assessor}"


class Assignment(models.Model):
    """One entry taken by one assessor: a task. At most one per batch, entry and assessor; expiry only reopens it.

    An assessor holds one open task of a batch at a time, in however many windows.
    """

    class Status(models.TextChoices):
        ACCEPTED = "accepted", "accepted"
        EXPIRED = "expired", "expired"
        SUBMITTED = "submitted", "submitted"

    id = models.BigAutoField(primary_key=True)
    batch = models.ForeignKey(Batch, models.PROTECT, related_name="assignments")
    entry = models.ForeignKey(PoolEntry, models.PROTECT, related_name="assignments")
    assessor = models.ForeignKey(User, models.PROTECT, related_name="assignments")
    seat = models.PositiveSmallIntegerField(default=1)
    order = models.CharField(
        max_length=20, choices=Pool.Order, help_text="The order of judging in force when the task was taken."
    )
    status = models.CharField(max_length=10, choices=Status, default=Status.ACCEPTED)
    accepted_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    submitted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["batch", "entry", "assessor"], name="assignment_unique"),
            models.CheckConstraint(
                condition=Q(status="submitted", submitted_at__isnull=False)
                | (~Q(status="submitted") & Q(submitted_at__isnull=True)),
                name="assignment_submitted_when",
            ),
            models.UniqueConstraint(
                fields=["batch", "assessor"], condition=Q(status="accepted"), name="assignment_one_open"
            ),
        ]
        indexes = [
            models.Index(fields=["expires_at"], condition=Q(status="accepted"), name="assignment_overdue"),
        ]

    def __str__(self) -> str:
        return f"{self.entry_id} by {self.assessor_id}"

    def get_absolute_url(self) -> str:
        return reverse("assessment:assignment", args=[self.pk])


class Judgment(models.Model):
    """What an assessor chose for a document of a topic. Appended, never changed: a revision names what it replaces.

    Keyed by topic and docno, so that nothing depends on the pool's order. `grade` is empty for a non-answer. Of what
    was judged from one seat, one judgment is current. The database refuses to change or delete a judgment.
    """

    id = models.BigAutoField(primary_key=True)
    assignment = models.ForeignKey(Assignment, models.PROTECT, related_name="judgments")
    batch = models.ForeignKey(Batch, models.PROTECT, related_name="judgments")
    track = models.ForeignKey(Track, models.PROTECT, related_name="judgments")
    topic = models.ForeignKey(Topic, models.PROTECT, related_name="judgments")
    docno = models.TextField(db_collation="C")
    assessor = models.ForeignKey(User, models.PROTECT, related_name="judgments")
    choice = models.CharField(max_length=50, help_text="Key of a grade or a non-answer of the protocol.")
    grade = models.SmallIntegerField(null=True)
    comment = models.TextField(blank=True)
    order = models.CharField(max_length=20, choices=Pool.Order, help_text="That of its task.")
    request_id = models.UUIDField(
        help_text="Made by the page: the same submission, sent twice, is stored once."
    )
    replaces = models.OneToOneField("self", models.PROTECT, null=True, related_name="replaced_by")
    is_current = models.BooleanField(default=True)
    seconds = models.PositiveIntegerField(null=True, help_text="From the task's page to its submission.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["assessor", "batch", "id"], name="judgment_own"),
            models.Index(fields=["topic", "docno"], condition=Q(is_current=True), name="judgment_unit"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["request_id"], name="judgment_request_unique"),
            models.UniqueConstraint(
                fields=["batch", "topic", "docno", "assessor"],
                condition=Q(is_current=True),
                name="judgment_current_unique",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.topic_id} {self.docno}: {self.choice}"
