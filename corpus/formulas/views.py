"""The page of a formula. `corpus.clusterings` has the page of all formulas of a collection."""

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, login_required
from corpus.collections.selectors import collections_for
from corpus.formulas import selectors
from corpus.threads.selectors import collection_page
from web.pages import context_of


@login_required
@require_safe
def formula(request: AuthenticatedRequest, slug: str, code: str) -> HttpResponse:
    """A formula: where it appears, and the formulas that look like it. Everyone who may read the collection."""
    collection = get_object_or_404(collections_for(request.user), slug=slug)
    page = selectors.formula_page(collection, code)
    if page is None:
        raise Http404
    return render(request, "corpus/formulas/formula.html", context_of(page))


@login_required
@require_safe
def find_formula(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Redirect from an id to the formula, or show an error. Everyone who may read the collection."""
    collection = get_object_or_404(collections_for(request.user), slug=slug)
    code = request.GET.get("formula", "").strip()
    if selectors.has_formula(collection, code):
        return redirect("corpus:formula", collection.slug, code)
    page = collection_page(collection, request.user, missing_formula=code)
    return render(request, "corpus/collections/collection.html", context_of(page), status=404)
