"""Collections for programs."""

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of, user_of
from corpus.collections import selectors, services
from corpus.models import Collection
from jobs.api import JobSerializer
from web.api.answers import answer
from web.api.filters import Filter
from web.api.permissions import Creator
from web.api.views import Endpoints, accepted, delete, get

CollectionSerializer = answer(
    Collection,
    "Collection",
    "slug name description license status counts",
    "A set of documents.",
    counts=serializers.DictField(
        child=serializers.IntegerField(), help_text="How many rows of each kind it has."
    ),
)


class Collections(Endpoints):
    tag = "Collections"

    @get(
        "collections/",
        "collections",
        CollectionSerializer,
        ordering=("slug",),
        filters=[Filter("status", values=Collection.Status.values)],
        searches=("slug", "name", "description"),
        orders=["slug"],
    )
    def list_collections(self, request: Request) -> object:
        """List the collections that you may read."""
        return selectors.collections_for(user_of(request))

    @get("collections/<slug:slug>/", "collection", CollectionSerializer)
    def get_collection(self, request: Request, slug: str) -> object:
        """Read about a collection."""
        return get_object_or_404(selectors.collections_for(user_of(request)), slug=slug)

    @delete("collections/<slug:slug>/", "collection", JobSerializer, who=[Creator], status=202)
    def delete_collection(self, request: Request, slug: str) -> object:
        """Delete a collection that no track uses, with its documents, formulas and images, in a job.

        Who imported it, and administrators.
        """
        user = person_of(request)
        collection = get_object_or_404(selectors.changeable_by(user), slug=slug)
        job = services.request_deletion(collection=collection, by=user)
        return accepted(JobSerializer(job).data, job.pk)


urlpatterns = Collections.urls()
