"""Keeps pages with private data out of all caches."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.cache import add_never_cache_headers


class PrivateMiddleware:
    """Adds `Cache-Control: no-store` to every response that was made for a user who has logged in.

    A response that did not look at the session, such as the documentation, is the same for everyone. What is immutable
    may stay in the browser of its user.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        is_kept = "immutable" in response.get("Cache-Control", "")
        if request.session.accessed and request.user.is_authenticated and not is_kept:
            add_never_cache_headers(response)
        return response
