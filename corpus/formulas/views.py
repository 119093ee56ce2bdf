"""The pages of a formula."""

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET

from accounts.access import AuthenticatedRequest, person_required
from corpus.collections import selectors as collection_selectors
from corpus.collections.views import context_of
from corpus.formulas import selectors


@person_required
@require_GET
def formula(request: AuthenticatedRequest, slug: str, code: str) -> HttpResponse:
    """A formula: where it stands, and those that look like it. Whoever may read the collection."""
    collection = get_object_or_404(collection_selectors.collections_for(request.user), slug=slug)
    context = selectors.formula_page(collection, code)
    if context is None:
        raise Http404
    return render(request, "corpus/formulas/formula.html", context)


@person_required
@require_GET
def find_formula(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Lead from an id to the formula's page, or back with a word on it. Whoever may read the collection."""
    collection = get_object_or_404(collection_selectors.collections_for(request.user), slug=slug)
    code = request.GET.get("formula", "").strip()
    if selectors.has_formula(collection, code):
        return redirect("corpus:formula", collection.slug, code)
    context = context_of(collection, request.user) | {"missing_formula": code}
    return render(request, "corpus/collections/collection.html", context, status=404)
