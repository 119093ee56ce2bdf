"""The assessors of a track for programs."""

from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.selectors import people_named
from tracks.assessors import selectors, services
from tracks.models import Assessor
from tracks.tracks.api import track_of
from web.api.permissions import Organizer
from web.api.schema import operation
from web.api.serializers import Strict
from web.api.views import ListView


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


class AssessorList(ListView):
    tag = "Tracks"
    permission_classes = [Organizer]
    serializer_class = NewAssessorSerializer
    ordering = ("pk",)

    @operation("list_assessors", responses=AssessorSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the people who judge for a track."""
        track = track_of(request, slug)
        return self.listed(selectors.people_judging(track), AssessorSerializer)

    @operation("add_assessor", responses={200: AssessorSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Let a person judge for a track. Repeated, it changes nothing."""
        track = track_of(request, slug)
        data = self.validated(request)
        person = people_named([data["username"]]).first()
        if person is None:
            raise serializers.ValidationError({"username": f"There is nobody named {data['username']}."})
        assessor = services.add(track=track, user=person, group=data["group"])
        return Response(AssessorSerializer(assessor).data)


urlpatterns = [path("tracks/<slug:slug>/assessors/", AssessorList.as_view(), name="assessors")]
