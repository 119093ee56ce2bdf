"""The pages of collections."""

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, login_required
from corpus.collections import selectors
from corpus.threads import selectors as thread_selectors
from web.pages import context_of


@require_safe
@login_required
def collections(request: AuthenticatedRequest) -> HttpResponse:
    """The collections that the user may read. Everyone who has logged in."""
    collections = selectors.collections_for(request.user)
    return render(request, "corpus/collections/collections.html", {"collections": collections})


@login_required
@require_safe
def collection(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """A collection with a list of its threads. Everyone who may read the collection."""
    collection = get_object_or_404(selectors.collections_for(request.user), slug=slug)
    page = selectors.collection_page(collection, request.user, after=request.GET.get("after", ""))
    return render(request, "corpus/collections/collection.html", context_of(page))


@login_required
@require_safe
def find(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Redirect from a docno to its thread, or show an error. Everyone who may read the collection."""
    collection = get_object_or_404(selectors.collections_for(request.user), slug=slug)
    docno = request.GET.get("docno", "").strip()
    if thread := thread_selectors.thread_of(collection, docno):
        return redirect(thread_selectors.address(collection, thread, docno))
    page = selectors.collection_page(collection, request.user, missing_docno=docno)
    return render(request, "corpus/collections/collection.html", context_of(page), status=404)
