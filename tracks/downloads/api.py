"""Downloads for programs: what a track offers, and the files."""

from typing import Any

from django.http import Http404
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import user_of
from tracks.agreements.services import check_accepted
from tracks.downloads import selectors, services
from tracks.downloads.contents import Item
from tracks.tracks.api import track_of
from web.api.permissions import Everyone
from web.api.schema import FILE
from web.api.views import FILE_RENDERERS, Endpoints, get


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
    """The downloads that a track offers to you now."""

    results = ItemSerializer(many=True)


class Downloads(Endpoints):
    tag = "Downloads"
    permission_classes = [Everyone]

    @get("tracks/<slug:slug>/downloads/", "downloads", DownloadsSerializer)
    def list_downloads(self, request: Request, slug: str) -> Any:
        """List the files and links that are released to you, with sizes and SHA-256."""
        track = track_of(request, slug)
        items = {"results": list(selectors.items_for(user_of(request), track))}
        return Response(DownloadsSerializer(items, context={"track": track}).data)

    @get("tracks/<slug:slug>/downloads/<str:file>", "download", FILE, renderers=FILE_RENDERERS)
    def get_download(self, request: Request, slug: str, file: str) -> Any:
        """Download a file, or the part of it that `Range` names. If the track has a data agreement, accept it first.

        The organizers see who fetched which file.
        """
        track, user = track_of(request, slug), user_of(request)
        item = selectors.item_named(user, track, file)
        if item is None:
            raise Http404
        check_accepted(track=track, user=user)
        return services.send(request._request, track, item, user)


urlpatterns = Downloads.urls()
