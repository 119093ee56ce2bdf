"""The pages of formulas: all formulas of a collection, and a single formula."""

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, login_required, organizer_required
from corpus.clusterings.forms import ClusteringForm
from corpus.collections import selectors as collection_selectors
from corpus.formulas import selectors
from web.pages import context_of


@require_safe
@organizer_required
def formulas(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The formulas of a collection, the result of clustering them, and a form to start it. Organizers only."""
    collection = get_object_or_404(collection_selectors.collections_for(request.user), slug=slug)
    page = selectors.formulas_page(collection, request.GET.get("page"))
    return render(request, "corpus/formulas/formulas.html", context_of(page) | {"form": ClusteringForm()})


@login_required
@require_safe
def formula(request: AuthenticatedRequest, slug: str, code: str) -> HttpResponse:
    """A formula: where it appears, and the formulas that look like it. Everyone who may read the collection."""
    collection = get_object_or_404(collection_selectors.collections_for(request.user), slug=slug)
    page = selectors.formula_page(collection, code)
    if page is None:
        raise Http404
    return render(request, "corpus/formulas/formula.html", context_of(page))


@login_required
@require_safe
def find_formula(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Redirect from an id to the formula, or show an error. Everyone who may read the collection."""
    collection = get_object_or_404(collection_selectors.collections_for(request.user), slug=slug)
    code = request.GET.get("formula", "").strip()
    if selectors.has_formula(collection, code):
        return redirect("corpus:formula", collection.slug, code)
    page = collection_selectors.collection_page(collection, request.user, missing_formula=code)
    return render(request, "corpus/collections/collection.html", context_of(page), status=404)
