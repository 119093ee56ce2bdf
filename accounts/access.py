"""Decorators that say who may open a page, for the views of all apps. Decision: ADR 65."""

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
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from rest_framework.exceptions import NotAuthenticated
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from accounts.models import User
from assay.errors import Refused
from web.addresses import enter, refuse_chair
from web.pages import read_and_post

P = ParamSpec("P")
GUEST = "guest"  # in the session: the id of the account of somebody who judges by a link


class GuestWorkEnded(Refused):
    """The link of a guest is revoked or its time is over, or the guest's work was excluded."""

    title = gettext_noop("This work has ended")

    def __init__(self) -> None:
        super().__init__(
            gettext(
                "The organizer has ended it, or its time is over. What you have judged is kept. Thank you."
            )
        )


class AuthenticatedRequest(HttpRequest):
    """A request whose user has logged in."""

    user: User


UserView = Callable[Concatenate[AuthenticatedRequest, P], HttpResponseBase]
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def login_required(view: UserView[P]) -> View[P]:
    """For everyone who has logged in. Visitors get the login page."""
    return decorators.login_required(view)  # type: ignore[return-value]


def user_page(view: UserView[P]) -> View[P]:
    """As `login_required`, for a page or a file that is only read."""
    return require_safe(login_required(view))


def user_action(view: UserView[P]) -> View[P]:
    """As `login_required`, for what a button does."""
    return require_POST(login_required(view))


def public_page(view: View[P]) -> View[P]:
    """Let everybody read a page. It depends on who asks, so no cache keeps it."""
    return require_safe(never_cache(view))


def guests_welcome(view: UserView[P]) -> View[P]:
    """For everyone who has logged in, and for guests: they judge by a link, without an account of their own.

    On every other page, a guest is a visitor. So a new page is closed to them until it says otherwise.
    """
    with_login = login_required(view)

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        return (view if as_guest(request) else with_login)(request, *args, **kwargs)  # type: ignore[arg-type]

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


def _role_in_track_required(
    view: UserView[P], *, is_form: bool = False, with_administrators: bool = False
) -> View[P]:
    """A view for people with a role in the track of its address, marked so that pages show chairs no way to change."""

    @wraps(view)
    def guarded(request: AuthenticatedRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        assert request.resolver_match is not None
        is_reading = request.method in SAFE_METHODS and not is_form
        enter(
            request.user,
            request.resolver_match,
            is_reading=is_reading,
            with_administrators=with_administrators,
        )
        return view(request, *args, **kwargs)

    vars(guarded).update(is_of_organizers=True, is_form=is_form)
    return login_required(guarded)


def organizer_required(view: UserView[P]) -> View[P]:
    """For organizers of the track of the address, and for its chairs, who send no forms.

    Other users get a 403, people with a role in another track a 404, visitors the login page.
    """
    return _role_in_track_required(view)


def organizer_page(view: UserView[P]) -> View[P]:
    """As `organizer_required`, for a page or a file that is only read."""
    return require_safe(_role_in_track_required(view))


def organizer_action(view: UserView[P]) -> View[P]:
    """As `organizer_required`, for what a button does: chairs do not press it."""
    return require_POST(_role_in_track_required(view))


def organizer_form(view: UserView[P]) -> View[P]:
    """As `organizer_required`, for a page that is only a form: chairs do not open it."""
    return read_and_post(_role_in_track_required(view, is_form=True))


def people_required(view: UserView[P]) -> View[P]:
    """As `organizer_required`, and for administrators: for the pages of the people of a track."""
    return _role_in_track_required(view, with_administrators=True)


def people_form(view: UserView[P]) -> View[P]:
    """As `organizer_form`, and for administrators: for what gives somebody a way in."""
    return _role_in_track_required(view, is_form=True, with_administrators=True)


def chairs_only_read(view: UserView[P]) -> View[P]:
    """As `login_required`, for pages that decide themselves who may send their forms: no chair of the track may."""

    @wraps(view)
    def guarded(request: AuthenticatedRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.method not in SAFE_METHODS and request.resolver_match is not None:
            refuse_chair(request.user, request.resolver_match)
        return view(request, *args, **kwargs)

    vars(guarded).update(is_of_organizers=True)
    return login_required(guarded)


def _users_only(view: UserView[P], may_enter: Callable[[User], bool]) -> View[P]:
    @wraps(view)
    def guarded(request: AuthenticatedRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not may_enter(request.user):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return login_required(guarded)


def creator_required(view: UserView[P]) -> View[P]:
    """For those who may create tracks and import collections: organizers of any track, and administrators."""
    return _users_only(view, lambda user: user.may_create)


def role_required(view: UserView[P]) -> View[P]:
    """For organizers and chairs of any track."""
    return _users_only(view, lambda user: bool(user.roles))


def administrator_required(view: UserView[P]) -> View[P]:
    """For administrators of the site."""
    return _users_only(view, lambda user: user.is_administrator)


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


def oversees(user: AnyUser, track_id: int) -> bool:
    """Return whether a user sees everything of a track: as its organizer or as its chair."""
    return isinstance(user, User) and user.oversees(track_id)


def overseen_by(user: AnyUser) -> list[int]:
    """The ids of the tracks that a user organizes or chairs."""
    return list(user.roles) if isinstance(user, User) else []


def user_of(request: Request) -> AnyUser:
    """The user of a request of the API, or a visitor."""
    user = request.user
    return user if isinstance(user, User) else AnonymousUser()


def person_of(request: Request) -> User:
    """The user of a request of the API that visitors cannot make."""
    if isinstance(request.user, User):
        return request.user
    raise NotAuthenticated
