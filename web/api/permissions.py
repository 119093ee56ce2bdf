"""Permissions of endpoints, and the scope that the token of a request needs.

Every endpoint names one of these classes. Which rows a person sees is decided by the selectors, as on the pages.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

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
    """Everyone with a token or a session."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        return bool(request.user.is_authenticated) and super().has_permission(request, view)


class Organizer(LoggedIn):
    """Organizers only."""

    message = "Only organizers may do this."

    def has_permission(self, request: Request, view: "APIView") -> bool:
        return super().has_permission(request, view) and bool(getattr(request.user, "is_organizer", False))
