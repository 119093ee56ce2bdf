"""Versions of qrels, and their entries."""

from typing import Any

from django.db import models

from accounts.models import User
from assay.formats.runs.rows import MAX_TOPIC
from pooling.models import Pool
from tracks.models import Machine, StoredProtocol, Track
from web.links import address_of
from web.models import JsonField
from web.names import NameField


class Qrels(models.Model):
    """One version of a track's qrels. Its entries never change: a change makes a new version."""

    class Source(models.TextChoices):
        FROZEN = "frozen", "frozen from judgments"
        IMPORTED = "imported", "imported file"

    track = models.ForeignKey(Track, models.PROTECT, related_name="qrels")
    version = models.PositiveIntegerField()
    name = NameField(max_length=100, blank=True)
    source = models.CharField(max_length=10, choices=Source)
    pool = models.ForeignKey(Pool, models.PROTECT, null=True, blank=True, related_name="qrels")
    protocol = models.ForeignKey(StoredProtocol, models.PROTECT, related_name="+")
    protocol_digest = models.CharField(max_length=64)
    sha256 = models.CharField(max_length=64, help_text="SHA-256 of the exported TSV.")
    n_topics = models.PositiveIntegerField("topics")
    n_judged = models.PositiveIntegerField("judged units")
    machine = models.ForeignKey(
        Machine,
        models.PROTECT,
        null=True,
        related_name="qrels",
        help_text="The machine whose judgments these are; empty for those of people.",
    )
    machine_name = models.CharField(
        max_length=130, blank=True, help_text="Name and version of that machine, which never change."
    )
    report = JsonField(default=dict, help_text="The inputs, and what was left out and why.")
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(
        null=True, editable=False, help_text="Since then, lists do not show the version."
    )

    supersedes = models.OneToOneField(
        "self",
        models.PROTECT,
        null=True,
        editable=False,
        related_name="superseded_by",
        help_text="The earlier version that this one corrects.",
    )
    supersedes_reason = models.TextField(blank=True, default="", db_default="", editable=False)
    trains = models.ManyToManyField(
        Track,
        related_name="training_qrels",
        editable=False,
        help_text="Tracks whose assessors see examples of these grades, such as that of the next year.",
    )

    class Meta:
        ordering = ["-version"]
        verbose_name_plural = "qrels"
        constraints = [models.UniqueConstraint(fields=["track", "version"], name="qrels_version_unique")]

    def __str__(self) -> str:
        return f"version {self.version}" + (f" by machine {self.machine_name}" if self.machine_name else "")

    def get_absolute_url(self) -> str:
        return address_of("scoring:qrels", self.pk)

    @property
    def judge_family(self) -> str:
        """The family of the machine that judged; empty for people."""
        return self.machine.family if self.machine else ""

    @property
    def agreement(self) -> dict[str, Any] | None:
        """The agreement of the people whose judgments were frozen, when they were; None for other versions."""
        agreement: dict[str, Any] | None = self.report.get("agreement")
        return agreement

    @property
    def set_key(self) -> str:
        """The key of its set in the protocol; empty for the qrels of the grades."""
        return str(self.report.get("set", ""))


class QrelsEntry(models.Model):
    """One line of qrels. `topic` is a code, because imported qrels may have topics that the track does not have."""

    id = models.BigAutoField(primary_key=True)
    qrels = models.ForeignKey(Qrels, models.PROTECT, related_name="entries")
    topic = models.CharField(max_length=MAX_TOPIC, db_collation="C")
    docno = models.TextField(db_collation="C")
    grade = models.SmallIntegerField()
    parts = models.TextField(
        default="", blank=True, help_text="Subtopics, stratum, probability or preferences, as in the library."
    )

    class Meta:
        verbose_name_plural = "qrels entries"
        constraints = [models.UniqueConstraint(fields=["qrels", "topic", "docno"], name="qrels_entry_unique")]

    def __str__(self) -> str:
        return f"{self.topic} {self.docno} {self.grade}"
