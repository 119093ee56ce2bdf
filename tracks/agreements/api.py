"""Data agreements for programs."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of, user_of
from tracks.agreements import selectors, services
from tracks.agreements.selectors import AgreementPage
from tracks.editor import MOST_CHARACTERS
from tracks.models import Track
from tracks.tracks.selectors import track_or_404
from web.api.permissions import Everyone, LoggedIn, Organizer
from web.api.serializers import Strict
from web.api.views import Endpoints, get, post
from web.models import Scope

REVISION = "The number of the version in force that you have read; 0 if there is none."


class DataAgreementSerializer(serializers.Serializer[AgreementPage]):
    """The version in force of the data agreement of a track."""

    number = serializers.IntegerField(
        source="version.number", default=0, help_text="0: the track has no agreement."
    )
    text = serializers.CharField(source="version.text", default="", help_text="Markdown.")
    html = serializers.CharField(help_text="The text, sanitized.")
    sha256 = serializers.CharField(source="version.sha256", default="", help_text="Of the text.")
    published_at = serializers.DateTimeField(source="version.published_at", default=None, allow_null=True)
    accepted_at = serializers.DateTimeField(
        source="acceptance.accepted_at",
        default=None,
        allow_null=True,
        help_text="When you accepted this version.",
    )


class RevisionSerializer(Strict):
    """The version that you have read."""

    revision = serializers.IntegerField(min_value=0, help_text=REVISION)


class NewAgreementSerializer(RevisionSerializer):
    """The text of the next version."""

    text = serializers.CharField(max_length=MOST_CHARACTERS, trim_whitespace=False, help_text="Markdown.")


def _shown(request: Request, track: Track) -> Response:
    page: Any = selectors.agreement_page(track, user_of(request), track.agreement)
    return Response(DataAgreementSerializer(page).data)


class Agreements(Endpoints):
    tag = "Tracks"
    permission_classes = [Organizer]

    @get("tracks/<slug:slug>/data-agreement/", "data_agreement", DataAgreementSerializer, who=[Everyone])
    def get_data_agreement(self, request: Request, slug: str) -> object:
        """Read the data agreement of a track, and whether you have accepted it."""
        return _shown(request, track_or_404(user_of(request), slug))

    @post(
        "tracks/<slug:slug>/data-agreement/publish/",
        "publish_data_agreement",
        DataAgreementSerializer,
        takes=NewAgreementSerializer,
    )
    def publish_data_agreement(self, request: Request, slug: str) -> object:
        """Bring a text into force. Everyone has to accept it, also who accepted an earlier version."""
        track = track_or_404(user_of(request), slug)
        services.publish(track=track, by=person_of(request), **self.validated(request))
        return _shown(request, track_or_404(user_of(request), slug))

    @post(
        "tracks/<slug:slug>/data-agreement/withdraw/",
        "withdraw_data_agreement",
        DataAgreementSerializer,
        takes=RevisionSerializer,
    )
    def withdraw_data_agreement(self, request: Request, slug: str) -> object:
        """Ask nobody to accept an agreement any more. Versions and acceptances are kept."""
        services.withdraw(track=track_or_404(user_of(request), slug), **self.validated(request))
        return _shown(request, track_or_404(user_of(request), slug))

    @post(
        "tracks/<slug:slug>/data-agreement/accept/",
        "accept_data_agreement",
        DataAgreementSerializer,
        takes=RevisionSerializer,
        who=[LoggedIn],
        write_scopes=(Scope.RUNS, Scope.MANAGE),
    )
    def accept_data_agreement(self, request: Request, slug: str) -> object:
        """Accept the data agreement for yourself. Read it first. Repeated, it changes nothing."""
        track = track_or_404(user_of(request), slug)
        services.accept(track=track, user=person_of(request), **self.validated(request))
        return _shown(request, track)


urlpatterns = Agreements.urls()
