"""Leaderboards, and runs scored later against their qrels."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from accounts.models import User
from assay.formats.models import families_in
from assay.statistics.intervals import METHODS, coverage
from assay.statistics.leaderboard import stored_method
from jobs.models import Job
from participation.models import Team
from scoring.models.qrels import Qrels
from tracks.models import Track
from web.links import address_of
from web.models import JsonField


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
    status = models.CharField("state", max_length=10, choices=Status, default=Status.SCORING)
    seed = models.BigIntegerField(
        default=0, help_text="Seed of the confidence intervals and significance tests."
    )
    statistics = JsonField(
        default=dict,
        help_text="What the statistics of all measures share, and the evaluations in the order of their arrays.",
    )
    release = models.CharField(max_length=20, choices=Release, default=Release.HIDDEN)
    released_at = models.DateTimeField(null=True, blank=True)
    released_by = models.ForeignKey(User, models.PROTECT, null=True, blank=True, related_name="+")
    mailed_at = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="When e-mails about the first release were requested.",
    )
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
        return f"{self.track} with qrels {self.qrels}"

    def get_absolute_url(self) -> str:
        return address_of("scoring:leaderboard", self.pk)

    @property
    def file_stem(self) -> str:
        """The beginning of the names of its files: those of a machine say so, as those of its qrels."""
        by_machine = ".machine" if self.qrels.machine_name else ""
        return f"{self.track.slug}-leaderboard-{self.pk}{by_machine}"

    @property
    def judge_family(self) -> str:
        """The family of the machine whose grades score the runs; empty for people."""
        return self.qrels.judge_family

    @property
    def has_shares(self) -> bool:
        """Return whether shares of judged documents are counted; runs of answers have none."""
        return not self.track.protocol.parsed.is_of_answers

    @property
    def interval_note(self) -> str:
        """The method of its intervals, and how often they contain the mean; empty without intervals."""
        if "level" not in self.statistics:
            return ""
        method = stored_method(self.statistics)
        return "; ".join(filter(None, (METHODS[method], coverage(self.statistics["n_topics"], method))))

    @property
    def relevant_from(self) -> int:
        """The lowest relevant grade: another one in the qrels of a single group of assessors."""
        return self.track.protocol.parsed.scoring.level_of(self.qrels.report)

    @property
    def scheduled(self) -> "ScheduledRelease | None":
        """Its release at a set time, if there is one."""
        return getattr(self, "schedule", None)


class MeasureStatistics(models.Model):
    """Confidence intervals and the randomized Tukey HSD test of one measure, for the runs of a leaderboard.

    The arrays are in the order of `evaluations` in the leaderboard's `statistics`. A page that does not show single
    pairs of runs must not load `pairs`: it grows with the square of their number.
    """

    leaderboard = models.ForeignKey(Leaderboard, models.PROTECT, related_name="by_measure")
    measure = models.CharField(max_length=50)
    low = ArrayField(models.FloatField(null=True), help_text="Empty where the interval is undefined.")
    high = ArrayField(models.FloatField(null=True))
    tier = ArrayField(models.TextField(), help_text="Runs that share a letter do not differ significantly.")
    means = ArrayField(models.FloatField(), help_text="Over the topics of the test; empty without a test.")
    critical = models.FloatField(null=True, help_text="Larger differences of means are significant at 0.05.")
    n_permutations = models.PositiveIntegerField(help_text="0 without a test.")
    pairs = models.BinaryField(
        null=True, help_text="p-values of all pairs, from packed_pairs of the library; empty without a test."
    )

    class Meta:
        verbose_name_plural = "measure statistics"
        constraints = [
            models.UniqueConstraint(fields=["leaderboard", "measure"], name="measure_statistics_unique")
        ]

    def __str__(self) -> str:
        return f"{self.measure} on {self.leaderboard_id}"


class ScheduledRelease(models.Model):
    """A leaderboard is released at an instant, which was entered in `zone`.

    The row is deleted when the leaderboard is released. `problem` says why that was refused at the time; then somebody
    has to decide.
    """

    leaderboard = models.OneToOneField(Leaderboard, models.CASCADE, related_name="schedule")
    level = models.CharField(
        max_length=20, choices=[choice for choice in Leaderboard.Release.choices if choice[0] != "hidden"]
    )
    release_at = models.DateTimeField()
    zone = models.CharField(max_length=64, default="UTC")
    reason = models.CharField(max_length=500, blank=True)
    problem = models.TextField(blank=True)
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"release of {self.leaderboard_id}"


class LaterRun(models.Model):
    """A run on the topics of a closed track by a team of another track, such as the next year's.

    It is in no pool and on no leaderboard: what it was scored against, and every value on it, stay as they were. The
    file is not kept.
    """

    leaderboard = models.ForeignKey(
        Leaderboard,
        models.PROTECT,
        related_name="later_runs",
        help_text="Its qrels and measures score the run.",
    )
    team = models.ForeignKey(Team, models.PROTECT, related_name="later_runs")
    tag = models.CharField(max_length=100)
    sha256 = models.CharField(max_length=64, help_text="Of the file as uploaded.")
    n_topics = models.PositiveIntegerField(help_text="Topics in the means.")
    n_missing = models.PositiveIntegerField(help_text="Topics of the qrels that are missing from the run.")
    values = JsonField(help_text="Topic, or `all` for the means, to measure to value.")
    models_used = models.TextField(
        "models",
        blank=True,
        db_default="",
        help_text="The models that it used, one per line, as of other runs.",
    )
    scored_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    scored_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["team__name", "tag"]
        constraints = [
            models.UniqueConstraint(fields=["leaderboard", "team", "tag"], name="later_run_unique")
        ]

    def __str__(self) -> str:
        return f"{self.team}-{self.tag}"

    @property
    def is_of_judge_family(self) -> bool:
        """Return whether it used a model of the family of the machine that judged."""
        family = self.leaderboard.judge_family
        return bool(family) and family.casefold() in families_in(self.models_used)
