"""Work on each request before and after its view."""

import re
import uuid
from collections.abc import Callable
from typing import Any, cast

from django.conf import settings
from django.core.exceptions import BadRequest, DisallowedHost
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.http.request import split_domain_port
from django.utils import translation
from django.utils.cache import add_never_cache_headers, get_conditional_response, patch_vary_headers

from accounts import services
from accounts.access import GuestWorkEnded
from accounts.audit.services import acting
from accounts.backends import SessionStore
from accounts.models import Event, User
from assay.extensions import ExtensionMissing
from home import errors
from home.languages import SOURCE, is_translated, use_language
from server.environment import Proxies, host_of
from web import logs
from web.api.problems import CONTENT_TYPE, is_api, problem_of_refusal, refusal_of
from web.throttling import parsed_address
from web.translation import EVERYBODY, readers_of

CORS_REQUEST = "Authorization, Content-Type, Content-Disposition, Idempotency-Key, If-Match, If-None-Match"
CORS_RESPONSE = (
    "Content-Disposition, ETag, Idempotency-Replayed, Location, RateLimit, RateLimit-Policy, Repr-Digest, "
    "Retry-After, X-Request-ID"
)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")


class Middleware:
    """The base of the others: passes a request on."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)


class RequestIdMiddleware(Middleware):
    """Gives the request an id, which its log lines, its jobs and the response header `X-Request-ID` have.

    A trusted proxy may name one in the header of the request, so that its own log has the same.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        named = request.META.get("HTTP_X_REQUEST_ID", "")
        is_named = REQUEST_ID.fullmatch(named) and is_trusted(
            request.META.get("REMOTE_ADDR", ""), 0, settings.TRUSTED_PROXIES
        )
        identity = named if is_named else uuid.uuid4().hex
        with logs.working_for(identity):
            response = self.get_response(request)
        response["X-Request-ID"] = identity
        return response


class ClientAddressMiddleware(Middleware):
    """Replaces `REMOTE_ADDR` by the address of the client, so that all code behind it finds the real one."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        peer, forwarded = request.META.get("REMOTE_ADDR", ""), request.META.get("HTTP_X_FORWARDED_FOR", "")
        request.META["REMOTE_ADDR"] = client_address(peer, forwarded, settings.TRUSTED_PROXIES)
        return self.get_response(request)


def client_address(peer: str, forwarded: str, trusted: Proxies) -> str:
    """Return the address that the outermost trusted proxy saw.

    Each proxy appends the address of its client, so the header is read from the right, as long as the address read last
    belongs to a trusted proxy. Whatever a client wrote into the header itself is further left.
    """
    client = peer
    for n_read, hop in enumerate(reversed(forwarded.split(","))):
        address = parsed_address(hop)
        if address is None or not is_trusted(client, n_read, trusted):
            break
        client = str(address)
    return client


def is_trusted(peer: str, n_read: int, trusted: Proxies) -> bool:
    """Return whether an address is that of a trusted proxy, with `n_read` trusted ones between it and this server."""
    if isinstance(trusted, int):
        return n_read < trusted
    address = parsed_address(peer)
    return address is not None and any(address in network for network in trusted)


class LocalHostMiddleware(Middleware):
    """Gives requests for localhost the health page only, where people reach the site under another name (`SITE_URL`).

    The health check of a container asks 127.0.0.1. Anybody else who sends such a name invents it.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        is_local_site = host_of(settings.SITE_URL) in {"", *settings.LOCAL_HOSTS}
        if not is_local_site and request.path_info != "/health/":
            host, _ = split_domain_port(request.get_host())
            if host in settings.LOCAL_HOSTS:
                raise DisallowedHost(
                    f"{host} serves the health page only; the address of the site is SITE_URL."
                )
        return self.get_response(request)


class StrictMiddleware(Middleware):
    """Refuses what no page and no program sends, and denies pages the features of browsers that none of them uses.

    405: a method such as TRACE, which would send back what a browser hides. 400: a path or a query string with a NUL
    character, which PostgreSQL cannot store.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method not in METHODS:
            response: HttpResponse = HttpResponseNotAllowed(METHODS)
        elif "\0" in request.path or "%00" in request.META.get("QUERY_STRING", ""):
            raise BadRequest("The address contains a NUL character.")
        else:
            response = self.get_response(request)
        response["Permissions-Policy"] = settings.PERMISSIONS_POLICY
        return response


class ActorMiddleware(Middleware):
    """States who acts in a request, for the audit log: its user, also if a token named the user."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        def user() -> User | None:
            return request.user if isinstance(request.user, User) else None

        if request.path_info.startswith("/admin/"):
            via = Event.Via.ADMIN
        else:
            via = Event.Via.API if is_api(request) else Event.Via.SITE
        with acting(user, via):
            return self.get_response(request)


class FileMiddleware(Middleware):
    """Answers 304 to a program or browser that has the file already: the response has an ETag, and is to be saved."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code != 200 or "ETag" not in response or "Content-Disposition" not in response:
            return response
        return cast(
            "HttpResponse", get_conditional_response(request, etag=response["ETag"], response=response)
        )


class PrivateMiddleware(Middleware):
    """Adds `Cache-Control: no-store` to every response that was made for a user who has logged in.

    A response that did not look at the session, such as the documentation, is the same for everyone. What is immutable
    may stay in the browser of its user.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        is_kept = "immutable" in response.get("Cache-Control", "")
        if request.session.accessed and request.user.is_authenticated and not is_kept:
            add_never_cache_headers(response)
        return response


class VisitMiddleware(Middleware):
    """Puts off the end of the session, and updates `User.last_seen_at`, both only now and then.

    A response that did not look at the session counts as none.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.session.accessed and isinstance(request.user, User) and request.user.is_authenticated:
            services.note_visit(user=request.user)
            cast("SessionStore", request.session).go_on()
        return response


class LanguageMiddleware(Middleware):
    """Chooses the language before a view whose pages are translated. The language comes with the user's row."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        translation.deactivate()
        match = request.resolver_match
        if match and readers_of(match.func) == EVERYBODY and not request.user.is_authenticated:
            patch_vary_headers(response, ["Accept-Language"])
        return response

    def process_view(
        self,
        request: HttpRequest,
        view: Callable[..., HttpResponse],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        if is_translated(request):
            use_language(request)
        else:
            translation.activate(SOURCE)  # quicker than Django's own search for a language


class CorsMiddleware(Middleware):
    """Lets programs in browsers call the API from the pages of some origins. They need a token: no cookie is accepted.

    It is only there if `CORS_ORIGINS` names origins.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        origin = request.headers.get("Origin", "")
        if not is_api(request) or not {origin, "*"} & set(settings.CORS_ORIGINS):
            return self.get_response(request)
        is_asking = request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers
        response = HttpResponse(status=204) if is_asking else self.get_response(request)
        response["Access-Control-Allow-Origin"] = origin or "*"
        patch_vary_headers(response, ["Origin"])
        if is_asking:
            response["Access-Control-Allow-Methods"] = "GET, HEAD, POST, PUT, PATCH, DELETE"
            response["Access-Control-Allow-Headers"] = CORS_REQUEST
            response["Access-Control-Max-Age"] = "86400"
        else:
            response["Access-Control-Expose-Headers"] = CORS_RESPONSE
        return response


class RefusalMiddleware(Middleware):
    """Responds with 409 when a service raises `Refused`, whatever the view: a page, or problem+json for a program.

    So it does when two requests store something under one name at the same time. Who opens the address of a button,
    such as after a login, gets a page that says so.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        is_opened = request.method == "GET" and request.accepts("text/html") and not is_api(request)
        if not (is_opened and isinstance(response, HttpResponseNotAllowed)):
            return response
        page = errors.only_sent(request)
        page["Allow"] = response["Allow"]
        return page

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        refusal = refusal_of(exception)
        if refusal is None:
            return None
        if request.accepts("text/html"):
            is_final = isinstance(refusal, GuestWorkEnded)
            # the page that follows a change can be what lacks the extension
            is_unchanged = not isinstance(refusal, ExtensionMissing)
            return errors.refusal(
                request, refusal.title, refusal.message, is_final=is_final, tells_unchanged=is_unchanged
            )
        problem = problem_of_refusal(refusal)
        return JsonResponse(problem, status=problem["status"], content_type=CONTENT_TYPE)
