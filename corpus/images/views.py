"""The images of posts."""

from django.http import FileResponse, Http404, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, guests_welcome
from corpus.collections.selectors import collections_for
from corpus.images import selectors

FOREVER = "private, max-age=31536000, immutable"  # the address of an image contains the digest of its content


@guests_welcome
@require_safe
def image(request: AuthenticatedRequest, slug: str, sha256: str) -> HttpResponseBase:
    """An image of a collection. Everyone who may read the collection."""
    collection = get_object_or_404(collections_for(request.user), slug=slug)
    image = selectors.image_of(collection, sha256)
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
