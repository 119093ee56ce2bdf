"""Pools, their entries, and which runs contributed them."""

from django.db import models
from django.db.models import Q
from django.urls import reverse

from accounts.models import User
from corpus.models import Document
from jobs.models import Job
from pooling.models.runs import Run
from tracks.models import StoredProtocol, Topic, Track


class Pool(models.Model):
    """The units to judge, built by one job from the runs that stood at that moment, and rebuildable byte for byte."""

    class Status(models.TextChoices):
        BUILDING = "building", "being built"
        READY = "ready", "ready"
        FAILED = "failed", "failed"

    class Order(models.TextChoices):
        RANDOM = "random", "at random"
        BY_RUN_VOTES = "by-run-votes", "what most runs brought first"
        MOVE_TO_FRONT = "move-to-front", "move to front: runs that find relevant units go first"

    track = models.ForeignKey(Track, models.PROTECT, related_name="pools")
    name = models.CharField(max_length=100)
    protocol = models.ForeignKey(StoredProtocol, models.PROTECT, related_name="+")
    protocol_digest = models.CharField(max_length=64)
    seed = models.BigIntegerField()
    depth = models.JSONField(default=dict, help_text="By kind of run.")
    order = models.CharField(
        "order of judging", max_length=20, choices=Order, default=Order.RANDOM, help_text="Within a topic."
    )
    tops_up = models.ForeignKey(
        "self",
        models.PROTECT,
        null=True,
        blank=True,
        related_name="topped_up_by",
        help_text="An earlier pool: this one holds only what that one, and those that it tops up, do not hold.",
    )
    status = models.CharField(max_length=10, choices=Status, default=Status.BUILDING)
    sha256 = models.CharField(max_length=64, blank=True, help_text="Of the pool's file form.")
    statistics = models.JSONField(
        default=dict, help_text="Size by topic, overlap between runs, unique contributions."
    )
    job = models.OneToOneField(Job, models.PROTECT, null=True, related_name="pool")
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["track", "name"], name="pool_name_unique")]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("pooling:pool", args=[self.pk])


class PoolRun(models.Model):
    """A run that went into a pool, with the bytes it had and the depth to which it was taken."""

    pool = models.ForeignKey(Pool, models.PROTECT, related_name="pool_runs")
    run = models.ForeignKey(Run, models.PROTECT, related_name="pool_runs")
    sha256 = models.CharField(max_length=64)
    depth = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["pool", "run"], name="pool_run_unique")]

    def __str__(self) -> str:
        return f"{self.run} to depth {self.depth}"


class PoolEntry(models.Model):
    """One unit to judge. `position` is only an order of presentation: judgments are keyed by topic and docno.

    A unit with members (a visually distinct formula) is judged by its members, under their docnos.
    """

    id = models.BigAutoField(primary_key=True)
    pool = models.ForeignKey(Pool, models.PROTECT, related_name="entries")
    topic = models.ForeignKey(Topic, models.PROTECT, related_name="pool_entries")
    docno = models.TextField(db_collation="C")
    document = models.ForeignKey(Document, models.PROTECT, null=True, related_name="pool_entries")
    position = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pool", "topic", "docno"], name="entry_unit_unique"),
            models.UniqueConstraint(fields=["pool", "topic", "position"], name="entry_position_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.topic_id} {self.docno}"


class Contribution(models.Model):
    """Which run brought an entry, at which rank. Assessors never see it."""

    id = models.BigAutoField(primary_key=True)
    entry = models.ForeignKey(PoolEntry, models.PROTECT, related_name="contributions")
    run = models.ForeignKey(Run, models.PROTECT, related_name="contributions")
    rank = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["entry", "run"], name="contribution_unique")]

    def __str__(self) -> str:
        return f"{self.run_id} at {self.rank}"


class PoolMember(models.Model):
    """What belongs to a unit: an instance of a formula, or a near-duplicate of what is judged.

    `position` is its place among those shown to the assessor, from 1; 0: it belongs to the unit, but is not shown.
    `document` is the post that it stands in, where the collection is loaded; `post` and `thread` are docnos.
    """

    id = models.BigAutoField(primary_key=True)
    entry = models.ForeignKey(PoolEntry, models.PROTECT, related_name="members")
    docno = models.TextField(db_collation="C")
    document = models.ForeignKey(Document, models.PROTECT, null=True, related_name="pool_members")
    post = models.TextField(db_collation="C", blank=True)
    thread = models.TextField(db_collation="C", blank=True)
    position = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["entry", "position", "docno"]
        constraints = [
            models.UniqueConstraint(fields=["entry", "docno"], name="member_unique"),
            models.UniqueConstraint(
                fields=["entry", "position"], condition=Q(position__gt=0), name="member_position_unique"
            ),
        ]
        indexes = [models.Index(fields=["docno"], name="member_docno")]

    def __str__(self) -> str:
        return self.docno


class MemberContribution(models.Model):
    """Which run brought a member, at which rank. Assessors never see it."""

    id = models.BigAutoField(primary_key=True)
    member = models.ForeignKey(PoolMember, models.PROTECT, related_name="contributions")
    run = models.ForeignKey(Run, models.PROTECT, related_name="member_contributions")
    rank = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["member", "run"], name="member_contribution_unique")]

    def __str__(self) -> str:
        return f"{self.run_id} at {self.rank}"
