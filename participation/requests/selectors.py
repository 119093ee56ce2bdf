"""Requests to join a track."""

from dataclasses import dataclass

from django.db.models import Q, QuerySet

from accounts.access import AnyUser
from accounts.models import User
from participation.models import JoinRequest, Team
from participation.teams.selectors import own_teams
from tracks.assessors.selectors import is_assessor
from tracks.models import Track


def open_requests(track: Track) -> QuerySet[JoinRequest]:
    """The requests that an organizer has to decide, oldest first."""
    return undecided().filter(track=track)


def undecided() -> QuerySet[JoinRequest]:
    """The open requests of all tracks."""
    return JoinRequest.objects.filter(state=JoinRequest.State.OPEN).select_related("user", "track")


def requests_for(user: User) -> QuerySet[JoinRequest]:
    """The requests that a user may read: their own, and those to join a track that they oversee."""
    requests = JoinRequest.objects.select_related("user", "track")
    if user.is_administrator:
        return requests
    return requests.filter(Q(user=user) | Q(track__in=[*user.roles]))


def takes_requests(track: Track) -> bool:
    """Return whether people can ask to join: as long as a track is open for runs."""
    return track.status == Track.Status.OPEN


@dataclass(frozen=True)
class RequestPage:
    """The form of a request, or what the user has in the track already."""

    track: Track
    teams: QuerySet[Team]
    is_assessor: bool
    latest: JoinRequest | None
    is_open: bool


def request_page(track: Track, user: AnyUser) -> RequestPage:
    """Three queries for a user, none for a visitor."""
    own = track.join_requests.filter(user=user) if isinstance(user, User) else JoinRequest.objects.none()
    return RequestPage(
        track=track,
        teams=own_teams(user, track),
        is_assessor=is_assessor(user, track),
        latest=own.order_by("-pk").first(),
        is_open=takes_requests(track),
    )
