"""The access log. It is off by default (ACCESS_LOG).

It has no addresses, because those of login links are secrets, but their patterns.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.functional import SimpleLazyObject

from accounts.models import User
from config.middleware import Middleware
from web import logs

access = logging.getLogger("assay.access")

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


def method_of(request: HttpRequest) -> str:
    """The method, or OTHER: a client may invent any number of them."""
    return request.method if request.method in METHODS else "OTHER"


class AccessLogMiddleware(Middleware):
    """Writes a line for each request when its response has been made, or when a streamed one has been sent."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        begun = time.monotonic()
        response: Any = self.get_response(request)
        size = response.headers.get("Content-Length")
        if response.streaming and size is None:
            done = partial(_write, request, response, begun)
            response.streaming_content = _sent(response.streaming_content, logs.request_id(), done)
        else:
            size = size or (0 if response.streaming else len(response.content))
            _write(request, response, begun, int(size))
        return response  # type: ignore[no-any-return]


def _sent(parts: Iterable[bytes], identity: str, done: Callable[[int], None]) -> Iterator[bytes]:
    """Pass the parts of a streamed response on; then call `done` with the number of their bytes."""
    size = 0
    try:
        for part in parts:
            size += len(part)
            yield part
    finally:
        with logs.working_for(identity):
            done(size)


def _write(request: HttpRequest, response: HttpResponseBase, begun: float, size: int) -> None:
    # the user if the view asked for one, by session or token: this makes no query
    user = request.__dict__.get("user")
    if isinstance(user, SimpleLazyObject):
        user = request.__dict__.get("_cached_user")
    fields = {
        "method": method_of(request),
        "route": logs.route_of(request),
        "status": response.status_code,
        "seconds": round(time.monotonic() - begun, 4),
        "user": user.pk if isinstance(user, User) else None,
        "bytes": size,
    }
    message = "%(method)s %(route)s %(status)d, %(seconds).3f s, %(bytes)d bytes, user %(user)s"
    access.info(message, fields, extra={"fields": fields})
