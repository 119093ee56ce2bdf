"""Nuggets: the facts that a good answer to a topic states, and the frozen lists against which answers are judged."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_noop

from accounts.models import User
from tracks.models import Topic, Track
from web.models import JsonField


class Nugget(models.Model):
    """A fact of a topic. Its key is a digest of its text, so that a rewritten nugget is judged as a new one.

    A criterion of a rubric is a nugget with a weight: a vital one is mandatory, an okay one optional.

    A merge is a nugget of its own, with the keys of those before it, which name it in `replaced_by`.
    """

    class Importance(models.TextChoices):
        VITAL = "vital", gettext_noop("vital")
        OKAY = "okay", gettext_noop("okay")

    topic = models.ForeignKey(Topic, models.PROTECT, related_name="nuggets")
    key = models.CharField(max_length=64, help_text="Names it in units and files; a digest of the text.")
    text = models.CharField(max_length=1_000)
    importance = models.CharField(
        max_length=5, choices=Importance, blank=True, help_text="Empty: not decided."
    )
    sources = JsonField(default=list, help_text="The docnos of the segments that state it.")
    creator = models.CharField(max_length=150, help_text="A user name, or the program that wrote it.")
    question = JsonField(
        default=dict,
        help_text="Of a question: its answers, and whether one of them is enough (OR) or not (AND).",
    )
    merged = JsonField(default=list, help_text="The keys of the nuggets that it replaces.")
    weight = models.FloatField(
        null=True,
        help_text="Of a criterion; negative for what an answer must avoid. Empty: it is not a criterion.",
    )
    kind = models.CharField(
        max_length=40,
        default="",
        db_default="",
        help_text="Of a criterion: what it is about, such as references.",
    )
    made_from = models.CharField(
        max_length=1_000,
        default="",
        db_default="",
        help_text="Of a criterion: the text of the nugget that it was made from.",
    )
    more = JsonField(
        default=dict,
        db_default={},
        help_text="Keys of its file that Assay does not read, with their values.",
    )
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    replaced_by = models.ForeignKey("self", models.PROTECT, null=True, related_name="replaces")
    is_removed = models.BooleanField("removed", default=False)

    class Meta:
        ordering = ["topic", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["topic", "key"],
                condition=Q(is_removed=False, replaced_by__isnull=True),
                name="nugget_key_unique",
            )
        ]

    def __str__(self) -> str:
        return self.text

    @property
    def is_listed(self) -> bool:
        """Return whether it is in the list that people edit."""
        return not self.is_removed and self.replaced_by_id is None


class NuggetVersion(models.Model):
    """A frozen list of a topic's nuggets. The database refuses to change or delete it."""

    topic = models.ForeignKey(Topic, models.PROTECT, related_name="nugget_versions")
    version = models.PositiveIntegerField()
    nuggets = JsonField(help_text="The fields of each, and the text that assessors read.")
    sha256 = models.CharField(max_length=64, help_text="Of the nuggets as JSON.")
    frozen_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    frozen_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["topic", "-version"]
        constraints = [models.UniqueConstraint(fields=["topic", "version"], name="nugget_version_unique")]

    def __str__(self) -> str:
        return f"{self.topic}, version {self.version}"


class NuggetSources(models.Model):
    """The track whose relevant documents people read while they write the nuggets of a track."""

    track = models.OneToOneField(Track, models.PROTECT, related_name="nugget_sources")
    judged_in = models.ForeignKey(Track, models.PROTECT, related_name="+")
    from_grade = models.PositiveSmallIntegerField(default=1)

    class Meta:
        verbose_name_plural = "sources of nuggets"

    def __str__(self) -> str:
        return f"{self.judged_in}, from grade {self.from_grade}"
