"""Teams for programs."""

from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import organizer_of, person_of
from accounts.models import User
from accounts.selectors import people_named
from pooling.models import Team
from pooling.teams import selectors, services
from tracks.tracks import services as track_services
from tracks.tracks.api import track_of
from web.api.conditional import require_match
from web.api.schema import operation
from web.api.serializers import Strict
from web.api.views import ApiView, ListView, created

MEMBERS = "The user names of the members."


class TeamSerializer(serializers.ModelSerializer[Team]):
    """A group that submits runs to a track."""

    url = serializers.SerializerMethodField(help_text="The address of this team in the API.")
    track = serializers.CharField(source="track.slug")
    members = serializers.SlugRelatedField("username", many=True, read_only=True, help_text=MEMBERS)  # type: ignore[var-annotated]

    class Meta:
        model = Team
        fields = ["id", "url", "track", "name", "members", "max_megabytes", "created_at"]

    def get_url(self, team: Team) -> str:
        return reverse("api:team", args=[team.pk])


class TeamChangeSerializer(Strict):
    """What can be changed about a team. What is left out stays."""

    name = serializers.CharField(max_length=100, required=False)
    members = serializers.ListField(child=serializers.CharField(), required=False, help_text=MEMBERS)
    max_megabytes = serializers.IntegerField(
        min_value=0, required=False, allow_null=True, help_text="Null: the limit of the site."
    )


class NewTeamSerializer(TeamChangeSerializer):
    name = serializers.CharField(max_length=100)


class TeamList(ListView):
    tag = "Teams"
    serializer_class = TeamSerializer
    ordering = ("pk",)

    @operation("list_teams")
    def get(self, request: Request, slug: str) -> Response:
        """List the teams of a track: organizers see all, others their own."""
        user = person_of(request)
        track = track_of(request, slug)
        return self.listed(selectors.with_members(selectors.visible_teams(user, track)), TeamSerializer)

    @operation("create_team", request=NewTeamSerializer, responses={201: TeamSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Create a team. Organizers only."""
        organizer_of(request)
        track = track_of(request, slug)
        data = _read(NewTeamSerializer, request)
        with transaction.atomic():
            members = _people(data.get("members", []))
            team = services.create(track=track, name=data["name"], members=members)
            if data.get("max_megabytes") is not None:
                services.set_disk_limit(team=team, max_megabytes=data["max_megabytes"])
        return created(TeamSerializer(team).data, reverse("api:team", args=[team.pk]))


class TeamDetail(ApiView):
    tag = "Teams"
    serializer_class = TeamSerializer

    @operation("get_team")
    def get(self, request: Request, team_id: int) -> Response:
        """Read a team. Its members, and organizers."""
        return Response(TeamSerializer(_team(request, team_id)).data)

    @operation("change_team", request=TeamChangeSerializer)
    @transaction.atomic
    def patch(self, request: Request, team_id: int) -> Response:
        """Change the name, members or disk limit of a team. Organizers only."""
        organizer_of(request)
        data = _read(TeamChangeSerializer, request)
        track_services.lock(_team(request, team_id).track_id)
        team = _team(request, team_id)
        require_match(request, TeamSerializer(team).data)
        if "name" in data:
            services.rename(team=team, name=data["name"])
        if "members" in data:
            services.set_members(team=team, members=_people(data["members"]))
        if "max_megabytes" in data:
            services.set_disk_limit(team=team, max_megabytes=data["max_megabytes"])
        return Response(TeamSerializer(_team(request, team_id)).data)


def _read(serializer_class: type[TeamChangeSerializer], request: Request) -> dict[str, Any]:
    serializer = serializer_class(data=request.data)
    serializer.is_valid(raise_exception=True)
    data: dict[str, Any] = serializer.validated_data
    return data


def _team(request: Request, team_id: int) -> Team:
    return get_object_or_404(selectors.with_members(selectors.teams_for(person_of(request))), pk=team_id)


def _people(names: list[str]) -> list[User]:
    """The people with these user names.

    Raises
    ------
    ValidationError
        There is nobody with one of them.
    """
    people = list(people_named(names))
    missing = sorted(set(names) - {person.username for person in people})
    if missing:
        raise serializers.ValidationError({"members": f"There is nobody named {', '.join(missing[:20])}."})
    return people


urlpatterns = [
    path("tracks/<slug:slug>/teams/", TeamList.as_view(), name="teams"),
    path("teams/<int:team_id>/", TeamDetail.as_view(), name="team"),
]
