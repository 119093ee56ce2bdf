"""The pages of errors that no view answers; for the API, problem+json instead."""

import sys
from difflib import get_close_matches

from django.contrib.auth.models import AnonymousUser
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.template import loader
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext, gettext_noop
from django.views import defaults

from corpus.collections.selectors import collections_for
from home.languages import use_language
from tracks.tracks.selectors import tracks_for
from web.api.problems import is_api, problem_response, too_large
from web.caches import CacheAway

RETRY_SECONDS = 30  # after which a client may ask again


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """A request that no page sends, such as a NUL character in the address, or that is larger than the site reads."""
    if sentence := too_large(exception):
        if is_api(request):
            return problem_response(413, detail=sentence, code="too-large")
        return refusal(request, "The request is too large", sentence, status=413)
    if is_api(request):
        return problem_response(400, detail="The request is malformed.", code="malformed")
    return defaults.bad_request(request, exception)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """A page that the user may not open."""
    if is_api(request):
        return problem_response(403, detail="You may not do this.", code="permission-denied")
    use_language(request)
    return defaults.permission_denied(request, exception)


def expired_form(request: HttpRequest, reason: str = "") -> HttpResponseBase:
    """A form whose token is not that of the session."""
    use_language(request)
    message = gettext(
        "Nothing was saved. You logged in or out after you opened the form, or your browser blocks cookies."
    )
    repeat = gettext("Go back, reload the page and submit the form again.")
    return refusal(
        request, gettext_noop("Expired form"), f"{message} {repeat}", status=403, tells_unchanged=False
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """An address that does not exist."""
    if is_api(request):
        detail = "There is no such address. Addresses of the API end with a slash; /api/docs/ lists them."
        return problem_response(404, detail=detail, code="not-found")
    use_language(request)
    return render(request, "404.html", {"nearest": _nearest(request)}, status=404)


def _nearest(request: HttpRequest) -> dict[str, str]:
    """The name and address of the track or collection with the short name that is most like that of an address.

    It is one that the reader may see, so the page does not tell which others there are.
    """
    place, _, rest = request.path_info.lstrip("/").partition("/")
    slug, user = rest.partition("/")[0], getattr(request, "user", None) or AnonymousUser()
    if not slug or place not in {"tracks", "collections"}:
        return {}
    rows = tracks_for(user) if place == "tracks" else collections_for(user)
    by_slug = {row.slug: row for row in rows}
    return next(
        (
            {"name": by_slug[near].name, "address": by_slug[near].get_absolute_url()}
            for near in get_close_matches(slug, by_slug, n=1)
        ),
        {},
    )


def only_sent(request: HttpRequest) -> HttpResponse:
    """The address of a button, which somebody opened."""
    use_language(request)
    message = gettext(
        "This is the address of a button, and nothing was sent to it. If you had to log in first, go back and press "
        "the button again."
    )
    return render(
        request,
        "409.html",
        {"title": gettext_noop("There is no page at this address"), "message": message},
        status=405,
    )


def too_many(request: HttpRequest) -> HttpResponse:
    """Too many wrong codes or passwords on a page that confirms a change; django-allauth looks for this handler."""
    message = gettext("There were too many attempts. Try again in a few minutes.")
    return refusal(request, gettext("Too many requests"), message, status=429)


def refusal(
    request: HttpRequest,
    title: str,
    message: str,
    *,
    status: int = 409,
    is_final: bool = False,
    tells_unchanged: bool = True,
) -> HttpResponse:
    """A refusal of what somebody asked for. The page leads back to the one with the form, unless it `is_final`.

    It `tells_unchanged` that nothing was changed, except for an address that was only opened, perhaps after a change.
    """
    referer = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(referer, {request.get_host()}, request.is_secure())
    context = {"title": title, "message": message, "back": referer if is_ours else "", "is_final": is_final}
    context["tells_unchanged"] = tells_unchanged and request.method not in {"GET", "HEAD"}
    return render(request, "409.html", context, status=status)


def server_error(request: HttpRequest) -> HttpResponseBase:
    """A fault of ours, which the log describes; 503 if the database, the storage or the cache does not answer."""
    if not is_api(request):
        use_language(request, has_account=False)
    if isinstance(sys.exception(), OperationalError | InterfaceError):
        return _unavailable(request, gettext_noop("The database does not answer."))
    if isinstance(sys.exception(), OSError):
        return _unavailable(request, gettext_noop("The storage does not answer, or a file is missing in it."))
    if isinstance(sys.exception(), CacheAway):
        return _unavailable(request, gettext_noop("Codes and passwords cannot be checked now."))
    if is_api(request):
        detail = "An unexpected error occurred. The log of the server has the details."
        return problem_response(500, detail=detail, code="server-error")
    return defaults.server_error(request)


def _unavailable(request: HttpRequest, problem: str) -> HttpResponseBase:
    if is_api(request):
        response: HttpResponse = problem_response(
            503, detail=f"{problem} Try again later.", code="unavailable"
        )
    else:
        response = HttpResponse(loader.get_template("503.html").render({"problem": problem}), status=503)
    response["Retry-After"] = str(RETRY_SECONDS)
    return response
