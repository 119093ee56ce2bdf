"""The boards of phases, whose runs are scored as soon as they are submitted."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from accounts.models import User
from assay.protocols.schema import Phase
from pooling.models import Run
from scoring.models.leaderboards import Leaderboard
from scoring.models.qrels import Qrels
from tracks.models import Track
from web.links import address_of
from web.models import JsonField

# The releases after which the scores of runs after closing may be shown
WIDE_ENOUGH = {
    "everybody": (Leaderboard.Release.PUBLIC,),
    "teams": (Leaderboard.Release.PUBLIC, Leaderboard.Release.PARTICIPANTS),
    "team": (Leaderboard.Release.PUBLIC, Leaderboard.Release.PARTICIPANTS),
}


class PhaseBoard(models.Model):
    """The qrels that score the runs of a phase. Without a row, the runs of the phase wait."""

    track = models.ForeignKey(Track, models.PROTECT, related_name="phase_boards")
    phase = models.CharField(max_length=40, help_text="A phase of the protocol.")
    qrels = models.ForeignKey(Qrels, models.PROTECT, related_name="phase_boards")
    measures = ArrayField(models.CharField(max_length=50), help_text="In the order of the columns.")
    average = models.CharField(max_length=10, help_text="judged or common, as of leaderboards.")
    set_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    set_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["track", "phase"], name="phase_board_unique")]

    def __str__(self) -> str:
        return f"{self.rules.name} of {self.track}"

    def get_absolute_url(self) -> str:
        return address_of("scoring:phase", self.track.slug, self.phase)

    @property
    def rules(self) -> Phase:
        phases = self.track.protocol.parsed.runs.phases
        return next((phase for phase in phases if phase.key == self.phase), Phase(self.phase))


class PhaseScore(models.Model):
    """A run on the board of its phase; its values are replaced when the board gets other qrels."""

    class Status(models.TextChoices):
        SCORING = "scoring", "being scored"
        READY = "ready", "scored"
        FAILED = "failed", "not scored"

    board = models.ForeignKey(PhaseBoard, models.PROTECT, related_name="scores")
    run = models.OneToOneField(Run, models.PROTECT, related_name="phase_score")
    status = models.CharField("state", max_length=10, choices=Status, default=Status.SCORING)
    n_topics = models.PositiveIntegerField("topics", default=0, help_text="Topics in the means.")
    n_missing = models.PositiveIntegerField(
        "missing", default=0, help_text="Topics of the qrels that are missing from the run."
    )
    values = JsonField(default=dict, help_text="Topic, or `all` for the means, to measure to value.")
    scored_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(status="ready", scored_at__isnull=False)
                | (~models.Q(status="ready") & models.Q(scored_at__isnull=True)),
                name="phase_score_scored_when",
            )
        ]

    def __str__(self) -> str:
        return f"{self.run_id} on {self.board_id}"

    @property
    def is_of_judge_family(self) -> bool:
        """Return whether the run declares a model of the family of the machine that judged."""
        return self.run.is_of_family(self.board.qrels.judge_family)
