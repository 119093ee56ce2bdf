"""The page of a thread."""

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, login_required
from corpus.collections import selectors as collection_selectors
from corpus.threads import selectors


@login_required
@require_safe
def thread(request: AuthenticatedRequest, slug: str, docno: str) -> HttpResponse:
    """A thread, with the formula `formula` marked. The docno of an answer redirects to its thread.

    Everyone who may read the collection.
    """
    collection = get_object_or_404(collection_selectors.collections_for(request.user), slug=slug)
    if thread := selectors.thread(collection, docno, formula=request.GET.get("formula", "")):
        return render(request, "corpus/threads/thread.html", {"collection": collection, "thread": thread})
    if head := selectors.thread_of(collection, docno):
        return redirect(selectors.address(collection, head, docno))
    raise Http404
