"""Invitations for programs: make, read, accept and revoke them."""

from typing import Any

from django.conf import settings
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of
from participation.invitations import selectors, services
from participation.invitations.services import MAX_DAYS, MAX_USES, USUAL_DAYS, Place, Terms
from participation.models import Invitation
from tracks.tracks.api import track_of
from web.api.filters import Filter
from web.api.permissions import LoggedIn, OfInvitations
from web.api.serializers import Address, Strict
from web.api.views import Endpoints, get, post
from web.models import Scope
from web.pages import site_of

ROLES = [Invitation.Role.MEMBER, Invitation.Role.ASSESSOR]


class InvitationSerializer(serializers.ModelSerializer[Invitation]):
    """A link to a team or a role of a track, or for the first login of an account."""

    url = Address("api:invitation", help_text="The address of this invitation in the API.")
    track = serializers.CharField(source="track.slug")
    role = serializers.CharField(
        help_text="member, assessor, account for a first login, or guest for work by a link."
    )
    team = serializers.IntegerField(source="team_id", allow_null=True)
    username = serializers.CharField(source="user.username", default="", help_text="Of a first login.")

    class Meta:
        model = Invitation
        fields = [
            "id", "url", "track", "role", "team", "may_submit", "group", "username", "email", "max_uses", "n_uses",
            "expires_at",
        ]  # fmt: skip


class InvitationLinkSerializer(InvitationSerializer):
    """An invitation with its link, which is a secret."""

    link = serializers.SerializerMethodField(
        help_text="Who opens it gets the place. Empty if the secret key of the site was replaced since."
    )

    class Meta(InvitationSerializer.Meta):
        fields = [*InvitationSerializer.Meta.fields, "link"]

    def get_link(self, invitation: Invitation) -> str:
        return selectors.link_of(invitation, site_of(self.context["request"]._request))


class NewInvitationSerializer(Strict):
    """A link to a team, or to the assessors of a track."""

    role = serializers.ChoiceField([(role.value, role.label) for role in ROLES])
    team = serializers.IntegerField(required=False, min_value=1, help_text="The id of a member's team.")
    may_submit = serializers.BooleanField(default=True, help_text="Whether a member may submit runs.")
    group = serializers.CharField(
        default="", allow_blank=True, help_text="Of an assessor, as the protocol names it."
    )
    email = serializers.EmailField(
        default="", allow_blank=True, help_text="The link is then for one account with this address."
    )
    max_uses = serializers.IntegerField(default=1, min_value=1, max_value=MAX_USES)
    days = serializers.IntegerField(default=USUAL_DAYS, min_value=1, max_value=MAX_DAYS)
    is_mailed = serializers.BooleanField(default=False, help_text="Send the link to the address.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check what depends on the role, and whether a letter can be sent.

        Raises:
            ValidationError: A field is missing, or would be ignored.
        """
        is_member = attrs["role"] == Invitation.Role.MEMBER
        if is_member != ("team" in attrs):
            raise serializers.ValidationError({"team": "Members need a team; assessors have none."})
        if is_member and attrs["group"]:
            raise serializers.ValidationError({"group": "Only assessors have a group."})
        if attrs["is_mailed"] and not (attrs["email"] and settings.SENDS_MAIL):
            reason = "It needs an e-mail address." if settings.SENDS_MAIL else "This site sends no e-mail."
            raise serializers.ValidationError({"is_mailed": reason})
        return attrs


class InvitationTokenSerializer(Strict):
    """The link of an invitation, or the token at its end."""

    link = serializers.CharField(max_length=500, trim_whitespace=True)

    def validate_link(self, value: str) -> str:
        return value.rstrip("/").rpartition("/")[2]


INVITATIONS = ("tracks/<slug:slug>/invitations/", "invitations")


class Invitations(Endpoints):
    tag = "People"
    permission_classes = [OfInvitations]

    @get(
        *INVITATIONS,
        InvitationLinkSerializer,
        ordering=("-pk",),
        filters=[
            Filter("role", values=Invitation.Role.values),
            Filter("team", "team_id", kind="whole number"),
            Filter("group"),
        ],
    )
    def list_invitations(self, request: Request, slug: str) -> object:
        """List the invitations of a track that can be accepted now, with their links, newest first."""
        return selectors.invitations_of(track_of(request, slug))

    @post(*INVITATIONS, InvitationSerializer, takes=NewInvitationSerializer, status=201)
    def create_invitation(self, request: Request, slug: str) -> object:
        """Make a link to a team, or to the assessors of a track. Read the link at `Location`."""
        track, data = track_of(request, slug), self.validated(request)
        team_id, is_mailed = data.pop("team", None), data.pop("is_mailed")
        place = Place(
            track=track,
            team=None if team_id is None else get_object_or_404(track.teams, pk=team_id),
            may_submit=data.pop("may_submit"),
            group=data.pop("group"),
        )
        data.pop("role")
        return services.invite(
            place=place,
            terms=Terms(**data),
            by=person_of(request),
            site=site_of(request._request),
            is_mailed=is_mailed,
        )

    @post(
        "invitations/accept/",
        "accept_invitation",
        InvitationSerializer,
        takes=InvitationTokenSerializer,
        who=[LoggedIn],
        write_scopes=(Scope.RUNS, Scope.JUDGE, Scope.MANAGE),
    )
    def accept_invitation(self, request: Request) -> object:
        """Accept an invitation to a team, or to the assessors of a track.

        A link for a first login is opened in a browser: it sets the password of an account.
        """
        digest = selectors.digest_of(self.validated(request)["link"])
        return services.accept(digest=digest, user=person_of(request))

    @get("invitations/<int:invitation_id>/", "invitation", InvitationLinkSerializer)
    def get_invitation(self, request: Request, invitation_id: int) -> object:
        """Read an invitation that can be accepted now, with its link."""
        return get_object_or_404(selectors.open_invitations(), pk=invitation_id)

    @post("invitations/<int:invitation_id>/revoke/", "revoke_invitation")
    def revoke_invitation(self, request: Request, invitation_id: int) -> None:
        """End the validity of a link. Who accepted it keeps their place."""
        services.revoke(invitation=get_object_or_404(selectors.open_invitations(), pk=invitation_id))


urlpatterns = Invitations.urls()
