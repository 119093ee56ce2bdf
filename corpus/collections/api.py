"""Collections for programs."""

from django.shortcuts import get_object_or_404
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import user_of
from corpus.collections import selectors
from corpus.models import Collection
from web.api.schema import operation
from web.api.views import ApiView, ListView


class CollectionSerializer(serializers.ModelSerializer[Collection]):
    """A set of documents."""

    counts = serializers.DictField(
        child=serializers.IntegerField(), help_text="How many rows of each kind it has."
    )

    class Meta:
        model = Collection
        fields = ["slug", "name", "description", "license", "status", "counts"]


class CollectionList(ListView):
    tag = "Collections"
    serializer_class = CollectionSerializer
    ordering = ("slug",)

    @operation("list_collections")
    def get(self, request: Request) -> Response:
        """List the collections that you may read."""
        return self.listed(selectors.collections_for(user_of(request)), CollectionSerializer)


class CollectionDetail(ApiView):
    tag = "Collections"
    serializer_class = CollectionSerializer

    @operation("get_collection")
    def get(self, request: Request, slug: str) -> Response:
        """Read about a collection."""
        collection = get_object_or_404(selectors.collections_for(user_of(request)), slug=slug)
        return Response(CollectionSerializer(collection).data)


urlpatterns = [
    path("collections/", CollectionList.as_view(), name="collections"),
    path("collections/<slug:slug>/", CollectionDetail.as_view(), name="collection"),
]
