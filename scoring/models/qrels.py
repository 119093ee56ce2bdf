"""Qrels in versions, the evaluation of each run against one of them, and the leaderboards that are released."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.urls import reverse

from corpus.models import Job, StoredProtocol, Track, User
from pooling.models import Pool, Run


class Qrels(models.Model):
    """One frozen version of a track's relevance judgments. Never edited: a change is a new version."""

    class Source(models.TextChoices):
        FROZEN = "frozen", "frozen from judgments"
        IMPORTED = "imported", "imported file"

    track = models.ForeignKey(Track, models.PROTECT, related_name="qrels")
    version = models.PositiveIntegerField()
    name = models.CharField(max_length=100, blank=True)
    source = models.CharField(max_length=10, choices=Source)
    pool = models.ForeignKey(Pool, models.PROTECT, null=True, blank=True, related_name="qrels")
    protocol = models.ForeignKey(StoredProtocol, models.PROTECT, related_name="+")
    protocol_digest = models.CharField(max_length=64)
    sha256 = models.CharField(max_length=64, help_text="Of the exported TSV.")
    n_topics = models.PositiveIntegerField()
    n_judged = models.PositiveIntegerField()
    report = models.JSONField(default=dict, help_text="What was left out, and why; the inputs.")
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-version"]
        verbose_name_plural = "qrels"
        constraints = [models.UniqueConstraint(fields=["track", "version"], name="qrels_version_unique")]

    def __str__(self) -> str:
        return f"version {self.version}"

    def get_absolute_url(self) -> str:
        return reverse("scoring:qrels", args=[self.pk])


class QrelsEntry(models.Model):
    """One line of qrels. `topic` is the code: imported qrels may name topics that the track has not."""

    id = models.BigAutoField(primary_key=True)
    qrels = models.ForeignKey(Qrels, models.PROTECT, related_name="entries")
    topic = models.CharField(max_length=100, db_collation="C")
    docno = models.TextField(db_collation="C")
    grade = models.SmallIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["qrels", "topic", "docno"], name="qrels_entry_unique")]

    def __str__(self) -> str:
        return f"{self.topic} {self.docno} {self.grade}"


class Leaderboard(models.Model):
    """The scores of a track's runs against one version of the qrels, hidden until released."""

    class Release(models.TextChoices):
        HIDDEN = "hidden", "organizers only"
        PARTICIPANTS = "participants", "the track's teams"
        PUBLIC = "public", "everybody"

    class Status(models.TextChoices):
        SCORING = "scoring", "being scored"
        READY = "ready", "ready"
        FAILED = "failed", "failed"

    track = models.ForeignKey(Track, models.PROTECT, related_name="leaderboards")
    qrels = models.ForeignKey(Qrels, models.PROTECT, related_name="leaderboards")
    protocol_digest = models.CharField(max_length=64)
    measures = ArrayField(models.CharField(max_length=50), help_text="In the order of the columns.")
    average = models.CharField(
        max_length=10,
        choices=[("judged", "all topics of the qrels"), ("common", "topics of both the qrels and the run")],
    )
    status = models.CharField(max_length=10, choices=Status, default=Status.SCORING)
    seed = models.BigIntegerField(
        default=0, help_text="Of the lots that intervals and tests of significance draw."
    )
    statistics = models.JSONField(
        default=dict,
        help_text="By measure: confidence intervals, and the randomised Tukey HSD test of all pairs.",
    )
    release = models.CharField(max_length=20, choices=Release, default=Release.HIDDEN)
    released_at = models.DateTimeField(null=True, blank=True)
    released_by = models.ForeignKey(User, models.PROTECT, null=True, blank=True, related_name="+")
    job = models.OneToOneField(Job, models.PROTECT, null=True, related_name="leaderboard")
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["qrels"], condition=Q(status="scoring"), name="leaderboard_scoring_unique"
            ),
            models.CheckConstraint(
                condition=Q(release="hidden", released_at__isnull=True)
                | (Q(status="ready", released_at__isnull=False) & ~Q(release="hidden")),
                name="leaderboard_released_when",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.track} against {self.qrels}"

    def get_absolute_url(self) -> str:
        return reverse("scoring:leaderboard", args=[self.pk])


class Evaluation(models.Model):
    """One run scored for one leaderboard, with the bytes it had."""

    leaderboard = models.ForeignKey(Leaderboard, models.PROTECT, related_name="evaluations")
    run = models.ForeignKey(Run, models.PROTECT, related_name="evaluations")
    run_sha256 = models.CharField(max_length=64)
    n_topics = models.PositiveIntegerField(help_text="Topics averaged over.")
    n_missing = models.PositiveIntegerField(help_text="Of these, topics that the run has not.")
    judged_at_10 = models.FloatField(
        null=True, help_text="Mean share of the top 10 ranks that is judged; empty where it was not counted."
    )
    unjudged = models.FloatField(
        null=True, help_text="Share of all documents returned for the qrels' topics that is not judged."
    )
    curves = models.JSONField(
        default=dict, help_text="Means over topics: precision at cutoffs, and precision at levels of recall."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["leaderboard", "run"], name="evaluation_unique")]

    def __str__(self) -> str:
        return f"{self.run_id} on {self.leaderboard_id}"

    def get_absolute_url(self) -> str:
        return reverse("scoring:evaluation", args=[self.pk])


class Score(models.Model):
    """The value of a measure for one topic of an evaluation, or its mean where `topic` is `all`."""

    id = models.BigAutoField(primary_key=True)
    evaluation = models.ForeignKey(Evaluation, models.PROTECT, related_name="scores")
    topic = models.CharField(max_length=100, db_collation="C")
    measure = models.CharField(max_length=50)
    value = models.FloatField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["evaluation", "topic", "measure"], name="score_unique")
        ]

    def __str__(self) -> str:
        return f"{self.measure} {self.topic} {self.value:.4f}"


class Analysis(models.Model):
    """What a leaderboard's numbers rest on, found out by a job and kept with the seed."""

    class Kind(models.TextChoices):
        REUSABILITY = "reusability", "a team left out, and shallower pools"
        TOPICS = "topics", "fewer topics, and pairs told apart"
        BESIDE = "beside", "the same runs by other qrels"

    class Status(models.TextChoices):
        COMPUTING = "computing", "being computed"
        READY = "ready", "ready"
        FAILED = "failed", "failed"

    leaderboard = models.ForeignKey(Leaderboard, models.PROTECT, related_name="analyses")
    kind = models.CharField(max_length=20, choices=Kind)
    seed = models.BigIntegerField(help_text="Of the lots that it draws.")
    arguments = models.JSONField(default=dict, help_text="What it was asked besides, by name.")
    status = models.CharField(max_length=10, choices=Status, default=Status.COMPUTING)
    result = models.JSONField(default=dict, help_text="What was found, as plain values.")
    job = models.OneToOneField(Job, models.PROTECT, null=True, related_name="analysis")
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "analyses"
        constraints = [
            models.UniqueConstraint(
                fields=["leaderboard", "kind"],
                condition=Q(status="computing"),
                name="analysis_computing_unique",
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} of {self.leaderboard_id}"
