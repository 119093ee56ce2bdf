"""Refuses an address with a NUL in it, once and before any view: no text in the database can hold one."""

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse


class NulMiddleware:
    """Answers 400 where the path or the query holds a NUL."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if "\0" in request.path or "%00" in request.META.get("QUERY_STRING", ""):
            raise BadRequest("The address holds a NUL.")
        return self.get_response(request)
