"""The assessors of a track for programs."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from accounts.selectors import people_named
from tracks.assessors import selectors, services
from tracks.models import Assessor
from tracks.tracks.api import track_of
from web.api.permissions import Organizer
from web.api.serializers import Strict
from web.api.views import Endpoints, get, post


class AssessorSerializer(serializers.ModelSerializer[Assessor]):
    """Somebody who judges for a track."""

    username = serializers.CharField(source="user.username")
    name = serializers.CharField(source="user.get_full_name")

    class Meta:
        model = Assessor
        fields = ["username", "name", "group"]


class NewAssessorSerializer(Strict):
    """Somebody who is to judge for a track."""

    username = serializers.CharField()
    group = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="One of the groups of the protocol."
    )


class Assessors(Endpoints):
    tag = "Tracks"
    permission_classes = [Organizer]

    @get("tracks/<slug:slug>/assessors/", "assessors", AssessorSerializer, ordering=("pk",))
    def list_assessors(self, request: Request, slug: str) -> Any:
        """List the people who judge for a track."""
        track = track_of(request, slug)
        return selectors.people_judging(track)

    @post("tracks/<slug:slug>/assessors/", "assessors", AssessorSerializer, takes=NewAssessorSerializer)
    def add_assessor(self, request: Request, slug: str) -> Any:
        """Let a person judge for a track. Repeated, it changes nothing."""
        track = track_of(request, slug)
        data = self.validated(request)
        person = people_named([data["username"]]).first()
        if person is None:
            raise serializers.ValidationError({"username": f"There is nobody named {data['username']}."})
        return services.add(track=track, user=person, group=data["group"])


urlpatterns = Assessors.urls()
