"""Teams."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from accounts.models import User
from tracks.models import Track
from web.links import address_of
from web.models import JsonField
from web.names import NameField


class Team(models.Model):
    """A group that submits runs to a track. Names are unique in the track, ignoring case."""

    track = models.ForeignKey(Track, models.PROTECT, related_name="teams")
    name = NameField(max_length=100)
    organization = NameField(max_length=200, blank=True, help_text="Such as a university or a company.")
    members = models.ManyToManyField(User, through="Membership", blank=True, related_name="teams")
    max_megabytes = models.PositiveIntegerField(
        "disk limit",
        null=True,
        blank=True,
        help_text="In megabytes, for all runs of the team, also withdrawn ones. Empty: the limit of the site.",
    )
    documents = JsonField(
        default=dict,
        editable=False,
        help_text="The documents that the team owes: word of the protocol -> text.",
    )
    reminded_for = models.DateTimeField(
        null=True, editable=False, help_text="The latest closing time of which the team was reminded."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(Lower("name"), "track", name="team_name_unique")]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return address_of("participation:team", self.pk)


class Membership(models.Model):
    """A member of a team. Who leaves gets an `EndedMembership` instead."""

    team = models.ForeignKey(Team, models.PROTECT, related_name="memberships")
    user = models.ForeignKey(User, models.PROTECT, related_name="memberships")
    may_submit = models.BooleanField(default=True, help_text="May submit and withdraw runs.")
    is_contact = models.BooleanField(
        default=False, help_text="Manages the team; organizers write to this person."
    )
    joined_at = models.DateTimeField(null=True, auto_now_add=True)

    class Meta:
        db_table = "pooling_team_members"
        unique_together = [("team", "user")]
        constraints = [
            models.UniqueConstraint(fields=["team"], condition=Q(is_contact=True), name="team_contact_unique")
        ]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.team_id}"


class EndedMembership(models.Model):
    """A time for which a user was a member of a team. What they submitted stays under their name."""

    team = models.ForeignKey(Team, models.PROTECT, related_name="ended_memberships")
    user = models.ForeignKey(User, models.PROTECT, related_name="ended_memberships")
    joined_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(auto_now_add=True)
    ended_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering = ["-ended_at", "-id"]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.team_id} until {self.ended_at:%Y-%m-%d}"


class TeamDocument(models.Model):
    """A PDF of a team, such as its working notes, a poster or slides."""

    team = models.ForeignKey(Team, models.PROTECT, related_name="files")
    word = models.CharField(
        max_length=100,
        blank=True,
        help_text="Of the document of the protocol that it is; empty for another one.",
    )
    title = NameField(max_length=200)
    is_public = models.BooleanField(default=False, help_text="Everyone gets it once a leaderboard is public.")
    name = NameField(max_length=200)
    file = models.FileField(upload_to="documents/", max_length=255)
    size = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    uploaded_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    uploaded_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["team", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["team", "word"], condition=~Q(word=""), name="team_document_word_unique"
            )
        ]

    def __str__(self) -> str:
        return self.title
