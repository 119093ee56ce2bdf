"""Teams of a track and of a user."""

from django.conf import settings
from django.db.models import Prefetch, QuerySet, Sum

from accounts.access import AnyUser
from accounts.models import User
from pooling.models import Team
from tracks.models import Track
from tracks.tracks.selectors import tracks_for
from web.counting import MEGABYTE


def teams_of(user: AnyUser, track: Track) -> QuerySet[Team]:
    """The teams for which a user may submit to a track: organizers all, others their own."""
    if not isinstance(user, User):
        return Team.objects.none()
    teams = track.teams.all()
    return teams if user.is_organizer else teams.filter(members=user)


def all_teams_of(user: AnyUser) -> QuerySet[Team]:
    """The teams of all tracks for which a user may submit."""
    if not isinstance(user, User):
        return Team.objects.none()
    teams = Team.objects.select_related("track")
    return teams if user.is_organizer else teams.filter(members=user, track__in=tracks_for(user))


def with_members(teams: QuerySet[Team]) -> QuerySet[Team]:
    """Teams, each with its track and its members by name. One more query."""
    by_name = Prefetch("members", queryset=User.objects.order_by("username"))
    return teams.select_related("track").prefetch_related(by_name)


def team_named(track: Track, name: str) -> Team | None:
    """The team of a track with a name, in upper or lower case."""
    return track.teams.filter(name__iexact=name).first()


def team_by_id(team_id: int) -> Team:
    return Team.objects.select_related("track").get(pk=team_id)


def disk_limit(team: Team) -> int:
    """The bytes that the runs of a team may use in the storage."""
    limit: int = settings.TEAM_MAX_BYTES
    return limit if team.max_megabytes is None else team.max_megabytes * MEGABYTE


def disk_use(team: Team) -> int:
    """The bytes that the runs of a team use in the storage, also withdrawn ones. One query."""
    return team.runs.aggregate(n=Sum("n_bytes"))["n"] or 0


def teams_with(user: User, tracks: QuerySet[Track]) -> QuerySet[Team]:
    """The teams of a user in some tracks, each with its track."""
    return user.teams.filter(track__in=tracks).select_related("track")
