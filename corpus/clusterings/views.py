"""The pages on which organizers have formulas clustered, and read where ids and strings disagree."""

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from accounts.access import AuthenticatedRequest, organizer_required
from corpus.clusterings import selectors, services
from corpus.clusterings.forms import ClusteringForm
from corpus.collections import selectors as collection_selectors
from web.downloads import download


@require_GET
@organizer_required
def formulas(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The formulas of a collection, what clustering made of them, and the way to start it. Organizers only."""
    collection = get_object_or_404(collection_selectors.collections_for(request.user), slug=slug)
    context = selectors.formulas_page(collection, request.GET.get("page"))
    return render(request, "corpus/clusterings/formulas.html", context | {"form": ClusteringForm()})


@require_POST
@organizer_required
def start_clustering(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Have the formulas of a collection clustered. Organizers only."""
    collection = get_object_or_404(collection_selectors.collections_for(request.user), slug=slug)
    form = ClusteringForm(request.POST)
    is_anew = form.is_valid() and form.cleaned_data["is_anew"]
    services.start_clustering(collection=collection, is_anew=is_anew, by=request.user)
    return redirect("corpus:formulas", collection.slug)


@require_GET
@organizer_required
def disagreements_file(request: AuthenticatedRequest, slug: str) -> HttpResponseBase:
    """Where given ids and our strings disagree, as CSV. Organizers only."""
    collection = get_object_or_404(collection_selectors.collections_for(request.user), slug=slug)
    return download(selectors.disagreements_csv(collection), f"{collection.slug}-visual-ids.csv")
