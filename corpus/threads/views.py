"""The pages of collections and of a thread."""

from django.http import FileResponse, Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, creator_required, guests_welcome, user_page
from corpus.collections import services
from corpus.collections.selectors import changeable_by, collections_for, counts_in_words
from corpus.images.selectors import image_of
from corpus.threads import selectors
from web.confirmation import confirmation_page, deletion
from web.pages import context_of, read_and_post
from web.translation import translated_for_assessors


@translated_for_assessors
@user_page
def collections_page(request: AuthenticatedRequest) -> HttpResponse:
    """The collections that the user may read. Everyone who has logged in."""
    collections = collections_for(request.user)
    return render(request, "corpus/collections/collections.html", {"collections": collections})


@translated_for_assessors
@user_page
def collection_page(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """A collection with a list of its threads. Everyone who may read the collection."""
    with_build = collections_for(request.user).select_related("build").defer("build__manifest")
    collection = get_object_or_404(with_build, slug=slug)
    page = selectors.collection_page(collection, request.user, after=request.GET.get("after", ""))
    return render(request, "corpus/collections/collection.html", context_of(page))


@read_and_post
@creator_required
def delete_collection(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Ask, then delete a collection that no track uses. Who imported it, and administrators."""
    row = get_object_or_404(changeable_by(request.user), slug=slug)
    goes_with = counts_in_words(row.counts)
    page = deletion(row, "collection", lambda: services.check_deletion(row), goes_with=goes_with)
    if not page.is_given(request):
        return confirmation_page(request, page)
    return redirect(services.request_deletion(collection=row, by=request.user))


@translated_for_assessors
@user_page
def find(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Redirect from a docno to its thread, or show an error. Everyone who may read the collection."""
    collection = get_object_or_404(collections_for(request.user), slug=slug)
    docno = request.GET.get("docno", "").strip()
    if thread := selectors.thread_of(collection, docno):
        return redirect(selectors.address(collection, thread, docno))
    page = selectors.collection_page(collection, request.user, missing_docno=docno)
    return render(request, "corpus/collections/collection.html", context_of(page), status=404)


@translated_for_assessors
@user_page
def thread_page(request: AuthenticatedRequest, slug: str, docno: str) -> HttpResponse:
    """A thread, with the formula `formula` marked. The docno of an answer redirects to its thread.

    Everyone who may read the collection.
    """
    collection = get_object_or_404(collections_for(request.user), slug=slug)
    if thread := selectors.thread_page(collection, docno, formula=request.GET.get("formula", "")):
        return render(request, "corpus/threads/thread.html", {"collection": collection, "thread": thread})
    if head := selectors.thread_of(collection, docno):
        return redirect(selectors.address(collection, head, docno))
    raise Http404


FOREVER = "private, max-age=31536000, immutable"  # the address of an image contains the digest of its content


@guests_welcome
@require_safe
def image_file(request: AuthenticatedRequest, slug: str, sha256: str) -> HttpResponseBase:
    """An image of a collection. Everyone who may read the collection."""
    collection = get_object_or_404(collections_for(request.user), slug=slug)
    image = image_of(collection, sha256)
    if image is None:
        raise Http404
    etag = f'"{image.sha256}"'
    response: HttpResponseBase | None = get_conditional_response(request, etag=etag)
    if response is None:
        try:
            response = FileResponse(image.file.open("rb"), content_type=image.content_type)
        except FileNotFoundError:
            raise Http404 from None
    response["Cache-Control"], response["ETag"] = FOREVER, etag
    return response
