"""Archives of tracks for programs: make, download and delete them, and load one."""

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of
from publishing.archives import selectors, services
from publishing.archives.forms import DATASET, ArchiveForm
from publishing.models import ARCHIVE, Archive, LoadedArchive, forms, parts
from tracks.models import StoredProtocol
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.filters import Filter
from web.api.permissions import Creator, LoggedIn, Organizer
from web.api.serializers import Address, JobAddress, Strict, require_valid
from web.api.views import Endpoints, accepted, delete, get, get_file, post
from web.downloads import stored_file

ArchiveSerializer = answer(
    Archive,
    "Archive",
    "id url track=track.slug format=form status has_names has_comments parts authors license doi n_bytes=size sha256 "
    "counts job created_at",
    "One file with everything of a track, as it was when the job made it.",
    url=Address("api:archive", help_text="The address of this archive in the API."),
    status=serializers.CharField(help_text="building, ready or failed."),
    parts=serializers.ListField(
        child=serializers.CharField(), help_text="The extensions whose files are in it."
    ),
    counts=serializers.DictField(
        help_text="What it has, such as runs and judgments, or documents and topics."
    ),
    job=JobAddress(help_text="The address of the job that makes it."),
)


class NewArchiveSerializer(Strict):
    """The content of an archive, and its citation."""

    format = serializers.ChoiceField(
        forms(),
        source="form",
        default=ARCHIVE,
        help_text="`archive`: everything of the track. The others have documents, topics and the newest qrels.",
    )
    has_names = serializers.BooleanField(
        default=False, help_text="With the names of the assessors, not code names."
    )
    has_comments = serializers.BooleanField(default=False, help_text="With the comments of the assessors.")
    parts = serializers.ListField(
        child=serializers.ChoiceField(parts()),
        default=list,
        help_text="The extensions whose files are in it too. `machines`: judges, and what models replied.",
    )
    authors = serializers.CharField(
        default="", allow_blank=True, help_text="One name per line; an ORCID iD may follow it."
    )
    license = serializers.CharField(
        default="", allow_blank=True, max_length=200, help_text="Its URL or name."
    )
    url = serializers.CharField(
        default="", allow_blank=True, max_length=300, help_text="Where the test collection is described."
    )
    doi = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=200,
        help_text="Reserved for it, such as 10.5281/zenodo.1234.",
    )


class LoadSerializer(Strict):
    """An archive to load."""

    file = serializers.FileField(
        help_text="A .zip file made by Assay, or with a protocol one of BEIR, Hugging Face or ir_datasets."
    )
    slug = serializers.SlugField(
        max_length=100, required=False, default="", help_text="Of the track. Without it: as in the archive."
    )
    protocol = serializers.SlugRelatedField(
        slug_field="slug",
        queryset=StoredProtocol.objects.all(),
        required=False,
        default=None,
        help_text="The slug of a protocol, for a test collection, whose files do not name one.",
    )


class FetchSerializer(Strict):
    """A data set of ir_datasets to fetch."""

    dataset = serializers.RegexField(
        DATASET, max_length=200, help_text="Its id in ir_datasets, such as beir/scifact/test."
    )
    slug = serializers.SlugField(
        max_length=100, required=False, default="", help_text="Of the track. Without it: from the id."
    )
    protocol = serializers.SlugRelatedField(
        slug_field="slug", queryset=StoredProtocol.objects.all(), help_text="The slug of a protocol."
    )


class PartSerializer(serializers.Serializer[object]):
    """A part of an archive that was checked."""

    part = serializers.CharField()
    content = serializers.CharField(help_text="What was checked.")
    problem = serializers.CharField(help_text="What is wrong; empty if nothing is.")


LoadedSerializer = answer(
    LoadedArchive,
    "Loaded",
    "id url file_name=name n_bytes=size sha256 status track=track.slug findings created_at",
    "An archive that is or was loaded.",
    url=Address("api:loaded_archive", help_text="The address of this upload in the API."),
    status=serializers.CharField(help_text="loading, loaded or failed."),
    findings=PartSerializer(many=True, help_text="Its parts, as they were checked."),
)


def _queued(loaded: LoadedArchive) -> Response:
    return accepted(LoadedSerializer(loaded).data, loaded.job_id)


ARCHIVES = ("tracks/<slug:slug>/archives/", "archives", ArchiveSerializer)


class Archives(Endpoints):
    tag = "Archives"
    permission_classes = [Organizer]

    @get(*ARCHIVES, ordering=("-pk",), filters=[Filter("status", values=Archive.Status.values)])
    def list_archives(self, request: Request, slug: str) -> object:
        """List the archives of a track, newest first."""
        return selectors.archives().filter(track=track_of(request, slug))

    @post(*ARCHIVES, takes=NewArchiveSerializer, status=202)
    def create_archive(self, request: Request, slug: str) -> object:
        """Make an archive of a track."""
        track, data = track_of(request, slug), self.validated(request)
        form = ArchiveForm(data, instance=Archive(track=track))
        require_valid(form)
        archive = services.request(track=track, by=person_of(request), **form.cleaned_data)
        return accepted(ArchiveSerializer(archive).data, archive.job_id)

    @get("archives/<int:archive_id>/", "archive", ArchiveSerializer)
    def get_archive(self, request: Request, archive_id: int) -> object:
        """Read about an archive."""
        return get_object_or_404(selectors.archives(), pk=archive_id)

    @delete("archives/<int:archive_id>/", "archive", takes=ArchiveSerializer)
    def delete_archive(self, request: Request, archive_id: int) -> None:
        """Delete an archive and its file. It can be made again, but it will show the track as it is then."""
        services.delete(archive=get_object_or_404(selectors.archives(), pk=archive_id))

    @get_file("archives/<int:archive_id>/file/", "archive_file", "application/zip")
    def download_archive(self, request: Request, archive_id: int) -> object:
        """Download an archive that is ready."""
        ready = selectors.archives().filter(status=Archive.Status.READY)
        archive = get_object_or_404(ready, pk=archive_id)
        return stored_file(request, archive.file, archive.sha256, str(archive))

    @post(
        "archives/load/",
        "load_archive",
        LoadedSerializer,
        takes=LoadSerializer,
        status=202,
        parsers=[MultiPartParser],
        stores_files=True,
        who=[Creator],
    )
    def load_archive(self, request: Request) -> object:
        """Load an archive, or a test collection, as a new track: a job checks and stores all of it, or nothing."""
        data = self.validated(request)
        loaded = services.load_upload(
            upload=data["file"],
            slug=data["slug"],
            protocol=data["protocol"],
            by=person_of(request),
            on_stored=lambda loaded: self.keep_answer(_queued(loaded)),
        )
        return _queued(loaded)

    @post(
        "archives/fetch/",
        "fetch_collection",
        LoadedSerializer,
        takes=FetchSerializer,
        status=202,
        who=[Creator],
    )
    def fetch_collection(self, request: Request) -> object:
        """Fetch a data set with ir_datasets as a new track and collection, if the site is set to allow it."""
        return _queued(services.fetch(by=person_of(request), **self.validated(request)))

    @get("archives/loaded/<int:loaded_id>/", "loaded_archive", LoadedSerializer, who=[LoggedIn])
    def get_loaded_archive(self, request: Request, loaded_id: int) -> object:
        """Read about an archive that is or was loaded, and what was checked of it."""
        return get_object_or_404(selectors.loaded_archives(person_of(request)), pk=loaded_id)


urlpatterns = Archives.urls()
