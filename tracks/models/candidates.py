"""Candidates for the topics of a track, samples of them, and what two people decide on each."""

import hashlib

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext

from accounts.models import User
from tracks.models.tracks import Track
from web.links import address_of
from web.models import JsonField


class CandidateFile(models.Model):
    """The file that the candidates of a track come from. `sha256` is that of its text, decompressed."""

    track = models.OneToOneField(Track, models.PROTECT, related_name="candidate_file")
    name = models.TextField("file name")
    sha256 = models.CharField(max_length=64)
    n_candidates = models.PositiveIntegerField()
    file = models.FileField(
        max_length=255, blank=True, help_text="The upload; empty for a file of the import folder."
    )
    imported_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.name


class Candidate(models.Model):
    """A question that may become a topic. `title` and `body` are sanitized HTML, `text` is what searches look into."""

    track = models.ForeignKey(Track, models.PROTECT, related_name="candidates")
    docno = models.CharField(max_length=200, db_collation="C")
    date = models.DateTimeField(null=True)
    title = models.TextField()
    body = models.TextField()
    tags = ArrayField(models.TextField())
    score = models.IntegerField()
    answers = models.IntegerField()
    formulas = models.IntegerField()
    duplicates = ArrayField(models.TextField())
    related = ArrayField(models.TextField())
    reputation = models.IntegerField()
    length = models.IntegerField()
    text = models.TextField()
    n_duplicates = models.GeneratedField(
        expression=models.Func("duplicates", function="cardinality"),
        output_field=models.IntegerField(),
        db_persist=True,
    )
    n_related = models.GeneratedField(
        expression=models.Func("related", function="cardinality"),
        output_field=models.IntegerField(),
        db_persist=True,
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["track", "docno"], name="candidate_unique")]

    def __str__(self) -> str:
        return self.docno

    def get_absolute_url(self) -> str:
        return address_of("tracks:candidate", self.track.slug, self.docno)


class CandidateSample(models.Model):
    """Candidates that were drawn by quotas, and the two people who decide on each of them."""

    track = models.ForeignKey(Track, models.PROTECT, related_name="candidate_samples")
    number = models.PositiveIntegerField()
    content = models.TextField(help_text="The file of the sample, as the command assay writes it.")
    label_file = models.TextField(blank=True, help_text="The labels that its quotas were drawn by.")
    label_words = JsonField(
        default=list, help_text="The labels that people give: pairs of a name and its values, in their order."
    )
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["track", "number"], name="candidate_sample_unique")]

    def __str__(self) -> str:
        return f"sample {self.number}"

    def get_absolute_url(self) -> str:
        return address_of("tracks:candidate_sample", self.track.slug, self.number)

    @property
    def labels(self) -> dict[str, list[str]]:
        """The values that each label may have."""
        return dict(self.label_words)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content.encode()).hexdigest()


class Seat(models.IntegerChoices):
    """The author of a decision: one of the two people, or the one who settles a disagreement."""

    FIRST = 1, "first person"
    SECOND = 2, "second person"
    SETTLEMENT = 3, "settlement"


class CandidateChooser(models.Model):
    """One of the two people of a sample. A person who takes over a seat goes on where the one before stopped."""

    sample = models.ForeignKey(CandidateSample, models.CASCADE, related_name="choosers")
    user = models.ForeignKey(User, models.PROTECT, related_name="chooses")
    seat = models.PositiveSmallIntegerField(choices=Seat.choices[:2])

    class Meta:
        ordering = ["seat"]
        constraints = [
            models.UniqueConstraint(fields=["sample", "seat"], name="candidate_chooser_seat_unique"),
            models.UniqueConstraint(fields=["sample", "user"], name="candidate_chooser_unique"),
            models.CheckConstraint(
                condition=Q(seat__in=[Seat.FIRST, Seat.SECOND]), name="candidate_chooser_has_a_seat"
            ),
        ]


class SampledCandidate(models.Model):
    """A candidate of a sample, at its random position, with the number of its stratum."""

    sample = models.ForeignKey(CandidateSample, models.CASCADE, related_name="rows")
    candidate = models.ForeignKey(Candidate, models.CASCADE, related_name="sampled")
    position = models.PositiveIntegerField()
    stratum = models.PositiveIntegerField()

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["sample", "position"], name="sampled_position_unique"),
            models.UniqueConstraint(fields=["sample", "candidate"], name="sampled_candidate_unique"),
        ]


class CandidateDecision(models.Model):
    """A decision on a candidate, with labels. It never changes: a later or an undone one is not current.

    It counts in every sample that the candidate is in.
    """

    candidate = models.ForeignKey(Candidate, models.PROTECT, related_name="decisions")
    seat = models.PositiveSmallIntegerField(choices=Seat)
    by = models.ForeignKey(User, models.PROTECT, related_name="+")
    is_accepted = models.BooleanField()
    reason = models.TextField(blank=True)
    labels = JsonField(default=dict)
    is_second = models.BooleanField(
        default=False, help_text="The other person had decided already: from now on each sees both."
    )
    changed_after_seeing = models.BooleanField(
        default=False,
        help_text="The person had seen the other's decision, after an earlier one of their own.",
    )
    is_current = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["candidate", "seat"],
                condition=Q(is_current=True),
                name="candidate_decision_current_unique",
            ),
            models.UniqueConstraint(
                fields=["candidate", "by"],
                condition=Q(is_current=True) & ~Q(seat=Seat.SETTLEMENT),
                name="candidate_decision_by_two_people",
            ),
            models.CheckConstraint(condition=Q(seat__in=Seat.values), name="candidate_decision_has_a_seat"),
            models.CheckConstraint(
                condition=~Q(reason="") | (Q(is_accepted=True) & ~Q(seat=Seat.SETTLEMENT)),
                name="candidate_decision_has_a_reason",
            ),
        ]

    @property
    def choice(self) -> str:
        return "accepted" if self.is_accepted else "rejected"

    @property
    def details(self) -> str:
        """The labels and the reason, as they follow the choice in a sentence."""
        details = "".join(f", {value}" for value in self.labels.values())
        details += f": {self.reason}" if self.reason else ""
        return (
            f"{details} {gettext('(changed after seeing the other’s)')}"
            if self.changed_after_seeing
            else details
        )
