"""Pools, their entries and members, and the contributions of runs."""

from django.db import models
from django.db.models import Q

from accounts.models import User
from corpus.models import Document
from jobs.models import Job
from pooling.models.runs import Run
from tracks.models import StoredProtocol, Topic, Track
from web.links import address_of
from web.models import JsonField
from web.names import NameField


class Pool(models.Model):
    """The units to judge. One job builds a pool from the runs submitted at that moment; it can be rebuilt exactly."""

    class Status(models.TextChoices):
        BUILDING = "building", "being built"
        READY = "ready", "ready"
        FAILED = "failed", "failed"

    class Order(models.TextChoices):
        RANDOM = "random", "at random"
        BY_RUN_VOTES = "by-run-votes", "units of most runs first"
        MOVE_TO_FRONT = "move-to-front", "move to front: units of runs with relevant units first"
        BY_ANSWER = "by-answer", "generated answers one after the other, then cited documents"

    track = models.ForeignKey(Track, models.PROTECT, related_name="pools")
    name = NameField(max_length=100)
    protocol = models.ForeignKey(StoredProtocol, models.PROTECT, related_name="+")
    protocol_digest = models.CharField(max_length=64)
    seed = models.BigIntegerField()
    depth = JsonField(default=dict, help_text="By kind of run.")
    max_runs_per_team = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Each team's first runs of pooled kinds; empty: all. Baselines do not count.",
    )
    left_out = JsonField(
        default=list, help_text="The runs beyond the limit per team: run, team, tag and SHA-256 of each."
    )
    order = models.CharField(
        "order of judging", max_length=20, choices=Order, default=Order.RANDOM, help_text="Within a topic."
    )
    tops_up = models.ForeignKey(
        "self",
        models.PROTECT,
        null=True,
        blank=True,
        related_name="topped_up_by",
        help_text="An earlier pool. This pool contains only units that the earlier ones do not contain.",
    )
    votes = models.TextField(
        default="",
        db_default="",
        blank=True,
        help_text="Of pairs: the votes of earlier rounds that decided which pairs are in this one, a line each.",
    )
    status = models.CharField("state", max_length=10, choices=Status, default=Status.BUILDING)
    nuggets = JsonField(
        default=dict,
        help_text="By topic: the version of the frozen nuggets against which its answers are judged.",
    )
    sha256 = models.CharField(max_length=64, blank=True, help_text="Of the pool's TSV file.")
    statistics = JsonField(
        default=dict, help_text="Size by topic, overlap between runs, unique contributions."
    )
    recount = JsonField(
        default=dict,
        help_text="The statistics without the runs that were disqualified since, and these runs.",
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
        return address_of("pooling:pool", self.pk)

    @property
    def depths(self) -> list[tuple[str, int]]:
        """The depth of each kind of run, by its name on pages, in the order of the protocol."""
        rules = self.protocol.parsed.runs
        known = [kind for kind in rules.keys if kind in self.depth]
        others = [kind for kind in self.depth if kind not in known]
        return [(rules.name_of(kind), self.depth[kind]) for kind in (*known, *others)]


class PoolRun(models.Model):
    """A run from which a pool was built, with the SHA-256 of its file and the depth to which it was pooled."""

    pool = models.ForeignKey(Pool, models.PROTECT, related_name="pool_runs")
    run = models.ForeignKey(Run, models.PROTECT, related_name="pool_runs")
    sha256 = models.CharField(max_length=64)
    depth = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["pool", "run"], name="pool_run_unique")]

    def __str__(self) -> str:
        return f"{self.run} to depth {self.depth}"


class PooledAnswer(models.Model):
    """A generated answer of a pool. Equal texts are one answer, in however many runs they are."""

    id = models.BigAutoField(primary_key=True)
    pool = models.ForeignKey(Pool, models.PROTECT, related_name="answers")
    topic = models.ForeignKey(Topic, models.PROTECT, related_name="pooled_answers")
    digest = models.CharField(max_length=64)
    sentences = JsonField(help_text="Each with its text and the docnos that it cites.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pool", "topic", "digest"], name="pooled_answer_unique")
        ]

    def __str__(self) -> str:
        return f"{self.topic_id} {self.digest}"


class PoolEntry(models.Model):
    """A unit to judge, for one topic. `position` is only the order of judging: judgments refer to topic and docno.

    A unit with members (a visually distinct formula) is judged by its members, under their docnos. The document of a
    citation is the post that it is in. For a nugget or a citation in a generated answer, `answer` is one that has it.
    """

    id = models.BigAutoField(primary_key=True)
    pool = models.ForeignKey(Pool, models.PROTECT, related_name="entries")
    topic = models.ForeignKey(Topic, models.PROTECT, related_name="pool_entries")
    docno = models.TextField(db_collation="C")
    document = models.ForeignKey(Document, models.PROTECT, null=True, related_name="pool_entries")
    position = models.PositiveIntegerField()
    passage = models.TextField(
        blank=True,
        db_default="",
        help_text="Of a citation: its text in the first run that has it. In an answer: the nugget or sentence.",
    )
    answer = models.ForeignKey(
        PooledAnswer, models.PROTECT, null=True, related_name="entries", db_index=False
    )

    class Meta:
        verbose_name_plural = "pool entries"
        constraints = [
            models.UniqueConstraint(fields=["pool", "topic", "docno"], name="entry_unit_unique"),
            models.UniqueConstraint(fields=["pool", "topic", "position"], name="entry_position_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.topic.code} {self.docno}"


class Contribution(models.Model):
    """A run that contributed an entry, and the rank. Assessors never see it.

    A pool can have millions of these rows, so the database checks and indexes only the key: one transaction stores them
    with their entries, a job deletes them after their entries, and `PoolRun` keeps the runs. Decision: ADR 83.
    """

    pk = models.CompositePrimaryKey("entry_id", "run_id")
    entry = models.ForeignKey(
        PoolEntry, models.PROTECT, related_name="contributions", db_index=False, db_constraint=False
    )
    run = models.ForeignKey(
        Run, models.PROTECT, related_name="contributions", db_index=False, db_constraint=False
    )
    rank = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.run_id} at {self.rank}"


class PoolMember(models.Model):
    """A document in a unit: an instance of a formula, or a near-duplicate of the judged document.

    `position` is the order in which assessors see members, from 1; a member at 0 is not shown. `document` is the post
    that contains the member, if the collection is loaded; `post` and `thread` are docnos.
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
    """A run that contributed a member, and the rank. Assessors never see it. Its keys are as of `Contribution`."""

    pk = models.CompositePrimaryKey("member_id", "run_id")
    member = models.ForeignKey(
        PoolMember, models.PROTECT, related_name="contributions", db_index=False, db_constraint=False
    )
    run = models.ForeignKey(
        Run, models.PROTECT, related_name="member_contributions", db_index=False, db_constraint=False
    )
    rank = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.run_id} at {self.rank}"
