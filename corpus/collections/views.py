"""The pages of a collection: what it is, and its threads."""

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET

from corpus import formula_selectors, import_selectors, selectors, thread_selectors
from corpus.access import AuthenticatedRequest, person_required
from corpus.models import Collection, User


def context_of(collection: Collection, user: User, after: str = "") -> dict[str, object]:
    """What the page of a collection shows; imports are for organizers."""
    context = thread_selectors.collection_page(collection, after)
    context["formulae"] = formula_selectors.counts_in_words(collection)
    if user.is_organizer:
        context["imports"] = import_selectors.import_jobs(collection)[:10]
    return context


@person_required
@require_GET
def collection(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """What a collection is, and the way to its threads. Whoever may read it; imports are for organizers."""
    found = get_object_or_404(selectors.collections_for(request.user), slug=slug)
    context = context_of(found, request.user, request.GET.get("after", ""))
    return render(request, "corpus/collection.html", context)


@person_required
@require_GET
def find(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Lead from a docno to its thread, or back with a word on it. Whoever may read the collection."""
    found = get_object_or_404(selectors.collections_for(request.user), slug=slug)
    docno = request.GET.get("docno", "").strip()
    if thread := thread_selectors.thread_of(found, docno):
        return redirect(thread_selectors.address(found, thread, docno))
    context = context_of(found, request.user) | {"missing": docno}
    return render(request, "corpus/collection.html", context, status=404)


@person_required
@require_GET
def thread(request: AuthenticatedRequest, slug: str, docno: str) -> HttpResponse:
    """A thread; the docno of an answer leads to its thread. Whoever may read the collection."""
    collection = get_object_or_404(selectors.collections_for(request.user), slug=slug)
    if found := thread_selectors.thread(collection, docno):
        return render(request, "corpus/thread.html", {"collection": collection, "thread": found})
    if head := thread_selectors.thread_of(collection, docno):
        return redirect(thread_selectors.address(collection, head, docno))
    raise Http404
