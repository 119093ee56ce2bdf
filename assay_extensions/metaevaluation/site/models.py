"""Judges as participants: what a track accepts, the judgments that teams submit, and boards of judges."""

from datetime import datetime
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from accounts.models import User
from assay.formats.runs.rows import MAX_TOPIC
from assay_extensions.metaevaluation.comparison import MISSING
from jobs.models import Job
from participation.models import Team
from scoring.models import Leaderboard
from tracks.models import Track
from web import times
from web.links import address_of
from web.models import JsonField
from web.names import NameField


class JudgeCall(models.Model):
    """A track accepts the judgments of programs until a time."""

    track = models.OneToOneField(Track, models.CASCADE, related_name="judge_call")
    closes_at = models.DateTimeField()
    zone = models.CharField(max_length=64, default="UTC")
    max_per_team = models.PositiveSmallIntegerField(
        "judges per team", default=5, help_text="The most judges that a team may have at a time."
    )
    topics = ArrayField(
        models.CharField(max_length=MAX_TOPIC),
        default=list,
        blank=True,
        help_text="The topics that judges judge, all of them and no others. Empty: all topics of the track.",
    )
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"judges of {self.track}"

    def is_open(self, at: datetime) -> bool:
        return at < self.closes_at

    @property
    def is_open_now(self) -> bool:
        return self.is_open(times.now())


class JudgeRun(models.Model):
    """The judgments of a program, as a team submits them: a file, or a ZIP file of several."""

    class Status(models.TextChoices):
        SUBMITTED = "submitted", "submitted"
        WITHDRAWN = "withdrawn", "withdrawn"

    track = models.ForeignKey(Track, models.PROTECT, related_name="judge_runs")
    team = models.ForeignKey(Team, models.PROTECT, related_name="judge_runs")
    tag = models.CharField(max_length=100, help_text="The name of the judge.")
    description = models.TextField(blank=True)
    status = models.CharField("state", max_length=12, choices=Status, default=Status.SUBMITTED)
    file_name = NameField(max_length=255)
    file = models.FileField(upload_to="judges/", max_length=255)
    sha256 = models.CharField(max_length=64)
    n_bytes = models.PositiveBigIntegerField()
    kind = models.CharField(
        max_length=10, blank=True, help_text="What the file contains, if its name does not say it."
    )
    form = models.CharField(
        max_length=12,
        blank=True,
        db_default="",
        default="",
        help_text="Of a table of scores, if it is not detected.",
    )
    parts = JsonField(default=list, help_text="Its files: name, kind, number of rows and of topics.")
    submitted_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    submitted_at = models.DateTimeField()
    withdrawn_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["team__name", "tag", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["track", "tag"], condition=Q(status="submitted"), name="judge_run_tag_unique"
            ),
            models.CheckConstraint(
                condition=Q(status="submitted", withdrawn_at__isnull=True)
                | Q(status="withdrawn", withdrawn_at__isnull=False),
                name="judge_run_withdrawn_when",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.team}-{self.tag}"

    def get_absolute_url(self) -> str:
        return address_of("metaevaluation:judge", self.track.slug, self.pk)

    @property
    def is_submitted(self) -> bool:
        return self.status == self.Status.SUBMITTED


class JudgeBoard(models.Model):
    """The judges of a track compared with a leaderboard of people, hidden until released."""

    class Status(models.TextChoices):
        COMPARING = "comparing", "being compared"
        READY = "ready", "ready"
        FAILED = "failed", "failed"

    track = models.ForeignKey(Track, models.PROTECT, related_name="judge_boards")
    leaderboard = models.ForeignKey(
        Leaderboard, models.PROTECT, related_name="judge_boards", help_text="The truth, with its qrels."
    )
    measure = models.CharField(max_length=50, help_text="Of the leaderboard.")
    topics = ArrayField(
        models.CharField(max_length=MAX_TOPIC),
        default=list,
        blank=True,
        help_text="The topics that count, such as held-out ones. Empty: all topics of the leaderboard.",
    )
    missing = models.CharField(
        max_length=10,
        choices=[(word, word) for word in MISSING],
        default="refuse",
        help_text="What a run without scores of a judge does.",
    )
    seed = models.BigIntegerField(help_text="Seed of the intervals and of the significance tests.")
    status = models.CharField("state", max_length=10, choices=Status, default=Status.COMPARING)
    left_out = JsonField(default=list, help_text="Judges that could not be compared, and why.")
    release = models.CharField(max_length=20, choices=Leaderboard.Release, default=Leaderboard.Release.HIDDEN)
    released_at = models.DateTimeField(null=True)
    released_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    mailed_at = models.DateTimeField(
        null=True, help_text="When the teams with judges on it got e-mails about its first release."
    )
    job = models.OneToOneField(Job, models.PROTECT, null=True, related_name="judge_board")
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(release="hidden", released_at__isnull=True)
                | (Q(status="ready", released_at__isnull=False) & ~Q(release="hidden")),
                name="judge_board_released_when",
            )
        ]

    def __str__(self) -> str:
        return f"judges of {self.track} against qrels {self.leaderboard.qrels}"

    def get_absolute_url(self) -> str:
        return address_of("metaevaluation:board", self.track.slug, self.pk)


class JudgeResult(models.Model):
    """A judge on a board: one measure of its scores, the runs scored with its qrels, or its nuggets."""

    board = models.ForeignKey(JudgeBoard, models.PROTECT, related_name="results")
    judge_run = models.ForeignKey(JudgeRun, models.PROTECT, related_name="results")
    source = models.CharField(
        max_length=10,
        choices=[("qrels", "its qrels"), ("scores", "its scores"), ("nuggets", "its nuggets")],
    )
    measure = models.CharField(max_length=100, help_text="The measure of the judge.")
    comparison: Any = JsonField(
        null=True, help_text="How runs are ordered, as in the library; null without runs."
    )
    tables = JsonField(
        default=list, help_text="The tables of the agreement of grades, or of nuggets; none of scores."
    )

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["board", "judge_run", "source", "measure"], name="judge_result_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.judge_run} ({self.measure})"

    def get_absolute_url(self) -> str:
        return address_of("metaevaluation:result", self.board.track.slug, self.board_id, self.pk)
