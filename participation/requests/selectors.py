"""Requests to join a track."""

from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.access import AnyUser
from accounts.models import User
from participation.models import JoinRequest, Team
from participation.teams.selectors import deciders, managed_as_member, own_teams, team_named
from tracks.assessors.selectors import is_assessor
from tracks.models import Track


def open_requests(track: Track) -> QuerySet[JoinRequest]:
    """The requests that an organizer has to decide, oldest first."""
    return undecided().filter(track=track)


def undecided() -> QuerySet[JoinRequest]:
    """The open requests of all tracks."""
    return JoinRequest.objects.filter(state=JoinRequest.State.OPEN).select_related("user", "track")


def requests_for(user: User) -> QuerySet[JoinRequest]:
    """The requests that a user may read: their own, those of a track that they oversee, those that name their team."""
    requests = JoinRequest.objects.select_related("user", "track")
    if user.is_administrator:
        return requests
    return requests.filter(Q(user=user) | Q(track__in=[*user.roles]) | _names_team_of(user))


def decidable(user: User) -> QuerySet[JoinRequest]:
    """The open requests that a user may decide: those of their tracks, and those that name a team that they manage.

    Into a team with members, only its manager accepts somebody (`services.accept`).
    """
    if user.is_administrator:
        return undecided()
    return undecided().filter(Q(track__in=user.organized) | _names_team_of(user))


def _names_team_of(user: User) -> Exists:
    """The requests that name a team which a user manages as a member."""
    named = managed_as_member(user).filter(track=OuterRef("track"), name__iexact=OuterRef("team_name"))
    return Exists(named)


@dataclass(frozen=True)
class OpenRequest:
    """A request with the team that it names, if the track has it, and the members who decide about that team."""

    asked: JoinRequest
    team: Team | None
    deciders: list[User]


def open_requests_with_teams(track: Track) -> list[OpenRequest]:
    """The open requests of a track, oldest first. A query, and two for each request that names a team of the track."""
    return [_with_team(asked) for asked in open_requests(track).order_by("pk")]


def _with_team(asked: JoinRequest) -> OpenRequest:
    team = team_named(asked.track, asked.team_name)
    return OpenRequest(asked, team, deciders(team) if team else [])


def open_requests_for(team: Team) -> list[JoinRequest]:
    """The open requests that name a team."""
    return list(open_requests(team.track).filter(team_name__iexact=team.name).order_by("pk"))


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
