"""The interaction of teams with a person, after their runs: nominated topics, sessions and data."""

from django.db import models
from django.db.models import Q

from accounts.models import User
from participation.models.teams import Team
from tracks.models import Topic
from web.links import address_of
from web.names import NameField


class Interaction(models.Model):
    """The page that a team brings to its sessions, and the data that it uploads afterwards."""

    team = models.OneToOneField(Team, models.PROTECT, related_name="interaction")
    address = models.URLField(
        blank=True,
        max_length=500,
        help_text="The page of the team's system, which a session shows in a frame.",
    )
    data = models.FileField(upload_to="interaction/", max_length=255, blank=True)
    data_name = NameField(max_length=255, blank=True)
    data_sha256 = models.CharField(max_length=64, blank=True)
    data_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"interaction of {self.team}"


class Nomination(models.Model):
    """A topic that a team nominated, and its session.

    A session is held on the site by an assessor (`started_at`), or the team's log has its seconds (`logged_seconds`).
    """

    team = models.ForeignKey(Team, models.PROTECT, related_name="nominations")
    topic = models.ForeignKey(Topic, models.PROTECT, related_name="nominations")
    place = models.PositiveIntegerField(help_text="The team's preference, from 1.")
    assessor = models.ForeignKey(User, models.PROTECT, null=True, blank=True, related_name="sessions_to_hold")
    opens_at = models.DateTimeField(null=True, blank=True, help_text="The session starts from this time on.")
    closes_at = models.DateTimeField(null=True, blank=True, help_text="The session starts before this time.")
    practice_ends_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    logged_seconds = models.FloatField(null=True, blank=True)

    class Meta:
        ordering = ["team", "place"]
        constraints = [
            models.UniqueConstraint(fields=["team", "topic"], name="nomination_unique"),
            models.UniqueConstraint(fields=["team", "place"], name="nomination_place_unique"),
            models.UniqueConstraint(
                fields=["assessor"],
                condition=Q(started_at__isnull=False, ended_at__isnull=True),
                name="nomination_one_session_at_a_time",
            ),
            models.CheckConstraint(
                condition=Q(started_at__isnull=True) | Q(assessor__isnull=False, logged_seconds__isnull=True),
                name="nomination_session_or_log",
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True)
                | Q(started_at__isnull=False, ended_at__gte=models.F("started_at")),
                name="nomination_ends_after_start",
            ),
            models.CheckConstraint(
                condition=Q(opens_at__isnull=True)
                | Q(closes_at__isnull=True)
                | Q(closes_at__gt=models.F("opens_at")),
                name="nomination_closes_after_it_opens",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.team}: {self.topic.code}"

    def get_absolute_url(self) -> str:
        return address_of("participation:session", self.pk)
