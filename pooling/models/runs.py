"""Runs."""

from typing import Any, ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import User
from assay.formats.models import families_in
from assay.protocols.run_answers import answers_in_words
from assay.protocols.schema import Phase
from participation.models.teams import Team
from tracks.models import Track
from web.links import address_of
from web.models import JsonField
from web.names import NameField


class Run(models.Model):
    """A submitted run: the original bytes, and the columnar file that pooling and scoring read.

    A disqualified run keeps its tag and its place in the quota, so that the disqualification can be reversed.
    """

    class Status(models.TextChoices):
        SUBMITTED = "submitted", "submitted"
        WITHDRAWN = "withdrawn", "withdrawn"
        DISQUALIFIED = "disqualified", "disqualified"

    track = models.ForeignKey(Track, models.PROTECT, related_name="runs")
    team = models.ForeignKey(Team, models.PROTECT, related_name="runs")
    tag = models.CharField(
        max_length=100, help_text="The run's name, unique among the submitted runs of the track."
    )
    kind = models.CharField(max_length=40, help_text="A kind of run of the protocol.")
    pooled_as = models.CharField(
        max_length=40,
        blank=True,
        help_text="The kind that it is pooled as, where the protocol pools its kind as another. Empty: as the "
        "protocol states.",
    )
    is_manual = models.BooleanField("manual", default=False)
    uses = models.CharField(
        max_length=40, blank=True, help_text="What it uses, in a word of the protocol. Empty: not stated."
    )
    description = models.TextField(blank=True)
    models_used = models.TextField(
        "models",
        blank=True,
        db_default="",
        help_text="The models that it used, one per line: name; family; amounts.",
    )
    answers = JsonField(
        default=dict, blank=True, help_text="The answers to the questions of the protocol about runs, by key."
    )
    status = models.CharField("state", max_length=12, choices=Status, default=Status.SUBMITTED)
    priority = models.PositiveIntegerField(
        default=0,
        help_text="The place among the team's runs, lowest first; a pool with a limit per team takes the first runs.",
    )
    file_name = NameField(max_length=255)
    original = models.FileField(upload_to="runs/original/", max_length=255)
    columns = models.FileField(upload_to="runs/columns/", max_length=255)
    sha256 = models.CharField(max_length=64, help_text="Of the original bytes as uploaded.")
    n_bytes = models.PositiveBigIntegerField(default=0, help_text="Of both files in the storage.")
    n_lines = models.PositiveIntegerField("lines")
    n_topics = models.PositiveIntegerField("topics")
    report = JsonField(
        default=dict, help_text="The report of the check: warnings with line numbers and counts."
    )
    is_late = models.BooleanField(
        "late", default=False, help_text="Submitted in the grace period after the deadline."
    )
    submitted_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    submitted_at = models.DateTimeField(
        default=timezone.now, editable=False, help_text="When the file arrived; it was checked afterwards."
    )
    withdrawn_by = models.ForeignKey(User, models.PROTECT, null=True, blank=True, related_name="+")
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["team__name", "tag", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["track", "tag"],
                condition=Q(status__in=["submitted", "disqualified"]),
                name="run_tag_unique",
            ),
            models.UniqueConstraint(
                fields=["team", "sha256"],
                condition=Q(status__in=["submitted", "disqualified"]),
                name="run_bytes_unique",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["submitted", "disqualified"], withdrawn_at__isnull=True)
                | Q(status="withdrawn", withdrawn_at__isnull=False),
                name="run_withdrawn_when",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.team}-{self.tag}"

    def get_absolute_url(self) -> str:
        return address_of("pooling:run", self.pk)

    @property
    def kind_name(self) -> str:
        return self.track.protocol.parsed.runs.name_of(self.kind)

    @property
    def phase(self) -> Phase:
        """The phase of its kind; one without a key if the protocol has none for it."""
        return self.track.protocol.parsed.runs.phase_of(self.kind)

    @property
    def mean_depth(self) -> float:
        """The mean number of its lines over its topics."""
        return self.n_lines / max(self.n_topics, 1)

    @property
    def answers_in_words(self) -> list[tuple[str, str]]:
        """Each question of the protocol about runs with the answer, as pages show them."""
        return answers_in_words(self.track.protocol.parsed.runs, self.answers)

    @property
    def families(self) -> frozenset[str]:
        """The families of the models that it used."""
        return families_in(self.models_used)

    def is_of_family(self, family: str) -> bool:
        """Return whether it used a model of a family; an empty one has no models."""
        return bool(family) and family.casefold() in self.families

    @property
    def stated_use(self) -> str:
        """The word of the protocol for what it uses; empty if the protocol does not ask for it."""
        return self.track.protocol.parsed.runs.stated_use(self.uses)

    @property
    def use_name(self) -> str:
        """The name of what it uses, as on pages; empty if the protocol does not ask for it."""
        return self.track.protocol.parsed.runs.uses.get(self.uses, "")

    @property
    def reference(self) -> dict[str, Any]:
        """The run as stored results name it, even if it is withdrawn later."""
        return {"run": self.pk, "team": self.team.name, "tag": self.tag, "sha256": self.sha256}

    @property
    def is_submitted(self) -> bool:
        return self.status == self.Status.SUBMITTED


class RunChange(models.Model):
    """A change of a run after its submission. Rows are only added."""

    class Kind(models.TextChoices):
        DESCRIBED = "described", "description changed"
        ANSWERED = "answered", "answers changed"
        MODELS = "models", "models changed"
        DISQUALIFIED = "disqualified", "disqualified"
        REINSTATED = "reinstated", "disqualification reversed"
        WITHDRAWN = "withdrawn", "withdrawn at the request of its team"

    REASONED: ClassVar[dict[str, str]] = {
        Run.Status.DISQUALIFIED: Kind.DISQUALIFIED,
        Run.Status.WITHDRAWN: Kind.WITHDRAWN,
    }

    run = models.ForeignKey(Run, models.PROTECT, related_name="changes")
    kind = models.CharField(max_length=12, choices=Kind)
    text = models.TextField(blank=True, help_text="The reason, or the description until this change.")
    by = models.ForeignKey(User, models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.run_id} {self.kind}"
