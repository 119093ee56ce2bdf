"""Rejects, before any view, what no page of the site sends and what the code behind it cannot read."""

from collections.abc import Callable, Iterable
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.utils.http import parse_header_parameters

CHARSETS = {"utf-8", "utf8", "us-ascii"}
Application = Callable[[dict[str, Any], Any], Iterable[bytes]]


class NulMiddleware:
    """Responds with 400 if the path or the query string contains a NUL character: PostgreSQL cannot store one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if "\0" in request.path or "%00" in request.META.get("QUERY_STRING", ""):
            raise BadRequest("The address contains a NUL character.")
        return self.get_response(request)


def only_utf8(application: Application) -> Application:
    """Wrap a WSGI application: respond with 400 if the content type names another charset than UTF-8.

    Python knows charsets such as `hex`, with which Django cannot even create the request.
    """

    def checked(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if _is_utf8(environ.get("CONTENT_TYPE", "")):
            return application(environ, start_response)
        start_response("400 Bad Request", [("Content-Type", "text/plain; charset=utf-8")])
        return [b"The content type is malformed, or names another charset than UTF-8. Use charset=utf-8.\n"]

    return checked


def _is_utf8(content_type: str) -> bool:
    try:
        charset = parse_header_parameters(content_type)[1].get("charset", "utf-8")
    except (LookupError, ValueError):
        return False
    return charset.lower() in CHARSETS
