"""Tracks for programs."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import user_of
from tracks.models import Track
from tracks.tracks import selectors, services
from web.api.permissions import Everyone, Organizer
from web.api.schema import operation
from web.api.views import ApiView, ListView


class TrackSerializer(serializers.ModelSerializer[Track]):
    """One task of a campaign."""

    protocol = serializers.CharField(source="protocol.slug")
    collection = serializers.CharField(
        source="collection.slug", default=None, allow_null=True, help_text="The collection that runs search."
    )

    class Meta:
        model = Track
        fields = ["slug", "name", "description", "status", "protocol", "collection"]


class KindStateSerializer(serializers.Serializer[Any]):
    """Whether runs of a kind are accepted."""

    kind = serializers.CharField()
    phase = serializers.CharField()
    is_accepting = serializers.BooleanField(help_text="Whether runs can be submitted and withdrawn now.")
    reason = serializers.CharField(help_text="Why not, as the end of a sentence; empty if they are accepted.")
    opens_at = serializers.DateTimeField(allow_null=True)
    closes_at = serializers.DateTimeField(allow_null=True)
    ends_at = serializers.DateTimeField(allow_null=True, help_text="The end of the grace period.")


class TrackDetailSerializer(serializers.Serializer[selectors.TrackPage]):
    """A track, with what it accepts now."""

    slug = serializers.CharField(source="track.slug")
    name = serializers.CharField(source="track.name")
    description = serializers.CharField(source="track.description")
    status = serializers.ChoiceField(Track.Status.choices, source="track.status")
    protocol = serializers.CharField(source="track.protocol.slug")
    protocol_sha256 = serializers.CharField(source="track.protocol.digest")
    collection = serializers.CharField(source="track.collection.slug", default=None, allow_null=True)
    n_topics = serializers.IntegerField()
    kinds = KindStateSerializer(
        many=True, source="states", help_text="The kinds of runs that you may submit."
    )


class TrackList(ListView):
    tag = "Tracks"
    permission_classes = [Everyone]
    serializer_class = TrackSerializer
    ordering = ("slug",)

    @operation("list_tracks")
    def get(self, request: Request) -> Response:
        """List the tracks. Only organizers see drafts."""
        return self.listed(selectors.tracks_for(user_of(request)), TrackSerializer)


class TrackDetail(ApiView):
    tag = "Tracks"
    permission_classes = [Everyone]
    serializer_class = TrackDetailSerializer

    @operation("get_track")
    def get(self, request: Request, slug: str) -> Response:
        """Read about a track: its protocol, and which kinds of runs it accepts now."""
        track = get_object_or_404(selectors.tracks_for(user_of(request)), slug=slug)
        return Response(_detail(request, track))


class TrackOpening(ApiView):
    tag = "Tracks"
    permission_classes = [Organizer]
    serializer_class = TrackDetailSerializer

    @operation("open_track", request=None, responses={200: TrackDetailSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Let teams submit runs."""
        track = get_object_or_404(selectors.tracks_for(user_of(request)), slug=slug)
        return Response(_detail(request, services.open_for_runs(track=track)))


class TrackClosing(ApiView):
    tag = "Tracks"
    permission_classes = [Organizer]
    serializer_class = TrackDetailSerializer

    @operation("close_track", request=None, responses={200: TrackDetailSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Accept no more runs."""
        track = get_object_or_404(selectors.tracks_for(user_of(request)), slug=slug)
        return Response(_detail(request, services.close(track=track)))


def _detail(request: Request, track: Track) -> Any:
    return TrackDetailSerializer(selectors.track_page(user_of(request), track)).data


urlpatterns = [
    path("tracks/", TrackList.as_view(), name="tracks"),
    path("tracks/<slug:slug>/", TrackDetail.as_view(), name="track"),
    path("tracks/<slug:slug>/open/", TrackOpening.as_view(), name="open_track"),
    path("tracks/<slug:slug>/close/", TrackClosing.as_view(), name="close_track"),
]
