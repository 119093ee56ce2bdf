"""The milestones of tracks for programs."""

from typing import Any

from django.db import transaction
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import organizer_of
from tracks.milestones import services
from tracks.milestones.services import MOST, NewMilestone
from tracks.models import Milestone, Track
from tracks.tracks import services as track_services
from tracks.tracks.api import track_of
from web.api.conditional import require_match
from web.api.permissions import Everyone
from web.api.serializers import Strict
from web.api.views import Endpoints, get, put


class MilestoneSerializer(serializers.ModelSerializer[Milestone]):
    """A date that the organizers announce."""

    class Meta:
        model = Milestone
        fields = ["title", "starts_on", "ends_on"]


class MilestonesSerializer(serializers.Serializer[Any]):
    """The milestones of a track, by day."""

    milestones = MilestoneSerializer(many=True)


class NewMilestoneSerializer(Strict):
    """A date that the organizers announce."""

    title = serializers.CharField(max_length=200)
    starts_on = serializers.DateField()
    ends_on = serializers.DateField(
        default=None, allow_null=True, help_text="The last day; null for a single day."
    )


class NewMilestonesSerializer(Strict):
    """All milestones of a track: one that is missing is removed."""

    milestones = serializers.ListField(child=NewMilestoneSerializer(), max_length=MOST)


def _shown(track: Track) -> Any:
    return MilestonesSerializer({"milestones": track.milestones.all()}).data


class Milestones(Endpoints):
    tag = "Tracks"
    permission_classes = [Everyone]

    @get("tracks/<slug:slug>/milestones/", "milestones", MilestonesSerializer)
    def get_milestones(self, request: Request, slug: str) -> Any:
        """Read the milestones of a track. Its page has them with the deadlines as an iCalendar file."""
        return Response(_shown(track_of(request, slug)))

    @put("tracks/<slug:slug>/milestones/", "milestones", MilestonesSerializer, takes=NewMilestonesSerializer)
    @transaction.atomic
    def set_milestones(self, request: Request, slug: str) -> Any:
        """Set all milestones of a track. Organizers only."""
        organizer_of(request)
        track = track_services.lock(track_of(request, slug).pk)
        require_match(request, _shown(track))
        rows = [NewMilestone(**each) for each in self.validated(request)["milestones"]]
        services.set_milestones(track=track, milestones=rows)
        return Response(_shown(track))


urlpatterns = Milestones.urls()
