"""The blinded runs of a track."""

from django.db import models
from django.db.models import Q

from accounts.models import User
from assay_extensions.blinding.package import GiveAway
from assay_extensions.blinding.pseudonyms import BlindMap
from jobs.models import Job
from tracks.models import Track
from web.links import address_of
from web.models import JsonField


class Blinding(models.Model):
    """The pseudonyms of the teams and runs of a track, what was found in texts, and the latest package."""

    track = models.OneToOneField(Track, models.PROTECT, related_name="blinding")
    map = JsonField(help_text="The key and the names, as in the map of `assay blind`.")
    words = models.TextField(
        blank=True,
        help_text="One per line, such as names of systems and projects. Names of teams, their members and their "
        "organizations are looked for anyway.",
    )
    first = models.PositiveSmallIntegerField(
        "runs of each team",
        null=True,
        blank=True,
        help_text="Only the first ones, in the order of the team. Empty: all.",
    )
    decisions = JsonField(default=dict, help_text="keep or replace, by pseudonym of the run and term.")
    terms = JsonField(default=list, help_text="Terms in the texts of runs, as the last job found them.")
    n_runs = models.PositiveIntegerField(default=0, help_text="In the package.")
    file = models.FileField(upload_to="blinding/", max_length=255, blank=True)
    size = models.BigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    job = models.ForeignKey(Job, models.PROTECT, null=True, related_name="+")
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(first__isnull=True) | Q(first__gte=1), name="blinding_first")
        ]

    def __str__(self) -> str:
        return f"{self.track.slug}-blinded.zip"

    def get_absolute_url(self) -> str:
        return address_of("blinding:blinding", self.track.slug)

    @property
    def blind(self) -> BlindMap:
        return BlindMap(**self.map)

    @property
    def give_aways(self) -> list[GiveAway]:
        """The terms, with the decisions that there are now."""
        rows = (GiveAway(run, term, n, example, "") for run, term, n, example in self.terms)
        return [row._replace(decision=self.decisions.get(row.run, {}).get(row.term, "")) for row in rows]

    @property
    def n_undecided(self) -> int:
        return sum(not row.decision for row in self.give_aways)
