"""The interaction of a track for programs."""

from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of
from participation.interaction import selectors
from tracks.tracks.api import track_of
from web.api.scopes import Scope
from web.api.views import Endpoints, get


class SessionSerializer(serializers.Serializer[Any]):
    """A nominated topic and its session."""

    team = serializers.CharField(source="nomination.team.name")
    topic = serializers.CharField(source="nomination.topic.code")
    place = serializers.IntegerField(source="nomination.place", help_text="The team's preference, from 1.")
    state = serializers.ChoiceField(list(selectors.SessionState))
    opens_at = serializers.DateTimeField(
        source="nomination.opens_at", allow_null=True, help_text="The session starts from this time on."
    )
    closes_at = serializers.DateTimeField(
        source="nomination.closes_at", allow_null=True, help_text="The session starts before this time."
    )
    seconds = serializers.FloatField(allow_null=True, help_text="Null until the session is over.")
    is_logged = serializers.SerializerMethodField(help_text="Whether the seconds are from the team's log.")

    def get_is_logged(self, row: selectors.SessionRow) -> bool:
        return row.nomination.logged_seconds is not None


class Interaction(Endpoints):
    tag = "Runs"
    read_scopes = (Scope.READ, Scope.RUNS)

    @get("tracks/<slug:slug>/sessions/", "sessions", SessionSerializer(many=True))
    def list_sessions(self, request: Request, slug: str) -> Any:
        """Read the nominations and sessions of a track: organizers all, members those of their teams."""
        user = person_of(request)
        track = track_of(request, slug)
        if selectors.rules_of(track) is None:
            raise Http404
        return selectors.interactions_for(user, track)


urlpatterns = Interaction.urls()
