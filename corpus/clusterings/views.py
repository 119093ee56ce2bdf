"""The pages on which organizers have formulae clustered, and read where ids and strings disagree."""

from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from corpus import clustering_selectors, clustering_services, selectors
from corpus.access import AuthenticatedRequest, organizer_required
from corpus.clustering_forms import ClusteringForm


@require_GET
@organizer_required
def formulae(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The formulae of a collection, what clustering made of them, and the way to start it. Organizers only."""
    collection = get_object_or_404(selectors.collections_for(request.user), slug=slug)
    context = clustering_selectors.formulae_page(collection, request.GET.get("page"))
    return render(request, "corpus/formulae.html", context | {"form": ClusteringForm()})


@require_POST
@organizer_required
def start_clustering(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Have the formulae of a collection clustered. Organizers only."""
    collection = get_object_or_404(selectors.collections_for(request.user), slug=slug)
    form = ClusteringForm(request.POST)
    is_anew = form.is_valid() and form.cleaned_data["is_anew"]
    clustering_services.start_clustering(collection=collection, is_anew=is_anew, by=request.user)
    return redirect("corpus:formulae", collection.slug)


@require_GET
@organizer_required
def disagreements_file(request: AuthenticatedRequest, slug: str) -> StreamingHttpResponse:
    """Where given ids and our strings disagree, as CSV. Organizers only."""
    collection = get_object_or_404(selectors.collections_for(request.user), slug=slug)
    response = StreamingHttpResponse(
        clustering_selectors.disagreements_csv(collection), content_type="text/csv; charset=utf-8"
    )
    response["Content-Disposition"] = f'attachment; filename="{collection.slug}-visual-ids.csv"'
    return response
