"""Archives of tracks for programs: make, download and delete them, and load one."""

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of
from archives import selectors, services
from archives.forms import ArchiveForm
from archives.models import Archive, LoadedArchive
from tracks.tracks.api import track_of
from web.api.conditional import etag_of, unless_known
from web.api.forms import require_valid
from web.api.permissions import Organizer
from web.api.schema import file_of, operation
from web.api.serializers import Strict
from web.api.views import ApiView, FileView, ListView, accepted
from web.downloads import download


class ArchiveSerializer(serializers.ModelSerializer[Archive]):
    """One file with everything of a track, as it was when the job made it."""

    url = serializers.SerializerMethodField(help_text="The address of this archive in the API.")
    track = serializers.CharField(source="track.slug")
    status = serializers.CharField(help_text="building, ready or failed.")
    counts = serializers.DictField(help_text="How many runs, judgments, qrels and leaderboards it has.")
    job = serializers.SerializerMethodField(help_text="The address of the job that makes it.")

    class Meta:
        model = Archive
        fields = [
            "id",
            "url",
            "track",
            "status",
            "has_names",
            "has_comments",
            "authors",
            "license",
            "size",
            "sha256",
            "counts",
            "job",
            "created_at",
        ]

    def get_url(self, archive: Archive) -> str:
        return reverse("api:archive", args=[archive.pk])

    def get_job(self, archive: Archive) -> str | None:
        return reverse("api:job", args=[archive.job_id]) if archive.job_id else None


class NewArchiveSerializer(Strict):
    """What an archive contains, and how it is to be cited."""

    has_names = serializers.BooleanField(
        default=False, help_text="With the names of the assessors, not code names."
    )
    has_comments = serializers.BooleanField(default=False, help_text="With the comments of the assessors.")
    authors = serializers.CharField(default="", allow_blank=True, help_text="One name per line.")
    license = serializers.CharField(
        default="", allow_blank=True, max_length=200, help_text="Its URL or name."
    )
    url = serializers.CharField(
        default="", allow_blank=True, max_length=300, help_text="Where the test collection is described."
    )


class LoadSerializer(Strict):
    """An archive to load."""

    file = serializers.FileField(help_text="A .zip file made by Assay.")
    slug = serializers.SlugField(
        max_length=100, required=False, default="", help_text="Of the track. Without it: as in the archive."
    )


class PartSerializer(serializers.Serializer[object]):
    """A part of an archive that was checked."""

    part = serializers.CharField()
    content = serializers.CharField(help_text="What was checked.")
    problem = serializers.CharField(help_text="What is wrong; empty if nothing is.")


class LoadedSerializer(serializers.ModelSerializer[LoadedArchive]):
    """An archive that is or was loaded."""

    url = serializers.SerializerMethodField(help_text="The address of this upload in the API.")
    status = serializers.CharField(help_text="loading, loaded or failed.")
    track = serializers.CharField(source="track.slug", default=None, allow_null=True)
    findings = PartSerializer(many=True, help_text="Its parts, as they were checked.")

    class Meta:
        model = LoadedArchive
        fields = ["id", "url", "name", "size", "sha256", "status", "track", "findings", "created_at"]

    def get_url(self, loaded: LoadedArchive) -> str:
        return reverse("api:loaded_archive", args=[loaded.pk])


class ArchiveList(ListView):
    tag = "Archives"
    permission_classes = [Organizer]
    serializer_class = NewArchiveSerializer
    ordering = ("-pk",)

    @operation("list_archives", responses=ArchiveSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the archives of a track, newest first."""
        return self.listed(selectors.archives().filter(track=track_of(request, slug)), ArchiveSerializer)

    @operation("request_archive", responses={202: ArchiveSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Make an archive of a track."""
        track, data = track_of(request, slug), self.validated(request)
        form = ArchiveForm(data, instance=Archive(track=track))
        require_valid(form)
        archive = services.request(track=track, by=person_of(request), **form.cleaned_data)
        return accepted(ArchiveSerializer(archive).data, archive.job_id)


class ArchiveDetail(ApiView):
    tag = "Archives"
    permission_classes = [Organizer]
    serializer_class = ArchiveSerializer

    @operation("get_archive")
    def get(self, request: Request, archive_id: int) -> Response:
        """Read about an archive."""
        return Response(ArchiveSerializer(get_object_or_404(selectors.archives(), pk=archive_id)).data)

    @operation("delete_archive", responses={204: None})
    def delete(self, request: Request, archive_id: int) -> Response:
        """Delete an archive and its file. It can be made again, but it will show the track as it is then."""
        services.delete(archive=get_object_or_404(selectors.archives(), pk=archive_id))
        return Response(status=204)


class ArchiveFile(FileView):
    tag = "Archives"
    permission_classes = [Organizer]
    serializer_class = ArchiveSerializer

    @operation("get_archive_file", responses=file_of("application/zip"))
    def get(self, request: Request, archive_id: int) -> HttpResponseBase:
        """Download an archive that is ready."""
        ready = selectors.archives().filter(status=Archive.Status.READY)
        archive = get_object_or_404(ready, pk=archive_id)
        etag = etag_of(archive.sha256.encode())
        return unless_known(request, etag, lambda: download(archive.file.open("rb"), str(archive)))


class ArchiveLoad(ApiView):
    tag = "Archives"
    permission_classes = [Organizer]
    parser_classes = [MultiPartParser]
    serializer_class = LoadSerializer
    stores_files = True

    @operation("load_archive", responses={202: LoadedSerializer})
    def post(self, request: Request) -> Response:
        """Load an archive as a new track: a job verifies it and stores all of it, or nothing."""
        data = self.validated(request)
        loaded = services.load_upload(
            upload=data["file"],
            slug=data["slug"],
            by=person_of(request),
            on_stored=lambda loaded: self.keep_answer(_queued(loaded)),
        )
        return _queued(loaded)


def _queued(loaded: LoadedArchive) -> Response:
    return accepted(LoadedSerializer(loaded).data, loaded.job_id)


class LoadedDetail(ApiView):
    tag = "Archives"
    permission_classes = [Organizer]
    serializer_class = LoadedSerializer

    @operation("get_loaded_archive")
    def get(self, request: Request, loaded_id: int) -> Response:
        """Read about an archive that is or was loaded, and what was checked of it."""
        loaded = get_object_or_404(selectors.loaded_archives(), pk=loaded_id)
        return Response(LoadedSerializer(loaded).data)


urlpatterns = [
    path("tracks/<slug:slug>/archives/", ArchiveList.as_view(), name="archives"),
    path("archives/<int:archive_id>/", ArchiveDetail.as_view(), name="archive"),
    path("archives/<int:archive_id>/file/", ArchiveFile.as_view(), name="archive_file"),
    path("archives/load/", ArchiveLoad.as_view(), name="load_archive"),
    path("archives/loaded/<int:loaded_id>/", LoadedDetail.as_view(), name="loaded_archive"),
]
