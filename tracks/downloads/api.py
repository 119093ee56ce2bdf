"""Downloads for programs: what a track offers, and the files."""

from typing import Any

from django.http import Http404
from django.urls import reverse
from django.utils.datastructures import MultiValueDict
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of, user_of
from jobs.api import JobSerializer
from jobs.models import Job
from tracks.agreements.services import check_accepted
from tracks.downloads import jobs, selectors, services
from tracks.downloads.contents import Item
from tracks.downloads.forms import HIDDEN, LATER, NOW, AttachForm, form_of
from tracks.downloads.services import ATTACHED
from tracks.models import Download, Fetch
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.conditional import require_match
from web.api.filters import Filter
from web.api.pagination import page_of
from web.api.parsers import JSONParser
from web.api.permissions import Everyone, Organizer
from web.api.serializers import Address, Strict, require_valid
from web.api.views import Endpoints, accepted, created, delete, get, get_file, patch, post


class ItemSerializer(serializers.Serializer[Item]):
    """A file that you get, or a link to one elsewhere."""

    kind = serializers.CharField(help_text="topics, sample-run, instructions, collection, qrels or other.")
    file_name = serializers.CharField(source="name")
    description = serializers.CharField()
    n_bytes = serializers.IntegerField(allow_null=True, help_text="Null for a link.")
    sha256 = serializers.CharField(help_text="Empty for a link whose content is not known.")
    url = serializers.SerializerMethodField(help_text="The address of the file in the API, or the link.")

    def get_url(self, item: Item) -> str:
        return item.url or reverse("api:download", args=[self.context["track"].slug, item.name])


DownloadPartSerializer = answer(
    Download,
    "DownloadPart",
    "url key kind file_name=name description link text sha256 n_bytes released_to released_at zone",
    "A part of the downloads as organizers manage it: an attached file or link, the instructions, or made files.",
    url=Address("api:download_part", "track.slug", "key", help_text="The address of this part in the API."),
    key=serializers.CharField(help_text="Of the part: its kind, or for an attached one its id."),
    kind=serializers.CharField(help_text="topics, sample-run, instructions, collection, qrels or other."),
    link=serializers.CharField(source="url", help_text="Empty for a file."),
    released_to=serializers.CharField(source="audience", help_text="everyone or teams."),
)


class PartReleaseSerializer(Strict):
    """The people who get a part, and its start."""

    released_to = serializers.ChoiceField(Download.Audience.values, required=False, source="audience")
    release = serializers.ChoiceField([HIDDEN, NOW, LATER], required=False)
    released_at = serializers.CharField(
        max_length=40,
        required=False,
        help_text="If it is released `later`: as `2026-05-01T23:59` in the zone.",
    )
    zone = serializers.CharField(
        max_length=64, required=False, help_text="AoE, UTC, or a name of the IANA database; AoE without it."
    )
    description = serializers.CharField(max_length=1000, required=False, allow_blank=True)


class DownloadPartChangeSerializer(PartReleaseSerializer):
    """The changes of a part. What is left out stays. Each kind of part has only some of the fields."""

    text = serializers.CharField(required=False, allow_blank=True, help_text="Of the instructions: Markdown.")
    has_labels = serializers.BooleanField(
        source="shows_labels", required=False, help_text="Of the topics: their labels are public."
    )


class NewDownloadSerializer(PartReleaseSerializer):
    """A file, a file of the import folder or a link, which is attached. Without `release`, it is not released."""

    kind = serializers.ChoiceField(list(ATTACHED), help_text="The section of the page.")
    upload = serializers.FileField(required=False, help_text="The file. One of `upload`, `path` and `url`.")
    path = serializers.CharField(
        required=False,
        max_length=1000,
        help_text="A file in the import folder of the server; a job stores it.",
    )
    url = serializers.CharField(required=False, max_length=1000, help_text="A link.")
    file_name = serializers.CharField(
        source="name",
        required=False,
        max_length=200,
        help_text="Without it: that of the file or of the link.",
    )
    sha256 = serializers.CharField(required=False, max_length=64, help_text="Of the file of a link.")


FetchSerializer = answer(
    Fetch,
    "Fetch",
    "created_at created_by file_name=name sha256",
    "Somebody fetched a file.",
    created_by=serializers.CharField(
        source="user.username", default=None, allow_null=True, help_text="Null for a visitor."
    ),
)


DOWNLOAD_PART = ("tracks/<slug:slug>/downloads/parts/<slug:key>/", "download_part")


class Downloads(Endpoints):
    tag = "Downloads"
    permission_classes = [Everyone]

    @get("tracks/<slug:slug>/downloads/", "downloads", ItemSerializer(many=True))
    def list_downloads(self, request: Request, slug: str) -> object:
        """List the files and links that are released to you, with sizes and SHA-256."""
        track = track_of(request, slug)
        items: Any = list(selectors.items_for(user_of(request), track))
        rows = ItemSerializer(items, many=True, context={"track": track}).data
        return Response(page_of(rows, len(rows)))

    @get_file("tracks/<slug:slug>/downloads/files/<str:file>/", "download")
    def download_file(self, request: Request, slug: str, file: str) -> object:
        """Download a file, or the part of it that `Range` names. If the track has a data agreement, accept it first.

        The organizers see who fetched which file.
        """
        track, user = track_of(request, slug), user_of(request)
        item = selectors.item_named(user, track, file)
        if item is None:
            raise Http404
        check_accepted(track=track, user=user)
        return services.send(request._request, track, item, user)

    @get(
        "tracks/<slug:slug>/downloads/parts/",
        "download_parts",
        DownloadPartSerializer(many=True),
        who=[Organizer],
    )
    def list_download_parts(self, request: Request, slug: str) -> object:
        """List the parts of the downloads, released or not: who gets each, and since when."""
        return selectors.parts_of(track_of(request, slug))

    @post(
        "tracks/<slug:slug>/downloads/parts/",
        "download_parts",
        {
            201: DownloadPartSerializer,
            202: OpenApiResponse(JobSerializer, "A job stores the file of the import folder."),
        },
        takes=NewDownloadSerializer,
        who=[Organizer],
        parsers=[MultiPartParser, JSONParser],
        stores_files=True,
    )
    def create_download_part(self, request: Request, slug: str) -> object:
        """Attach a file or a link to the downloads of a track."""
        track, data = track_of(request, slug), self.validated(request)
        files = MultiValueDict({"upload": [data.pop("upload")]} if "upload" in data else {})
        form = AttachForm({**AttachForm().initial, **data}, files)
        require_valid(form)
        attached = jobs.attach_part(track=track, by=person_of(request), **form.arguments)
        if isinstance(attached, Job):
            return accepted(JobSerializer(attached).data, attached.pk)
        shown = DownloadPartSerializer(attached).data
        return created(shown, shown["url"])

    @get(*DOWNLOAD_PART, DownloadPartSerializer, who=[Organizer])
    def get_download_part(self, request: Request, slug: str, key: str) -> object:
        """Read who gets a part of the downloads, and its start."""
        return selectors.part_or_404(track_of(request, slug), key)

    @patch(*DOWNLOAD_PART, DownloadPartSerializer, takes=DownloadPartChangeSerializer, who=[Organizer])
    def update_download_part(self, request: Request, slug: str, key: str) -> object:
        """Release a part, and change its text."""
        track = track_of(request, slug)
        row = selectors.part_or_404(track, key)
        require_match(request, DownloadPartSerializer(row).data)
        data = self.validated(request)
        form_class = form_of(row)
        if others := sorted(data.keys() - form_class.base_fields):
            known = DownloadPartChangeSerializer().fields.items()
            names = ", ".join(name for name, field in known if field.source in form_class.base_fields)
            raise serializers.ValidationError({others[0]: f"This part does not have it. Accepted: {names}."})
        stored = form_class(download=row, initial={"shows_labels": track.shows_labels}).initial
        form = form_class({**stored, **data}, download=row)
        require_valid(form)
        return services.edit(download=row, **form.arguments)

    @delete(*DOWNLOAD_PART, who=[Organizer])
    def delete_download_part(self, request: Request, slug: str, key: str) -> None:
        """Remove an attached file or link. The log of its downloads is kept."""
        row = selectors.part_or_404(track_of(request, slug), key)
        if not row.name:
            raise Http404
        require_match(request, DownloadPartSerializer(row).data)
        services.remove(download=row)

    @post(
        "tracks/<slug:slug>/downloads/export/",
        "export_collection",
        JobSerializer,
        status=202,
        who=[Organizer],
    )
    def export_collection(self, request: Request, slug: str) -> object:
        """Write the collection of a track to files of its downloads, in a job. They are not released."""
        job = jobs.request_export(track=track_of(request, slug), by=person_of(request))
        return accepted(JobSerializer(job).data, job.pk)

    @get(
        "tracks/<slug:slug>/downloads/fetches/",
        "fetches",
        FetchSerializer,
        ordering=("-pk",),
        who=[Organizer],
        filters=[Filter("file_name", "name"), Filter("created_by", "user__username")],
        orders=["created_at"],
    )
    def list_fetches(self, request: Request, slug: str) -> object:
        """List who fetched which file of a track, newest first."""
        return selectors.fetches_of(track_of(request, slug))


urlpatterns = Downloads.urls()
