"""Who may enter a view: the doors that more than one room has."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase

from accounts.models import User

P = ParamSpec("P")


class AuthenticatedRequest(HttpRequest):
    """A request of somebody who has logged in."""

    user: User


Guarded = Callable[Concatenate[AuthenticatedRequest, P], HttpResponseBase]
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def person_required(view: Guarded[P]) -> View[P]:
    """Anybody who has logged in; visitors get the login page."""
    return login_required(view)  # type: ignore[return-value]


def organizer_required(view: Guarded[P]) -> View[P]:
    """Organizers only: others get a 403, visitors the login page."""

    @wraps(view)
    def guarded(request: AuthenticatedRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.is_organizer:
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return person_required(guarded)


Visitor = User | AnonymousUser


def is_organizer(user: Visitor) -> bool:
    return isinstance(user, User) and user.is_organizer
