"""Decorators that say who may open a page, for the views of all apps. Decision: ADR 2."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth import decorators
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.middleware.csrf import rotate_token
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request

from accounts.models import User
from assay.errors import Refused

P = ParamSpec("P")
GUEST = "guest"  # in the session: the id of the account of somebody who judges by a link


class GuestWorkEnded(Refused):
    """The link of a guest is revoked or its time is over, or the guest's work was excluded."""

    title = "This work has ended"

    def __init__(self) -> None:
        super().__init__(
            "The organizer has ended it, or its time is over. What you have judged is kept. Thank you."
        )


class AuthenticatedRequest(HttpRequest):
    """A request whose user has logged in."""

    user: User


UserView = Callable[Concatenate[AuthenticatedRequest, P], HttpResponseBase]
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def login_required(view: UserView[P]) -> View[P]:
    """For everyone who has logged in. Visitors get the login page."""
    return decorators.login_required(view)  # type: ignore[return-value]


def guests_welcome(view: UserView[P]) -> View[P]:
    """For everyone who has logged in, and for guests: they judge by a link, without an account of their own.

    On every other page, a guest is a visitor. So a new page is closed to them until it says otherwise.
    """
    of_people = login_required(view)

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        return (view if as_guest(request) else of_people)(request, *args, **kwargs)  # type: ignore[arg-type]

    return guarded


def as_guest(request: HttpRequest) -> bool:
    """Make the guest of the session the user of a request; False if nobody judges by a link in it.

    Raises:
        GuestWorkEnded: The organizer has ended the work of the guest, or its time is over.
    """
    if request.user.is_authenticated or GUEST not in request.session:
        return False
    guest = User.objects.filter(
        pk=request.session[GUEST], is_active=True, guest_until__gt=timezone.now()
    ).first()
    if guest is None:
        raise GuestWorkEnded
    request.user = guest
    return True


def begin_as_guest(request: HttpRequest, guest: User) -> None:
    """Let a guest judge in this browser: in a session with a new key, so that nobody who knew the old one has part."""
    request.session.cycle_key()
    rotate_token(request)
    request.session[GUEST] = guest.pk


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
