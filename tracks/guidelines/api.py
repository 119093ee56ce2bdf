"""Guidelines for programs: read them, write the draft, publish it."""

from typing import Any

from django.db import transaction
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of
from tracks.editor import MOST_CHARACTERS
from tracks.guidelines import selectors, services
from tracks.models import GuidelinesDraft, GuidelinesVersion
from tracks.tracks import services as track_services
from web.api.answers import answer
from web.api.conditional import require_match
from web.api.permissions import LoggedIn, Organizer
from web.api.serializers import Strict
from web.api.views import Endpoints, get, post, put

GuidelinesSerializer = answer(
    GuidelinesVersion,
    "Guidelines",
    "number summary text html published_at",
    "A published version of the guidelines.",
    html="The text, sanitized, with its worked examples.",
    text="Markdown.",
)


DraftSerializer = answer(
    GuidelinesDraft,
    "Draft",
    "text revision",
    "The text that organizers are writing. Assessors do not see it.",
    text="Markdown.",
    revision="Counts the saves.",
)


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


class Guidelines(Endpoints):
    tag = "Tracks"
    permission_classes = [Organizer]

    @get(
        "tracks/<slug:slug>/guidelines/",
        "guidelines",
        GuidelinesSerializer,
        who=[LoggedIn],
        ordering=("-number",),
    )
    def list_guidelines(self, request: Request, slug: str) -> object:
        """List the published versions, newest first: the first is in force. Assessors of the track, and organizers."""
        return selectors.versions_of(selectors.track_or_404(person_of(request), slug))

    @get("tracks/<slug:slug>/guidelines/draft/", "guidelines_draft", DraftSerializer)
    def get_guidelines_draft(self, request: Request, slug: str) -> object:
        """Read the draft of the next version."""
        return selectors.draft_of(selectors.track_or_404(person_of(request), slug))

    @put(
        "tracks/<slug:slug>/guidelines/draft/", "guidelines_draft", DraftSerializer, takes=NewDraftSerializer
    )
    @transaction.atomic
    def update_guidelines_draft(self, request: Request, slug: str) -> object:
        """Save the draft of the next version."""
        track = selectors.track_or_404(person_of(request), slug)
        track_services.lock(track.pk)
        require_match(request, DraftSerializer(selectors.draft_of(track)).data)
        return services.save_draft(track=track, by=person_of(request), **self.validated(request))

    @post(
        "tracks/<slug:slug>/guidelines/publish/",
        "publish_guidelines",
        GuidelinesSerializer,
        takes=NewGuidelinesSerializer,
        status=201,
    )
    def publish_guidelines(self, request: Request, slug: str) -> object:
        """Save a text as the draft, and bring it into force for all judgments from now on."""
        data: dict[str, Any] = self.validated(request)
        return services.publish(
            track=selectors.track_or_404(person_of(request), slug), by=person_of(request), **data
        )


urlpatterns = Guidelines.urls()
