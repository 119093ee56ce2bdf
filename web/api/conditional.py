"""ETags: a program asks whether something changed, and changes nothing that somebody else has just changed."""

import base64
import hashlib
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.cache import get_conditional_response
from django.utils.http import parse_etags
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from web.api.problems import PreconditionFailed

RELEASED = "public, max-age=300"  # then a cache asks again, because a release can be taken back
FOREVER = "public, max-age=86400, immutable"  # a day, because a release can be taken back
_gzip = GZipMiddleware(lambda _request: HttpResponse())


def etag_of(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def digest_of(sha256: bytes) -> str:
    """The header `Repr-Digest` (RFC 9530) of content with this digest."""
    return f"sha-256=:{base64.b64encode(sha256).decode()}:"


def identify(response: HttpResponseBase, sha256: str) -> None:
    """Give a file its ETag and its `Repr-Digest`. `FileMiddleware` answers 304 to a client that has it already."""
    response.headers["ETag"] = f'"{sha256}"'
    response.headers["Repr-Digest"] = digest_of(bytes.fromhex(sha256))


def with_etag(request: Request, response: Response) -> None:
    """Give a rendered response its ETag; if the program has the same content already, answer 304 without it."""

    def condition(rendered: Any) -> HttpResponseBase | None:
        etag = etag_of(rendered.content)
        rendered["ETag"] = etag
        return get_conditional_response(request._request, etag=etag, response=rendered)

    response.add_post_render_callback(condition)


def compressed(request: HttpRequest, response: Any) -> None:
    """Compress JSON for a program that accepts gzip; `Repr-Digest` is that of what is sent, as RFC 9530 has it."""
    if "json" in response.get("Content-Type", ""):
        _gzip.process_response(request, response)
    if response.status_code == 200:
        response["Repr-Digest"] = digest_of(hashlib.sha256(response.content).digest())


def plain(request: HttpRequest | Request) -> HttpRequest:
    """The request as Django knows it."""
    return request._request if isinstance(request, Request) else request


def unless_known(
    request: HttpRequest | Request, sha256: str, send: Callable[[], HttpResponseBase]
) -> HttpResponseBase:
    """A stored file that never changes, by its digest; 304 without opening it if the program has it already."""
    response = get_conditional_response(plain(request), etag=f'"{sha256}"') or send()
    identify(response, sha256)
    return response


def require_match(request: Request, data: object) -> None:
    """Refuse to change something of which the program has not seen the current state, `data`.

    Without `If-Match` the change is allowed. Call it where the row is locked.

    Raises:
        PreconditionFailed: `If-Match` is there, and names another state.
    """
    header = request.headers.get("If-Match")
    if header is None:
        return
    etags = [etag.removeprefix("W/") for etag in parse_etags(header)]  # weak if the answer was compressed
    if "*" not in etags and etag_of(JSONRenderer().render(data)) not in etags:
        raise PreconditionFailed
