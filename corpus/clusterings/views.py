"""Start a clustering, and download where visual ids and formulas disagree. `corpus.formulas` has the page."""

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from accounts.access import AuthenticatedRequest, organizer_required
from corpus.clusterings import selectors, services
from corpus.clusterings.forms import ClusteringForm
from corpus.collections import selectors as collection_selectors
from web.downloads import download


@require_POST
@organizer_required
def start_clustering(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Start to cluster the formulas of a collection. Organizers only."""
    collection = get_object_or_404(collection_selectors.collections_for(request.user), slug=slug)
    form = ClusteringForm(request.POST)
    is_anew = form.is_valid() and form.cleaned_data["is_anew"]
    services.start_clustering(collection=collection, is_anew=is_anew, by=request.user)
    return redirect("corpus:formulas", collection.slug)


@require_safe
@organizer_required
def disagreements_file(request: AuthenticatedRequest, slug: str) -> HttpResponseBase:
    """Where the ids of the index and our strings disagree, as CSV. Organizers only."""
    collection = get_object_or_404(collection_selectors.collections_for(request.user), slug=slug)
    return download(selectors.disagreements_csv(collection), f"{collection.slug}-visual-ids.csv")
