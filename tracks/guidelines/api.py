"""Guidelines for programs: read them, write the draft, publish it."""

from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of
from tracks.guidelines import selectors, services
from tracks.guidelines.forms import MOST_CHARACTERS
from tracks.models import GuidelinesDraft, GuidelinesVersion, Track
from tracks.tracks import services as track_services
from web.api.conditional import require_match
from web.api.permissions import Organizer
from web.api.schema import operation
from web.api.serializers import Strict
from web.api.views import ApiView, ListView


class GuidelinesSerializer(serializers.ModelSerializer[GuidelinesVersion]):
    """A published version of the guidelines."""

    html = serializers.CharField(help_text="The text, sanitized, with its worked examples.")
    text = serializers.CharField(help_text="Markdown.")

    class Meta:
        model = GuidelinesVersion
        fields = ["number", "summary", "text", "html", "published_at"]


class DraftSerializer(serializers.ModelSerializer[GuidelinesDraft]):
    """The text that organizers are writing. Assessors do not see it."""

    text = serializers.CharField(help_text="Markdown.")
    revision = serializers.IntegerField(help_text="Counts the saves.")

    class Meta:
        model = GuidelinesDraft
        fields = ["text", "revision"]


class NewDraftSerializer(Strict):
    """The text of the draft. It starts with the version in force."""

    text = serializers.CharField(
        max_length=MOST_CHARACTERS, allow_blank=True, trim_whitespace=False, help_text="Markdown."
    )
    revision = serializers.IntegerField(min_value=0, help_text="Of the draft that you have read.")


class NewGuidelinesSerializer(NewDraftSerializer):
    """The text of the next version."""

    summary = serializers.CharField(
        max_length=500, default="", allow_blank=True, help_text="What changed, for the assessors."
    )


class Guidelines(ListView):
    tag = "Tracks"
    serializer_class = GuidelinesSerializer
    ordering = ("-number",)

    @operation("list_guidelines")
    def get(self, request: Request, slug: str) -> Response:
        """List the published versions, newest first: the first is in force. Assessors of the track, and organizers."""
        return self.listed(selectors.versions_of(_track(request, slug)), GuidelinesSerializer)


class Draft(ApiView):
    tag = "Tracks"
    permission_classes = [Organizer]
    serializer_class = NewDraftSerializer

    @operation("get_guidelines_draft", responses=DraftSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Read the draft of the next version."""
        return Response(DraftSerializer(selectors.draft_of(_track(request, slug))).data)

    @operation("save_guidelines_draft", responses=DraftSerializer)
    @transaction.atomic
    def put(self, request: Request, slug: str) -> Response:
        """Save the draft of the next version."""
        track = _track(request, slug)
        track_services.lock(track.pk)
        require_match(request, DraftSerializer(selectors.draft_of(track)).data)
        draft = services.save_draft(track=track, by=person_of(request), **self.validated(request))
        return Response(DraftSerializer(draft).data)


class GuidelinesPublication(ApiView):
    tag = "Tracks"
    permission_classes = [Organizer]
    serializer_class = NewGuidelinesSerializer

    @operation("publish_guidelines", responses={200: GuidelinesSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Save a text as the draft, and bring it into force for all judgments from now on."""
        data: dict[str, Any] = self.validated(request)
        version = services.publish(track=_track(request, slug), by=person_of(request), **data)
        return Response(GuidelinesSerializer(version).data)


def _track(request: Request, slug: str) -> Track:
    return get_object_or_404(selectors.tracks_with_guidelines(person_of(request)), slug=slug)


urlpatterns = [
    path("tracks/<slug:slug>/guidelines/", Guidelines.as_view(), name="guidelines"),
    path("tracks/<slug:slug>/guidelines/draft/", Draft.as_view(), name="guidelines_draft"),
    path(
        "tracks/<slug:slug>/guidelines/publish/", GuidelinesPublication.as_view(), name="publish_guidelines"
    ),
]
