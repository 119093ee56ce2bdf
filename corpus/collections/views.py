"""The pages of a collection: what it is, and its threads."""

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET

from accounts.access import AuthenticatedRequest, person_required
from accounts.models import User
from corpus.collections import selectors
from corpus.formulas import selectors as formula_selectors
from corpus.imports import selectors as import_selectors
from corpus.models import Collection
from corpus.threads import selectors as thread_selectors


def context_of(collection: Collection, user: User, after: str = "") -> dict[str, object]:
    """What the page of a collection shows; imports are for organizers."""
    context = thread_selectors.collection_page(collection, after)
    context["formulas"] = formula_selectors.counts_in_words(collection)
    if user.is_organizer:
        context["imports"] = import_selectors.import_jobs(collection)[:10]
    return context


@person_required
@require_GET
def collection(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """What a collection is, and the way to its threads. Whoever may read it; imports are for organizers."""
    found = get_object_or_404(selectors.collections_for(request.user), slug=slug)
    context = context_of(found, request.user, request.GET.get("after", ""))
    return render(request, "corpus/collections/collection.html", context)


@person_required
@require_GET
def find(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Lead from a docno to its thread, or back with a word on it. Whoever may read the collection."""
    found = get_object_or_404(selectors.collections_for(request.user), slug=slug)
    docno = request.GET.get("docno", "").strip()
    if thread := thread_selectors.thread_of(found, docno):
        return redirect(thread_selectors.address(found, thread, docno))
    context = context_of(found, request.user) | {"missing": docno}
    return render(request, "corpus/collections/collection.html", context, status=404)


@require_GET
@person_required
def collections(request: AuthenticatedRequest) -> HttpResponse:
    """The collections that one may read. Everybody who has logged in."""
    return render(
        request,
        "corpus/collections/collections.html",
        {"collections": selectors.collections_for(request.user)},
    )
