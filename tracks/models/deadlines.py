"""Deadlines and milestones of tracks."""

from django.db import models
from django.db.models import F, Q

from tracks.models.tracks import Track
from web.names import NameField


class Deadline(models.Model):
    """The start and end of the time in which a track accepts runs of a kind; the kind "" means all kinds.

    Both times are instants; `zone` is the zone in which they were entered. A field that is empty in the row of a kind
    has the value of the row of all kinds. `tracks.deadline_acceptance.acceptances` applies these rules.
    """

    track = models.ForeignKey(Track, models.CASCADE, related_name="deadlines")
    kind = models.CharField(max_length=40, blank=True)
    opens_at = models.DateTimeField(null=True, blank=True)
    closes_at = models.DateTimeField(null=True, blank=True)
    grace_minutes = models.PositiveIntegerField(
        default=0, help_text="Runs are accepted for this long after the closing time, and marked as late."
    )
    zone = models.CharField(max_length=64, default="UTC")

    class Meta:
        ordering = ["kind"]
        constraints = [
            models.UniqueConstraint(fields=["track", "kind"], name="deadline_unique"),
            models.CheckConstraint(
                condition=Q(opens_at__isnull=True)
                | Q(closes_at__isnull=True)
                | Q(closes_at__gt=F("opens_at")),
                name="deadline_closes_after_it_opens",
            ),
        ]

    def __str__(self) -> str:
        return f"deadline of {self.kind or 'all'} runs of {self.track_id}"


class Milestone(models.Model):
    """A date that the organizers of a track announce, such as the release of topics. Nothing happens by itself."""

    track = models.ForeignKey(Track, models.CASCADE, related_name="milestones")
    title = NameField(max_length=200)
    starts_on = models.DateField()
    ends_on = models.DateField(null=True, blank=True, help_text="The last day; empty if there is one day.")

    class Meta:
        ordering = ["starts_on", "title"]
        constraints = [
            models.UniqueConstraint(fields=["track", "title"], name="milestone_unique"),
            models.CheckConstraint(
                condition=Q(ends_on__isnull=True) | Q(ends_on__gt=F("starts_on")),
                name="milestone_ends_after_it_starts",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def days(self) -> str:
        """The day, or the first and the last one, as they are entered."""
        return f"{self.starts_on} to {self.ends_on}" if self.ends_on else f"{self.starts_on}"
