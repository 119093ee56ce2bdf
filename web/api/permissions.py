"""Permissions of endpoints, and the scope that the token of a request needs.

Every endpoint names one of these classes. Which rows a person sees is decided by the selectors, as on the pages.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from web.addresses import belongs_to_track, enter, is_within, names_job, refuse_chair
from web.models import Scope

if TYPE_CHECKING:  # the settings of rest_framework import this module before its views
    from rest_framework.views import APIView


EVERYWHERE = ""  # `in_track` of what is the same in all tracks
ELSEWHERE = "-"  # `in_track` of what leaves the track of its address


def scopes_of(view: "APIView", method: str) -> Collection[Scope]:
    """The scopes of which a token needs one to call a method of an endpoint."""
    name = "read_scopes" if method in SAFE_METHODS else "write_scopes"
    scopes: Collection[Scope] = getattr(view, name)
    return scopes


def stay_in_track(request: Request, view: object, track_id: int) -> None:
    """Keep a token of one track in it: roles of its user in other tracks do not count either.

    An operation whose address names no track says with `in_track` how it stays in one.

    Raises:
        PermissionDenied: The address leaves the track.
    """
    match = request.resolver_match
    stated = getattr(getattr(view, "endpoint", None), "in_track", None)
    is_of_track = match is not None and (belongs_to_track(match) or names_job(match))
    if stated == ELSEWHERE or not (is_of_track or stated is not None):
        raise PermissionDenied(
            "Your token is for one track only, and this is not a part of one. Use a token for all tracks.",
            code="token-of-track",
        )
    if is_of_track and match is not None and not is_within(match, track_id):
        raise PermissionDenied(
            "Your token is for another track only. Use a token for this track, or for all of them.",
            code="token-of-track",
        )
    user: Any = request.user
    user.known_roles = {key: role for key, role in user.roles.items() if key == track_id}


class Everyone(BasePermission):
    """Visitors too. A request with a token still needs its scope."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        """Check the scope and the track. A session has all: its pages can do whatever their user can.

        Raises:
            PermissionDenied: The token has none of the scopes, or the address leaves its track.
        """
        token: Any = request.auth
        needed = scopes_of(view, request.method or "GET")
        if token is None:
            return True
        if set(needed) & set(token.scopes):
            if token.track_id is not None:
                stay_in_track(request, view, token.track_id)
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
