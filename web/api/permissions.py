"""Permissions of endpoints, and the scope that the token of a request needs.

Every endpoint names one of these classes. Which rows a person sees is decided by the selectors, as on the pages.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from web.addresses import enter, refuse_chair
from web.api.scopes import Scope

if TYPE_CHECKING:  # the settings of rest_framework import this module before its views
    from rest_framework.views import APIView


def scopes_of(view: "APIView", method: str) -> Collection[Scope]:
    """The scopes of which a token needs one to call a method of an endpoint."""
    name = "read_scopes" if method in SAFE_METHODS else "write_scopes"
    scopes: Collection[Scope] = getattr(view, name)
    return scopes


class Everyone(BasePermission):
    """Visitors too. A request with a token still needs its scope."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        """Check the scope. A session has all scopes: its pages can do whatever their user can.

        Raises:
            PermissionDenied: The token has none of the scopes.
        """
        token: Any = request.auth
        needed = scopes_of(view, request.method or "GET")
        if token is None or set(needed) & set(token.scopes):
            return True
        raise PermissionDenied(
            f"This request needs a token with the scope {' or '.join(needed)}; "
            f"yours has {', '.join(token.scopes)}.",
            code="missing-scope",
        )


class LoggedIn(Everyone):
    """Everyone with a token or a session. Chairs of a track change nothing in it, but for their own judgments."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        """Check the scope, and that no chair changes their track.

        Raises:
            PermissionDenied: The user chairs the track of the address.
        """
        if not (request.user.is_authenticated and super().has_permission(request, view)):
            return False
        is_judging = set(scopes_of(view, "POST")) == {Scope.JUDGE}
        if request.method not in SAFE_METHODS and request.resolver_match is not None and not is_judging:
            refuse_chair(request.user, request.resolver_match)
        return True


class Organizer(LoggedIn):
    """Organizers of the track of the address; its chairs for what only reads."""

    message = "Only organizers of the track may do this."
    readers_are_enough = True  # whether chairs may do what only reads
    with_administrators = False

    def has_permission(self, request: Request, view: "APIView") -> bool:
        """Check the scope and the role.

        Raises:
            Http404: The track of the address is not one of this organizer or chair.
            PermissionDenied: The user has no role in any track, or is a chair who would change something.
        """
        match = request.resolver_match
        if not super().has_permission(request, view) or match is None:
            return False
        enter(
            request.user,
            match,
            is_reading=self.readers_are_enough and request.method in SAFE_METHODS,
            with_administrators=self.with_administrators,
        )
        return True


class OfPeople(Organizer):
    """As `Organizer`, and administrators: for the people of a track."""

    with_administrators = True


class OfInvitations(OfPeople):
    """As `OfPeople`, without chairs: for links that let somebody in."""

    readers_are_enough = False


class Creator(LoggedIn):
    """Those who may create tracks and import collections: organizers of any track, and administrators."""

    message = "Only organizers and administrators may do this."

    def has_permission(self, request: Request, view: "APIView") -> bool:
        return super().has_permission(request, view) and bool(getattr(request.user, "may_create", False))


class WithRole(LoggedIn):
    """Organizers and chairs of any track."""

    message = "Only organizers and chairs may do this."

    def has_permission(self, request: Request, view: "APIView") -> bool:
        return super().has_permission(request, view) and bool(getattr(request.user, "roles", {}))


class Administrator(LoggedIn):
    """Administrators of the site."""

    message = "Only administrators may do this."

    def has_permission(self, request: Request, view: "APIView") -> bool:
        return super().has_permission(request, view) and bool(
            getattr(request.user, "is_administrator", False)
        )
