"""Teams of a track and of a user."""

from django.db.models import QuerySet

from accounts.access import AnyUser
from accounts.models import User
from pooling.models import Team
from tracks.models import Track


def teams_of(user: AnyUser, track: Track) -> QuerySet[Team]:
    """The teams for which a user may submit to a track: organizers all, others their own."""
    if not isinstance(user, User):
        return Team.objects.none()
    teams = track.teams.all()
    return teams if user.is_organizer else teams.filter(members=user)


def team_named(track: Track, name: str) -> Team | None:
    """The team of a track with a name, in upper or lower case."""
    return track.teams.filter(name__iexact=name).first()


def teams_with(user: User, tracks: QuerySet[Track]) -> QuerySet[Team]:
    """The teams of a user in some tracks, each with its track."""
    return user.teams.filter(track__in=tracks).select_related("track")
