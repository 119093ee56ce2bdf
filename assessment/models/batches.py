"""Batches, the assignments of their topics, and notes about their units."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_noop

from accounts.models import User
from participation.models import Invitation
from pooling.models import Pool, PoolEntry
from tracks.models import Topic
from web.links import address_of
from web.names import NameField

MOST_CHECKS = 50  # percent
MOST_JUDGES = 50  # of a unit


class Batch(models.Model):
    """A round of judging on one pool. Its `TopicAssignment`s assign topics to assessors.

    It judges all entries of its topics, or if `is_selective`, only those with a `BatchEntry`. A machine batch is judged
    by machines only, all others by people only.
    """

    class Kind(models.TextChoices):
        TRAINING = "training", gettext_noop("training")
        MAIN = "main", gettext_noop("main")
        DUAL = "dual", gettext_noop("second judgments")
        ADJUDICATION = "adjudication", gettext_noop("adjudication")
        MACHINE = "machine", "machine"

    class Status(models.TextChoices):
        DRAFT = "draft", gettext_noop("draft")
        OPEN = "open", gettext_noop("open")
        CLOSED = "closed", gettext_noop("closed")

    class Discussion(models.TextChoices):
        HIDDEN = "hidden", "organizers only"
        NAMED = "named", "its assessors, with names"
        LETTERED = "lettered", "its assessors, as Assessor A, B, …"

    pool = models.ForeignKey(Pool, models.PROTECT, related_name="batches")
    name = NameField(max_length=100)
    kind = models.CharField(max_length=20, choices=Kind, default=Kind.MAIN)
    status = models.CharField("state", max_length=10, choices=Status, default=Status.DRAFT)
    minutes_allotted = models.PositiveIntegerField(
        default=120,
        validators=[MinValueValidator(1)],
        help_text="A task not submitted within this time returns to the queue; work submitted later is kept.",
    )
    judges = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_JUDGES)],
        help_text="Of a main batch. Empty: as many as the protocol asks for.",
    )
    is_shared = models.BooleanField(
        "open to join",
        default=False,
        help_text="Of a main batch: assessors of the track join it by themselves. Each gets the next unit that still "
        "needs a judge, so that several share every topic.",
    )
    is_selective = models.BooleanField(default=False, editable=False)
    is_blind = models.BooleanField(
        default=False, help_text="Of an adjudication: the assessor does not see the judgments that disagree."
    )
    discussion = models.CharField(
        max_length=10,
        choices=Discussion,
        default=Discussion.HIDDEN,
        help_text="Who sees the discussion of a training batch that is closed.",
    )
    gold_percent = models.PositiveSmallIntegerField(
        default=0,
        validators=[MaxValueValidator(MOST_CHECKS)],
        help_text="Hidden tasks with known grades, per 100 units of an assessor.",
    )
    repeat_percent = models.PositiveSmallIntegerField(
        default=0,
        validators=[MaxValueValidator(MOST_CHECKS)],
        help_text="Hidden repeats of an assessor's own units, per 100 units.",
    )
    repeat_after = models.PositiveIntegerField(
        default=20,
        validators=[MinValueValidator(1)],
        help_text="A unit is repeated after at least this many further judgments.",
    )
    has_checks = models.BooleanField(
        default=False, editable=False, help_text="Whether hidden checks were ever asked for."
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
            models.CheckConstraint(
                condition=Q(judges=None) | Q(kind="main", judges__gte=1, judges__lte=MOST_JUDGES),
                name="batch_judges_of_main",
            ),
            models.CheckConstraint(
                condition=Q(is_shared=False) | Q(kind="main"), name="batch_shared_of_main"
            ),
            models.CheckConstraint(
                condition=Q(
                    gold_percent__lte=MOST_CHECKS, repeat_percent__lte=MOST_CHECKS, repeat_after__gte=1
                ),
                name="batch_checks_in_range",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return address_of("assessment:batch", self.pk)

    @property
    def n_judges(self) -> int:
        """The number of people who judge each unit of a main batch."""
        return self.judges or self.pool.protocol.as_written.judging.judges


MAIN_AND_DUAL = (Batch.Kind.MAIN, Batch.Kind.DUAL)  # whose judgments are compared, and can become qrels


class BatchEntry(models.Model):
    """An entry that was selected for a batch, such as a unit on which assessors disagree."""

    id = models.BigAutoField(primary_key=True)
    batch = models.ForeignKey(Batch, models.PROTECT, related_name="selected")
    entry = models.ForeignKey(PoolEntry, models.PROTECT, related_name="selected_in")

    class Meta:
        verbose_name_plural = "batch entries"
        constraints = [models.UniqueConstraint(fields=["batch", "entry"], name="batch_entry_unique")]


class TopicAssignment(models.Model):
    """A topic of a batch assigned to an assessor. It is withdrawn, never deleted: judgments keep their assignment.

    If several assessors judge a topic in the batch, each has a `seat`, numbered from 1. An assessor who takes over a
    withdrawn topic takes its seat and judges its remaining entries. In a batch that is open to join, several have a
    seat at a time (`is_shared`), and each entry is judged once in it. `cursor` is a hint to the position of the next
    entry; a wrong one costs time only.
    """

    batch = models.ForeignKey(Batch, models.PROTECT, related_name="topic_assignments")
    topic = models.ForeignKey(Topic, models.PROTECT, related_name="topic_assignments")
    assessor = models.ForeignKey(User, models.PROTECT, related_name="topic_assignments")
    is_withdrawn = models.BooleanField("withdrawn", default=False)
    seat = models.PositiveSmallIntegerField(default=1, editable=False)
    is_shared = models.BooleanField(default=False, editable=False)
    cursor = models.PositiveIntegerField(default=0, editable=False)

    class Meta:
        ordering = ["batch", "topic"]
        constraints = [
            models.UniqueConstraint(fields=["batch", "topic", "assessor"], name="topic_assignment_unique"),
            models.UniqueConstraint(
                fields=["batch", "topic", "seat"],
                condition=Q(is_withdrawn=False, is_shared=False),
                name="topic_seat_unique",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.topic} to {self.assessor}"


class BatchLink(models.Model):
    """A link with which people without an account judge a batch that is open to join."""

    batch = models.ForeignKey(Batch, models.PROTECT, related_name="links")
    invitation = models.OneToOneField(Invitation, models.PROTECT, related_name="batch_link")
    asks_name = models.BooleanField(
        "ask for a name",
        default=False,
        help_text="Who comes gives a name or a code before they start. Organizers see it, exports do not have it.",
    )

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"link of {self.batch}"


class DiscussionNote(models.Model):
    """The outcome of discussing a document of a topic after a training batch: the agreed grade, and why."""

    id = models.BigAutoField(primary_key=True)
    batch = models.ForeignKey(Batch, models.PROTECT, related_name="notes")
    topic = models.ForeignKey(Topic, models.PROTECT, related_name="discussion_notes")
    docno = models.TextField(db_collation="C")
    grade = models.SmallIntegerField(null=True, help_text="The agreed grade; empty if there is none.")
    text = models.TextField(blank=True)
    written_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    written_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["topic", "docno"]
        constraints = [
            models.UniqueConstraint(fields=["batch", "topic", "docno"], name="discussion_note_unique")
        ]
