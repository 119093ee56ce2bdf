"""Teams for programs."""

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from accounts.access import person_of
from accounts.models import User
from accounts.selectors import people_named
from participation.models import Team
from participation.teams import selectors, services
from participation.teams.services import MAX_DOCUMENT
from tracks.tracks import services as track_services
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.conditional import require_match
from web.api.filters import Filter
from web.api.permissions import Organizer
from web.api.serializers import Address, Strict
from web.api.views import Endpoints, created, delete, get, patch, post

MEMBERS = "The user names of the members."
DOCUMENTS = "The documents that the team owes: the text of each, by its word in the protocol."
OF_ORGANIZERS = {"members", "max_megabytes"}  # the fields that nobody else changes


TeamSerializer = answer(
    Team,
    "Team",
    "id url track=track.slug name organization members max_megabytes documents created_at",
    "A group that submits runs to a track.",
    url=Address("api:team", help_text="The address of this team in the API."),
    members=serializers.SlugRelatedField("username", many=True, read_only=True, help_text=MEMBERS),
    documents=serializers.DictField(child=serializers.CharField(), read_only=True, help_text=DOCUMENTS),
)


class TeamChangeSerializer(Strict):
    """The fields of a team that can be changed. A field that is left out stays."""

    name = serializers.CharField(max_length=100, required=False)
    organization = serializers.CharField(
        max_length=200, required=False, allow_blank=True, help_text="Such as a university or a company."
    )
    members = serializers.ListField(child=serializers.CharField(), required=False, help_text=MEMBERS)
    max_megabytes = serializers.IntegerField(
        min_value=0, required=False, allow_null=True, help_text="Null: the limit of the site."
    )
    documents = serializers.DictField(
        child=serializers.CharField(allow_blank=True, max_length=MAX_DOCUMENT),
        required=False,
        help_text=DOCUMENTS,
    )


class NewTeamSerializer(TeamChangeSerializer):
    name = serializers.CharField(max_length=100)


def _team(request: Request, team_id: int) -> Team:
    return get_object_or_404(selectors.with_members(selectors.teams_for(person_of(request))), pk=team_id)


def _people(names: list[str]) -> list[User]:
    """The people with these user names.

    Raises:
        ValidationError: There is nobody with one of them.
    """
    people = list(people_named(names))
    missing = sorted(set(names) - {person.username for person in people})
    if missing:
        raise serializers.ValidationError({"members": f"There is nobody named {', '.join(missing[:20])}."})
    return people


def _managed(request: Request, team_id: int) -> Team:
    """A team that the user manages."""
    return get_object_or_404(selectors.managed_teams(person_of(request)), pk=team_id)


def _member(request: Request, team_id: int, username: str) -> tuple[Team, User]:
    """A team that the user manages, and a member of it."""
    team = _managed(request, team_id)
    return team, get_object_or_404(team.members, username=username)


class TeamMemberChangeSerializer(Strict):
    """The rights of a member. A field that is left out stays."""

    may_submit = serializers.BooleanField(required=False)
    is_contact = serializers.BooleanField(
        required=False, help_text="True makes them the contact person instead of the one before."
    )

    def validate_is_contact(self, value: bool) -> bool:
        if not value:
            raise serializers.ValidationError("Make another member the contact person instead.")
        return value


TEAMS = ("tracks/<slug:slug>/teams/", "teams", TeamSerializer)
TEAM_MEMBER = ("teams/<int:team_id>/members/<str:username>/", "team_member")


class Teams(Endpoints):
    tag = "Teams"

    @get(*TEAMS, ordering=("pk",), filters=[Filter("name")], orders=["name"], searches=("name",))
    def list_teams(self, request: Request, slug: str) -> object:
        """List the teams of a track: organizers see all, others their own."""
        user = person_of(request)
        track = track_of(request, slug)
        return selectors.with_members(selectors.visible_teams(user, track))

    @post(*TEAMS, takes=NewTeamSerializer, who=[Organizer], status=201)
    def create_team(self, request: Request, slug: str) -> object:
        """Create a team."""
        track = track_of(request, slug)
        data = self.validated(request)
        with transaction.atomic():
            members = _people(data.get("members", []))
            organization = data.get("organization", "")
            team = services.create(track=track, name=data["name"], members=members, organization=organization)
            if data.get("max_megabytes") is not None:
                services.set_disk_limit(team=team, max_megabytes=data["max_megabytes"])
            services.write_documents(team=team, documents=data.get("documents", {}))
        return created(TeamSerializer(team).data, reverse("api:team", args=[team.pk]))

    @get("teams/<int:team_id>/", "team", TeamSerializer)
    def get_team(self, request: Request, team_id: int) -> object:
        """Read a team. Its members, and organizers."""
        return _team(request, team_id)

    @patch("teams/<int:team_id>/", "team", TeamSerializer, takes=TeamChangeSerializer)
    @transaction.atomic
    def update_team(self, request: Request, team_id: int) -> object:
        """Change the name, organization or documents of a team: those who manage it. The rest: organizers only."""
        track_services.lock(_managed(request, team_id).track_id)
        data = self.validated(request)
        team = _team(request, team_id)
        if not person_of(request).organizes(team.track_id) and (
            fields := sorted(OF_ORGANIZERS & data.keys())
        ):
            raise PermissionDenied(f"Only organizers may change {' and '.join(fields)} of a team.")
        require_match(request, TeamSerializer(team).data)
        given = {name: data.get(name, getattr(team, name)) for name in ("name", "organization")}
        services.describe(team=team, **given, documents=data.get("documents", {}))
        if "members" in data:
            services.set_members(team=team, members=_people(data["members"]))
        if "max_megabytes" in data:
            services.set_disk_limit(team=team, max_megabytes=data["max_megabytes"])
        return _team(request, team_id)

    @delete("teams/<int:team_id>/", "team", who=[Organizer])
    def delete_team(self, request: Request, team_id: int) -> None:
        """Delete a team without runs, documents and sessions."""
        services.delete(team=_managed(request, team_id), by=person_of(request))

    @post("teams/<int:team_id>/leave/", "leave_team")
    def leave_team(self, request: Request, team_id: int) -> None:
        """Leave a team. Its runs stay with it."""
        user = person_of(request)
        services.end_membership(team=_team(request, team_id), user=user, by=user)

    @patch(*TEAM_MEMBER, TeamSerializer, takes=TeamMemberChangeSerializer)
    def update_team_member(self, request: Request, team_id: int, username: str) -> object:
        """Let a member submit runs or not, or make them the contact person. Those who manage the team."""
        team, member = _member(request, team_id, username)
        data = self.validated(request)
        with transaction.atomic():
            if "may_submit" in data:
                services.set_may_submit(team=team, user=member, may_submit=data["may_submit"])
            if data.get("is_contact"):
                services.set_contact(team=team, user=member)
        return selectors.with_members(Team.objects.filter(pk=team.pk)).get()

    @delete(*TEAM_MEMBER)
    def delete_team_member(self, request: Request, team_id: int, username: str) -> None:
        """Remove a member. Their runs stay with the team. Those who manage the team."""
        team, member = _member(request, team_id, username)
        services.end_membership(team=team, user=member, by=person_of(request))


urlpatterns = Teams.urls()
