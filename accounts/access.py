"""Decorators that say who may open a page, for the views of all apps. Decision: ADR 2."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth import decorators
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.utils.cache import add_never_cache_headers
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request

from accounts.models import User

P = ParamSpec("P")


class AuthenticatedRequest(HttpRequest):
    """A request whose user has logged in."""

    user: User


UserView = Callable[Concatenate[AuthenticatedRequest, P], HttpResponseBase]
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def login_required(view: UserView[P]) -> View[P]:
    """For everyone who has logged in. Visitors get the login page."""
    return decorators.login_required(view)  # type: ignore[return-value]


def organizer_required(view: UserView[P]) -> View[P]:
    """For organizers. Other users get a 403, visitors the login page."""

    @wraps(view)
    def guarded(request: AuthenticatedRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.is_organizer:
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return login_required(guarded)


def secret_address(view: View[P]) -> View[P]:
    """For pages whose address contains a secret: no request names the address as its referrer, and no cache keeps it.

    The policy is not `no-referrer`: browsers then hide the origin of forms too, which the check against forged
    requests needs.
    """

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        response.headers["Referrer-Policy"] = "strict-origin"
        add_never_cache_headers(response)
        return response

    return guarded


AnyUser = User | AnonymousUser


def is_organizer(user: AnyUser) -> bool:
    return isinstance(user, User) and user.is_organizer


def user_of(request: Request) -> AnyUser:
    """The user of a request of the API, or a visitor."""
    user = request.user
    return user if isinstance(user, User) else AnonymousUser()


def person_of(request: Request) -> User:
    """The user of a request of the API that visitors cannot make."""
    if isinstance(request.user, User):
        return request.user
    raise NotAuthenticated
