"""Invitations to teams and roles, and requests to join a track."""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower

from accounts.models import Letter, User
from participation.models.teams import Team
from tracks.models import Track
from web.links import address_of
from web.names import NameField


class Invitation(models.Model):
    """A link that makes its users members of a team or assessors, lets the user of a new account in, or lets people
    without an account judge a batch.

    The link is not stored: its token follows from `nonce` and the secret key of the site. `digest` finds the row.
    """

    class Role(models.TextChoices):
        MEMBER = "member", "team member"
        ASSESSOR = "assessor", "assessor"
        ACCOUNT = "account", "first login"
        GUEST = "guest", "work by a link"

    track = models.ForeignKey(Track, models.PROTECT, related_name="invitations")
    role = models.CharField(max_length=10, choices=Role)
    team = models.ForeignKey(Team, models.PROTECT, null=True, related_name="invitations")
    may_submit = models.BooleanField(default=True)
    group = NameField(max_length=50, blank=True)
    user = models.ForeignKey(User, models.PROTECT, null=True, related_name="invitations")
    name = NameField(max_length=300, blank=True)
    email = models.EmailField(blank=True, help_text="Only an account with this address can accept it.")
    nonce = models.CharField(max_length=64)
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the token.")
    max_uses = models.PositiveIntegerField(default=1)
    n_uses = models.PositiveIntegerField(default=0)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    letter = models.ForeignKey(Letter, models.SET_NULL, null=True, related_name="+")

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(n_uses__lte=F("max_uses")), name="invitation_uses"),
            models.CheckConstraint(
                condition=Q(role="member", team__isnull=False, user__isnull=True)
                | Q(role__in=["assessor", "guest"], team__isnull=True, user__isnull=True)
                | Q(role="account", team__isnull=True, user__isnull=False),
                name="invitation_role",
            ),
        ]

    def __str__(self) -> str:
        return f"invitation {self.pk}"


class InvitationUse(models.Model):
    """A user has accepted an invitation.

    A guest has a link of their own to come back with, made from `nonce` and found by `digest` as that of an invitation.
    """

    invitation = models.ForeignKey(Invitation, models.PROTECT, related_name="uses")
    user = models.ForeignKey(User, models.PROTECT, related_name="+")
    used_at = models.DateTimeField(auto_now_add=True)
    nonce = models.CharField(max_length=64, blank=True, default="")
    digest = models.CharField(max_length=64, blank=True, default="", help_text="SHA-256 of a guest's token.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["invitation", "user"], name="invitation_use_unique"),
            models.UniqueConstraint(fields=["digest"], condition=~Q(digest=""), name="guest_digest_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} used {self.invitation_id}"


class JoinRequest(models.Model):
    """A person asks to take part in a track; an organizer accepts or refuses. `user` is empty for a visitor."""

    class State(models.TextChoices):
        OPEN = "open", "open"
        ACCEPTED = "accepted", "accepted"
        REFUSED = "refused", "refused"

    track = models.ForeignKey(Track, models.PROTECT, related_name="join_requests")
    user = models.ForeignKey(User, models.PROTECT, null=True, related_name="join_requests")
    name = NameField(max_length=300)
    email = models.EmailField()
    organization = NameField(max_length=200, blank=True)
    team_name = NameField("team", max_length=100)
    message = models.TextField(blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    reason = models.CharField(max_length=1000, blank=True, help_text="Why it was refused.")
    decided_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    decided_at = models.DateTimeField(null=True)
    invitation = models.ForeignKey(Invitation, models.PROTECT, null=True, related_name="requests")
    letter = models.ForeignKey(Letter, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                Lower("email"), "track", condition=Q(state="open"), name="open_request_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} for {self.team_name}"

    def get_absolute_url(self) -> str:
        return address_of("participation:people", self.track.slug)
