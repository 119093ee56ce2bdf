"""The visual ids of formulas for programs."""

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of
from corpus.clusterings import selectors, services
from corpus.collections.selectors import check_change, collections_for
from jobs.api import JobSerializer
from web.api.permissions import Creator
from web.api.serializers import Strict
from web.api.views import Endpoints, accepted, get_file, post
from web.downloads import download


class ClusteringSerializer(Strict):
    """The formulas that get an id."""

    is_from_scratch = serializers.BooleanField(
        default=False,
        help_text="Replace all ids that the index did not give. Pools that were built before contain the old ids.",
    )


class Clusterings(Endpoints):
    tag = "Collections"

    @post(
        "collections/<slug:slug>/cluster/",
        "cluster_formulas",
        JobSerializer,
        takes=ClusteringSerializer,
        status=202,
        who=[Creator],
    )
    def cluster_formulas(self, request: Request, slug: str) -> object:
        """Give formulas that look alike the same visual id, in a job."""
        user = person_of(request)
        collection = get_object_or_404(collections_for(user), slug=slug)
        check_change(user, collection)
        job = services.start_clustering(collection=collection, by=user, **self.validated(request))
        return accepted(JobSerializer(job).data, job.pk)

    @get_file("collections/<slug:slug>/visual-ids/", "visual_id_disagreements", "text/csv", who=[Creator])
    def download_visual_id_disagreements(self, request: Request, slug: str) -> object:
        """Download where the visual ids of the index and the look of formulas disagree, as CSV."""
        collection = get_object_or_404(collections_for(person_of(request)), slug=slug)
        return download(selectors.disagreements_csv(collection), f"{collection.slug}-visual-ids.csv")


urlpatterns = Clusterings.urls()
