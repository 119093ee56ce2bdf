"""The interaction of a track for programs."""

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request

from accounts.access import person_of
from participation.interaction import selectors, services
from participation.interaction.selectors import team_of
from participation.interaction.views import data_of
from participation.models import Team
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.permissions import Organizer
from web.api.serializers import Strict, named
from web.api.views import Endpoints, get, get_file, post, put
from web.forms import bytes_of
from web.models import Scope
from web.pages import site_of

SessionSerializer = answer(
    selectors.SessionRow,
    "Session",
    "team=nomination.team.name topic=nomination.topic.code id=nomination.id rank=nomination.place status "
    "opens_at=nomination.opens_at closes_at=nomination.closes_at seconds is_logged",
    rank="The team's preference, from 1.",
    status=serializers.ChoiceField(list(selectors.SessionState), source="state"),
    opens_at="The session starts from this time on.",
    closes_at="The session starts before this time.",
    seconds="Null until the session is over.",
    is_logged="Whether the seconds are from the team's log.",
)


class TopicsSerializer(Strict):
    """The topics of a team, the preferred one first."""

    topics = serializers.ListField(
        child=serializers.CharField(max_length=200), max_length=10_000, help_text="Codes."
    )


class SystemSerializer(serializers.Serializer[Any]):
    """The page of a team's system."""

    address = serializers.CharField()


class NewSystemSerializer(Strict):
    """The page that sessions show in a frame."""

    address = serializers.URLField(
        max_length=500,
        allow_blank=True,
        help_text="`{topic}` is replaced by the code of the topic. Empty: none.",
    )


class SessionPlanSerializer(Strict):
    """An assessor, and how many sessions they get."""

    assessor = serializers.CharField(help_text="User name.")
    n = serializers.IntegerField(min_value=1, max_value=1000)
    opens_at = serializers.DateTimeField(
        default=None, allow_null=True, help_text="The sessions start from this time on."
    )
    closes_at = serializers.DateTimeField(
        default=None, allow_null=True, help_text="The sessions start before this time."
    )


class SessionFileSerializer(Strict):
    """A file."""

    file = serializers.FileField()


class Interaction(Endpoints):
    tag = "Runs"
    read_scopes = (Scope.READ, Scope.RUNS)
    write_scopes = (Scope.RUNS, Scope.MANAGE)

    @get("tracks/<slug:slug>/sessions/", "sessions", SessionSerializer(many=True))
    def list_sessions(self, request: Request, slug: str) -> object:
        """Read the nominations and sessions of a track: organizers all, members those of their teams."""
        user = person_of(request)
        track = track_of(request, slug)
        if selectors.rules_of(track) is None:
            raise Http404
        return selectors.interactions_for(user, track)

    @put(
        "teams/<int:team_id>/nominations/",
        "nominations",
        SessionSerializer(many=True),
        takes=TopicsSerializer,
    )
    def update_nominations(self, request: Request, team_id: int) -> object:
        """Rank the topics that a team nominates for sessions. Those who submit for the team, and organizers."""
        user, team = person_of(request), team_of(person_of(request), team_id)
        services.nominate(team=team, codes=self.validated(request)["topics"], by=user)
        return self._sessions(request, team)

    @put("teams/<int:team_id>/system/", "system", SystemSerializer, takes=NewSystemSerializer)
    def update_system(self, request: Request, team_id: int) -> object:
        """Declare the page of a team's system that sessions show. Those who submit for the team, and organizers."""
        user, team = person_of(request), team_of(person_of(request), team_id)
        address = self.validated(request)["address"]
        services.set_address(team=team, address=address, by=user, site=site_of(request._request))
        return {"address": address}

    @post(
        "teams/<int:team_id>/sessions/plan/",
        "plan_sessions",
        SessionSerializer(many=True),
        takes=SessionPlanSerializer,
        who=[Organizer],
        write_scopes=(Scope.MANAGE,),
    )
    def plan_sessions(self, request: Request, team_id: int) -> object:
        """Give the first nominated topics of a team that have no session to an assessor."""
        user, team = person_of(request), team_of(person_of(request), team_id)
        data = self.validated(request)
        assessors = {assessor.username: assessor for assessor in selectors.assessors_of(team.track)}
        data["assessor"] = named(assessors, data["assessor"], "assessor")
        services.plan(team=team, by=user, **data)
        return self._sessions(request, team)

    @post(
        "teams/<int:team_id>/sessions/log/",
        "log_sessions",
        SessionSerializer(many=True),
        takes=SessionFileSerializer,
        parsers=[MultiPartParser],
    )
    def log_sessions(self, request: Request, team_id: int) -> object:
        """Upload the seconds of sessions that were held elsewhere: topic and seconds per line."""
        user, team = person_of(request), team_of(person_of(request), team_id)
        services.log(team=team, file=bytes_of(self.validated(request)["file"]), by=user)
        return self._sessions(request, team)

    @post(
        "teams/<int:team_id>/sessions/data/",
        "session_data",
        takes=SessionFileSerializer,
        parsers=[MultiPartParser],
        stores_files=True,
    )
    def upload_session_data(self, request: Request, team_id: int) -> None:
        """Upload the data of a team's sessions; they replace earlier ones."""
        user, team = person_of(request), team_of(person_of(request), team_id)
        upload = self.validated(request)["file"]
        services.store_data(team=team, file=bytes_of(upload), file_name=upload.name or "data", by=user)

    @get_file("teams/<int:team_id>/sessions/data/", "session_data")
    def download_session_data(self, request: Request, team_id: int) -> object:
        """Download the data of a team's sessions, as uploaded."""
        return data_of(request, team_of(person_of(request), team_id))

    @post(
        "sessions/<int:session_id>/take-back/",
        "take_back_session",
        who=[Organizer],
        write_scopes=(Scope.MANAGE,),
    )
    def take_back_session(self, request: Request, session_id: int) -> None:
        """Take a planned session from its assessor."""
        user = person_of(request)
        nomination = get_object_or_404(selectors.sessions_for(user), pk=session_id)
        services.take_back(nomination=nomination, by=user)

    def _sessions(self, request: Request, team: Team) -> object:
        rows = selectors.interactions_for(person_of(request), team.track)
        return [row for row in rows if row.nomination.team_id == team.pk]


urlpatterns = Interaction.urls()
