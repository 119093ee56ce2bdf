"""Runs evaluated on a leaderboard, and analyses of it."""

from django.db import models
from django.db.models import Q

from accounts.models import User
from assay.formats.runs.rows import MAX_TOPIC
from jobs.models import Job
from pooling.models import Run
from scoring.models.leaderboards import Leaderboard
from web.links import address_of
from web.models import JsonField

WELL_JUDGED = (
    0.8  # share of the top 10 ranks from which on unjudged documents hardly change a comparison of runs
)


class Evaluation(models.Model):
    """One run scored for one leaderboard, with the digest of its file."""

    leaderboard = models.ForeignKey(Leaderboard, models.PROTECT, related_name="evaluations")
    run = models.ForeignKey(Run, models.PROTECT, related_name="evaluations")
    run_sha256 = models.CharField(max_length=64)
    n_topics = models.PositiveIntegerField("topics", help_text="Topics in the mean.")
    n_missing = models.PositiveIntegerField(
        "missing", help_text="Topics of the qrels that are missing from the run."
    )
    judged_at_10 = models.FloatField(
        null=True, help_text="Mean share of the top 10 ranks that is judged; empty if it was not counted."
    )
    unjudged = models.FloatField(
        null=True, help_text="Share of all documents returned for the topics of the qrels that is not judged."
    )
    first_grades = JsonField(
        default=dict,
        help_text="Topics by the grade of their first document; -1 where it is not judged or missing.",
    )
    first_hits = JsonField(
        default=dict,
        db_default={},
        help_text="The first document with a grade of each topic, and the grade; empty if it was not stored.",
    )
    curves = JsonField(
        default=dict, help_text="Means over topics: precision at cutoffs and at levels of recall."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["leaderboard", "run"], name="evaluation_unique")]

    def __str__(self) -> str:
        return f"{self.run} on {self.leaderboard}"

    def get_absolute_url(self) -> str:
        return address_of("scoring:evaluation", self.pk)

    @property
    def is_of_judge_family(self) -> bool:
        """Return whether the run declares a model of the family of the machine that judged."""
        return self.run.is_of_family(self.leaderboard.judge_family)

    @property
    def is_thinly_judged(self) -> bool:
        """Return whether many of its first documents are not judged; known items are all that is to be judged."""
        is_known = self.leaderboard.track.protocol.parsed.pool.strategy == "known-item"
        return not is_known and self.judged_at_10 is not None and self.judged_at_10 < WELL_JUDGED

    @property
    def mismatch(self) -> str:
        """Return why all values are 0, if nothing of the run is in the qrels; else empty."""
        is_over_all = self.leaderboard.average == "judged"
        n_common = self.n_topics - self.n_missing if is_over_all else self.n_topics
        if n_common == 0:
            return "None of the run’s topics is in the qrels, so every value is 0."
        if self.unjudged == 1:
            return "None of the run’s documents is judged, so every value is 0. Check that both use the same ids."
        return ""


class Score(models.Model):
    """The value of a measure for one topic of an evaluation, or its mean if `topic` is `all`."""

    id = models.BigAutoField(primary_key=True)
    # the index of its key begins with the evaluation
    evaluation = models.ForeignKey(Evaluation, models.PROTECT, related_name="scores", db_index=False)
    topic = models.CharField(max_length=MAX_TOPIC, db_collation="C")
    measure = models.CharField(max_length=50)
    value = models.FloatField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["evaluation", "topic", "measure"], name="score_unique")
        ]

    def __str__(self) -> str:
        return f"{self.measure} {self.topic} {self.value:.4f}"


class Analysis(models.Model):
    """A job's analysis of how reliable the numbers of a leaderboard are, with its seed."""

    class Kind(models.TextChoices):
        REUSABILITY = "reusability", "one team left out, and shallower pools"
        TOPICS = "topics", "fewer topics, and significantly different pairs"
        COMPARE = "compare", "the same runs with other qrels"
        INSTANCES = "instances", "the same runs over instances and over distinct formulas"
        JUDGES = "judges", "the same runs with the grades of either judge"

    class Status(models.TextChoices):
        COMPUTING = "computing", "being computed"
        READY = "ready", "ready"
        FAILED = "failed", "failed"

    leaderboard = models.ForeignKey(Leaderboard, models.PROTECT, related_name="analyses")
    kind = models.CharField(max_length=20, choices=Kind)
    seed = models.BigIntegerField(help_text="Seed of the random draws.")
    arguments = JsonField(default=dict, help_text="Further arguments, by name.")
    status = models.CharField("state", max_length=10, choices=Status, default=Status.COMPUTING)
    result = JsonField(default=dict, help_text="The results, as plain values.")
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
        return f"{self.get_kind_display()} of {self.leaderboard}"
