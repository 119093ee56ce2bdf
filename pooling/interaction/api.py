"""The interaction of a track for programs."""

from typing import Any

from django.http import Http404
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of
from pooling.interaction import selectors
from tracks.tracks.api import track_of
from web.api.schema import operation
from web.api.scopes import Scope
from web.api.views import ApiView


class SessionSerializer(serializers.Serializer[Any]):
    """A nominated topic and its session."""

    team = serializers.CharField(source="nomination.team.name")
    topic = serializers.CharField(source="nomination.topic.code")
    place = serializers.IntegerField(source="nomination.place", help_text="The team's preference, from 1.")
    state = serializers.ChoiceField(list(selectors.SessionState))
    seconds = serializers.FloatField(allow_null=True, help_text="Null until the session is over.")
    is_logged = serializers.SerializerMethodField(help_text="Whether the seconds are from the team's log.")

    def get_is_logged(self, row: selectors.SessionRow) -> bool:
        return row.nomination.logged_seconds is not None


class Sessions(ApiView):
    tag = "Runs"
    read_scopes = (Scope.READ, Scope.RUNS)
    serializer_class = SessionSerializer

    @operation("list_sessions", responses=SessionSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Read the nominations and sessions of a track: organizers all, members those of their teams."""
        user = person_of(request)
        track = track_of(request, slug)
        if selectors.rules_of(track) is None:
            raise Http404
        return Response(SessionSerializer(selectors.interactions_for(user, track), many=True).data)


urlpatterns = [path("tracks/<slug:slug>/sessions/", Sessions.as_view(), name="sessions")]
