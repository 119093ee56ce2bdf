"""Documents of teams for programs."""

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request

from accounts.access import person_of, user_of
from participation.models import TeamDocument
from publishing.documents import selectors, services
from publishing.documents.views import sent
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.conditional import require_match, unless_known
from web.api.filters import Filter
from web.api.permissions import Everyone, LoggedIn, Organizer
from web.api.serializers import Address, Strict
from web.api.views import Endpoints, delete, get, get_file, patch, post
from web.downloads import download
from web.forms import bytes_of
from web.models import Scope

WORD = "Of the document that the protocol asks for; empty: another one. It replaces an earlier one with the same word."
PUBLIC = "Everyone gets it once a leaderboard of the track is released to everyone."


TeamDocumentSerializer = answer(
    TeamDocument,
    "TeamDocument",
    "id url team=team.name word title is_public file_name=name n_bytes=size sha256 created_at=uploaded_at",
    "A PDF of a team.",
    url=Address("api:team_document", help_text="The address of this document in the API."),
    word=serializers.CharField(help_text="Of the document of the protocol that it is; else empty."),
    is_public=serializers.BooleanField(help_text=PUBLIC),
)


class DocumentChangeSerializer(Strict):
    """The fields of a document that change. A field that is left out stays."""

    title = serializers.CharField(max_length=200, required=False)
    is_public = serializers.BooleanField(required=False, help_text=PUBLIC)


class NewDocumentSerializer(Strict):
    """A document to upload."""

    file = serializers.FileField(help_text="A PDF.")
    title = serializers.CharField(
        max_length=200, default="", allow_blank=True, help_text="Without it, that of the protocol."
    )
    word = serializers.CharField(max_length=100, default="", allow_blank=True, help_text=WORD)
    is_public = serializers.BooleanField(default=False, help_text=PUBLIC)


class Documents(Endpoints):
    tag = "Teams"
    permission_classes = [LoggedIn]
    write_scopes = (Scope.RUNS, Scope.MANAGE)

    def editable(self, request: Request, document_id: int) -> TeamDocument:
        return get_object_or_404(selectors.editable_documents(person_of(request)), pk=document_id)

    @get(
        "tracks/<slug:slug>/documents/",
        "team_documents",
        TeamDocumentSerializer,
        ordering=("pk",),
        filters=[Filter("team", "team__name"), Filter("word")],
        who=[Everyone],
    )
    def list_team_documents(self, request: Request, slug: str) -> object:
        """List the documents that you may get: organizers all, members those of their teams, and public ones."""
        return selectors.documents_for(user_of(request)).filter(team__track=track_of(request, slug))

    @get_file("tracks/<slug:slug>/documents/file/", "team_documents_zip", "application/zip", who=[Organizer])
    def download_team_documents(self, request: Request, slug: str) -> object:
        """Download all documents of a track."""
        track = track_of(request, slug)
        documents = selectors.documents_for(person_of(request)).filter(team__track=track)
        return download(services.zipped(track, documents), f"{track.slug}-documents.zip")

    @post(
        "teams/<int:team_id>/documents/",
        "upload_team_document",
        TeamDocumentSerializer,
        takes=NewDocumentSerializer,
        parsers=[MultiPartParser],
        status=201,
        stores_files=True,
    )
    def create_team_document(self, request: Request, team_id: int) -> object:
        """Upload a document of a team. Members who may submit, and organizers."""
        user = person_of(request)
        team = get_object_or_404(selectors.uploading_teams(user), pk=team_id)
        data = self.validated(request)
        file = data.pop("file")
        return services.upload(team=team, file=bytes_of(file), file_name=file.name or "", by=user, **data)

    @get("documents/<int:document_id>/", "team_document", TeamDocumentSerializer, who=[Everyone])
    def get_team_document(self, request: Request, document_id: int) -> object:
        """Read about a document."""
        return get_object_or_404(selectors.documents_for(user_of(request)), pk=document_id)

    @get_file("documents/<int:document_id>/file/", "team_document_file", who=[Everyone])
    def download_team_document(self, request: Request, document_id: int) -> object:
        """Download a document."""
        document = get_object_or_404(selectors.documents_for(user_of(request)), pk=document_id)
        return unless_known(request, document.sha256, lambda: sent(document))

    @patch(
        "documents/<int:document_id>/",
        "team_document",
        TeamDocumentSerializer,
        takes=DocumentChangeSerializer,
    )
    def update_team_document(self, request: Request, document_id: int) -> object:
        """Change the title of a document, and whether it is public. Members who may submit, and organizers."""
        document = self.editable(request, document_id)
        require_match(request, TeamDocumentSerializer(document).data)
        kept: dict[str, Any] = {"title": document.title, "is_public": document.is_public}
        return services.change(document=document, **(kept | self.validated(request)))

    @delete("documents/<int:document_id>/", "team_document")
    def delete_team_document(self, request: Request, document_id: int) -> None:
        """Delete a document with its file. Members who may submit, and organizers."""
        services.remove(document=self.editable(request, document_id))


urlpatterns = Documents.urls()
