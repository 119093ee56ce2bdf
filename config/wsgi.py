"""The WSGI application that gunicorn serves. Nothing that it imports may need the models: Django is not set up yet."""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.core.wsgi import get_wsgi_application
from django.utils.http import parse_header_parameters

CHARSETS = {"utf-8", "utf8", "us-ascii"}
Application = Callable[[dict[str, Any], Any], Iterable[bytes]]


def only_utf8(application: Application) -> Application:
    """Wrap a WSGI application: respond with 400 if the content type names another charset than UTF-8.

    Python knows charsets such as `hex`, with which Django cannot even create the request.
    """

    def checked(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        try:
            parameters = parse_header_parameters(environ.get("CONTENT_TYPE", ""))[1]
            is_utf8 = parameters.get("charset", "utf-8").lower() in CHARSETS
        except (LookupError, ValueError):
            is_utf8 = False
        if is_utf8:
            return application(environ, start_response)
        start_response("400 Bad Request", [("Content-Type", "text/plain; charset=utf-8")])
        return [b"The content type is malformed, or names another charset than UTF-8. Use charset=utf-8.\n"]

    return checked


class Unsent:
    """The body of a response of which only the headers are sent. Its files are closed all the same."""

    def __init__(self, body: Iterable[bytes]) -> None:
        self.close = getattr(body, "close", lambda: None)

    def __iter__(self) -> Iterator[bytes]:
        return iter(())


def headers_of_head(application: Application) -> Application:
    """Wrap a WSGI application: answer HEAD without a body, of which the web server would warn in the log each time."""

    def checked(environ: dict[str, Any], start_response: object) -> Iterable[bytes]:
        body = application(environ, start_response)
        return Unsent(body) if environ["REQUEST_METHOD"] == "HEAD" else body

    return checked


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = only_utf8(headers_of_head(get_wsgi_application()))
