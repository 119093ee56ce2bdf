"""Judgments."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import User
from assay.formats.judgments.rows import ASSAY
from assessment.models.batches import Batch
from assessment.models.imports import JudgmentImport
from assessment.models.tasks import Task
from pooling.models import Pool
from tracks.models import GuidelinesVersion, Topic, Track
from web.models import JsonField


class Judgment(models.Model):
    """An assessor's choice for a document of a topic. Appended, never changed: a revision is a new judgment.

    The key is topic and docno, so nothing depends on the pool's order. `grade` is empty for a non-answer. One
    of the judgments of a document in one seat is current; only current judgments count. The database refuses to change
    or delete a judgment.
    """

    id = models.BigAutoField(primary_key=True)
    task = models.ForeignKey(Task, models.PROTECT, related_name="judgments")
    batch = models.ForeignKey(Batch, models.PROTECT, db_index=False, related_name="judgments")
    track = models.ForeignKey(Track, models.PROTECT, db_index=False, related_name="judgments")
    topic = models.ForeignKey(Topic, models.PROTECT, related_name="judgments")
    docno = models.TextField(db_collation="C")
    assessor = models.ForeignKey(User, models.PROTECT, related_name="judgments")
    left = models.TextField(
        db_collation="C",
        blank=True,
        default="",
        db_default="",
        help_text="Of a pair: the document on the left.",
    )
    choice = models.CharField(max_length=50, help_text="Key of a grade or a non-answer of the protocol.")
    grade = models.SmallIntegerField(null=True)
    comment = models.TextField(blank=True)
    answers = JsonField(
        default=dict, help_text="The answers to the protocol's questions, by the key of the question."
    )
    guidelines = models.ForeignKey(
        GuidelinesVersion,
        models.PROTECT,
        null=True,
        db_index=False,
        related_name="judgments",
        help_text="The version of the guidelines that was in force; empty if there was none.",
    )
    order = models.CharField(max_length=20, choices=Pool.Order, help_text="The order of its task.")
    request_id = models.UUIDField(
        help_text="Made by the page: the same submission, sent twice, is stored once."
    )
    replaces = models.OneToOneField("self", models.PROTECT, null=True, related_name="replaced_by")
    is_current = models.BooleanField(default=True)
    is_check = models.BooleanField(
        "hidden check", default=False, help_text="An answer to a hidden check: it is never current."
    )
    seconds = models.PositiveIntegerField(null=True, help_text="From the task's page to its submission.")
    source = models.CharField(
        max_length=20, default=ASSAY, help_text="The tool in which it was judged: assay, turkle, …"
    )
    from_import = models.ForeignKey(
        JudgmentImport,
        models.PROTECT,
        null=True,
        db_index=False,
        related_name="judgments",
        help_text="The import that brought it here.",
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["assessor", "batch", "id"], name="judgment_own"),
            models.Index(
                fields=["batch", "topic", "assessor", "is_current", "task"], name="judgment_progress"
            ),
            models.Index(fields=["track", "created_at"], name="judgment_newest"),
            models.Index(fields=["topic", "docno"], condition=Q(is_current=True), name="judgment_unit"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["request_id"], name="judgment_request_unique"),
            models.UniqueConstraint(
                fields=["batch", "topic", "docno", "assessor"],
                condition=Q(is_current=True),
                name="judgment_current_unique",
            ),
            models.CheckConstraint(
                condition=Q(is_check=False) | Q(is_current=False), name="judgment_check_never_current"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.topic.code} {self.docno}: {self.choice}"

    @property
    def is_uncounted(self) -> bool:
        """True if it does not count because another assessor had taken over the topic; a check looks like it counts."""
        return not self.is_current and not self.is_check
