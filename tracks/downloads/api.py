"""Downloads for programs: what a track offers, and the files."""

from django.http import Http404, HttpResponseBase
from django.urls import path, reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import user_of
from tracks.agreements.services import check_accepted
from tracks.downloads import selectors, sending
from tracks.downloads.selectors import Item
from tracks.tracks.api import track_of
from web.api.permissions import Everyone
from web.api.schema import FILE, operation
from web.api.views import ApiView, FileView


class ItemSerializer(serializers.Serializer[Item]):
    """A file that you get, or a link to one elsewhere."""

    kind = serializers.CharField(help_text="topics, sample-run, instructions, collection, qrels or other.")
    name = serializers.CharField()
    description = serializers.CharField()
    n_bytes = serializers.IntegerField(allow_null=True, help_text="Null for a link.")
    sha256 = serializers.CharField(help_text="Empty for a link whose content is not known.")
    url = serializers.SerializerMethodField(help_text="The address of the file in the API, or the link.")

    def get_url(self, item: Item) -> str:
        return item.url or reverse("api:download", args=[self.context["track"].slug, item.name])


class DownloadsSerializer(serializers.Serializer[object]):
    """What a track offers to you now."""

    results = ItemSerializer(many=True)


class Downloads(ApiView):
    tag = "Downloads"
    permission_classes = [Everyone]
    serializer_class = DownloadsSerializer

    @operation("list_downloads")
    def get(self, request: Request, slug: str) -> Response:
        """List the files and links that are released to you, with sizes and SHA-256."""
        track = track_of(request, slug)
        items = {"results": list(selectors.items_for(user_of(request), track))}
        return Response(DownloadsSerializer(items, context={"track": track}).data)


class DownloadFile(FileView):
    tag = "Downloads"
    permission_classes = [Everyone]
    serializer_class = ItemSerializer

    @operation("get_download", responses=FILE)
    def get(self, request: Request, slug: str, file: str) -> HttpResponseBase:
        """Download a file, or the part of it that `Range` names. If the track has a data agreement, accept it first.

        The organizers see who fetched which file.
        """
        track, user = track_of(request, slug), user_of(request)
        item = selectors.item_named(user, track, file)
        if item is None:
            raise Http404
        check_accepted(track=track, user=user)
        return sending.send(request._request, track, item, user)


urlpatterns = [
    path("tracks/<slug:slug>/downloads/", Downloads.as_view(), name="downloads"),
    path("tracks/<slug:slug>/downloads/<str:file>", DownloadFile.as_view(), name="download"),
]
