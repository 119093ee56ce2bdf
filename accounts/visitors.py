"""Pages and files that are the same for all of their readers: made once, and kept until something changes.

Decision: ADR 84.
"""

import hashlib
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.conf import settings
from django.core import signing
from django.core.cache import cache
from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.translation import get_language

from accounts.models import Event
from assay.digests import sha256_of
from web.api.conditional import etag_of

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]

SECONDS = (
    60  # for which a page is kept: it may show a time, or numbers whose changes are not in the audit log
)
N_EVENTS = (
    50  # in the stamp of a page; the newest alone would miss one whose transaction took longer than the next
)
LONGEST = 300  # address whose page is kept
LARGEST = 8_000_000  # bytes of a file that is kept


def same_for_visitors(view: View[P]) -> View[P]:
    """Answer a visitor with the page that another one got for the same address, host and language.

    A page is kept for a minute, and no longer than until the next event of the audit log. A browser that has it gets
    304. A person with a session or a message gets a page of their own, as does everybody if a page has a CSRF token or
    sets a cookie.
    """

    @wraps(view)
    def kept(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not _is_visitor(request):
            return view(request, *args, **kwargs)
        key = _key(request.scheme, request.get_host(), request.get_full_path(), get_language())
        text = _kept_text(key)
        if text is None:
            answer = view(request, *args, **kwargs)
            if not isinstance(answer, HttpResponse) or not _is_for_all(request, answer):
                return answer
            text = answer.content.decode()
            _keep(key, text)
        response = HttpResponse(text)
        response["ETag"] = etag = etag_of(response.content)
        response["Cache-Control"] = (
            "private, no-cache"  # a browser asks each time whether it is still the page
        )
        return get_conditional_response(request, etag=etag, response=response) or response

    return kept


def same_for_readers(name: str, make: Callable[[], str]) -> str:
    """The text of a file that is the same for everybody who may get it, kept as a page of visitors.

    The caller has checked that this reader may get it.
    """
    key = _key(name)
    text = _kept_text(key)
    if text is None:
        text = make()
        _keep(key, text)
    return text


def file_of(sha256: str, make: Callable[[], bytes]) -> bytes:
    """A file that never changes, by its SHA-256. A kept one is checked, so that only the file itself is sent.

    The caller has checked that this reader may get it.
    """
    text = cache.get(f"file:{sha256}")
    content = text.encode() if isinstance(text, str) else b""
    if sha256_of(content) != sha256:
        content = make()
        if len(content) <= LARGEST:
            cache.set(f"file:{sha256}", content.decode(), SECONDS)
    return content


def _keep(key: str, text: str) -> None:
    cache.set(key, signing.dumps(text, salt=key, compress=True), SECONDS)


def _kept_text(key: str) -> str | None:
    """The page of a key. It is signed, so that people who write into an open Redis write no pages of the site."""
    try:
        return str(signing.loads(cache.get(key, ""), salt=key))
    except signing.BadSignature:
        return None


def _is_visitor(request: HttpRequest) -> bool:
    """Return whether a request gets what all visitors get: it has neither a session nor messages."""
    own = {settings.SESSION_COOKIE_NAME, "messages"} & request.COOKIES.keys()
    is_short = len(request.get_full_path()) <= LONGEST
    return request.method == "GET" and not own and is_short and not request.user.is_authenticated


def _is_for_all(request: HttpRequest, answer: HttpResponse) -> bool:
    """Return whether the page has nothing of this visitor."""
    has_token = request.META.get("CSRF_COOKIE_NEEDS_UPDATE", False)
    has_own = has_token or answer.cookies or request.session.modified
    return answer.status_code == 200 and not has_own


def _key(*parts: object) -> str:
    events = Event.objects.order_by("-pk").values_list("pk", flat=True)[:N_EVENTS]
    database = connection.settings_dict["NAME"]  # several sites may share a Redis
    return f"page:{hashlib.sha256(repr((database, *parts, *events)).encode()).hexdigest()}"
