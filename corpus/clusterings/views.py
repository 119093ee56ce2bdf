"""The page of the formulas of a collection: start to cluster them, and see where visual ids and formulas disagree."""

from django import forms
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.access import AuthenticatedRequest, creator_required, user_page
from corpus.clusterings import selectors, services
from corpus.collections.selectors import check_change, collections_for
from corpus.formulas.selectors import formula_page, has_formula
from corpus.threads.selectors import collection_page
from web.downloads import download
from web.pages import context_of
from web.translation import translated_for_assessors


class ClusteringForm(forms.Form):
    is_from_scratch = forms.BooleanField(
        required=False,
        label="Replace all ids that the index did not give",
        help_text="Pools that were built before contain the old ids. If you leave this off, formulas keep their ids.",
    )


@require_safe
@creator_required
def formulas(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The formulas of a collection, the result of clustering them, and a form to start it. Organizers only."""
    collection = get_object_or_404(collections_for(request.user), slug=slug)
    page = selectors.formulas_page(collection, request.GET.get("page"), request.GET.get("from", ""))
    return render(request, "corpus/formulas/formulas.html", context_of(page) | {"form": ClusteringForm()})


@require_POST
@creator_required
def start_clustering(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Start to cluster the formulas of a collection. Organizers only."""
    collection = get_object_or_404(collections_for(request.user), slug=slug)
    check_change(request.user, collection)
    form = ClusteringForm(request.POST)
    is_from_scratch = form.is_valid() and form.cleaned_data["is_from_scratch"]
    services.start_clustering(collection=collection, is_from_scratch=is_from_scratch, by=request.user)
    return redirect("corpus:formulas", collection.slug)


@require_safe
@creator_required
def disagreements_file(request: AuthenticatedRequest, slug: str) -> HttpResponseBase:
    """The disagreements of the ids of the index and our strings, as CSV. Organizers only."""
    collection = get_object_or_404(collections_for(request.user), slug=slug)
    return download(selectors.disagreements_csv(collection), f"{collection.slug}-visual-ids.csv")


@translated_for_assessors
@user_page
def formula(request: AuthenticatedRequest, slug: str, code: str) -> HttpResponse:
    """A formula: where it appears, and the formulas that look like it. Everyone who may read the collection."""
    collection = get_object_or_404(collections_for(request.user), slug=slug)
    page = formula_page(collection, code)
    if page is None:
        raise Http404
    return render(request, "corpus/formulas/formula.html", context_of(page))


@translated_for_assessors
@user_page
def find_formula(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Redirect from an id to the formula, or show an error. Everyone who may read the collection."""
    collection = get_object_or_404(collections_for(request.user), slug=slug)
    code = request.GET.get("formula", "").strip()
    if has_formula(collection, code):
        return redirect("corpus:formula", collection.slug, code)
    page = collection_page(collection, request.user, missing_formula=code)
    return render(request, "corpus/collections/collection.html", context_of(page), status=404)
