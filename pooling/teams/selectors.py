"""Teams of a track and of a person."""

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from accounts.models import User
from pooling.models import Team
from tracks.models import Track


def teams_of(user: User | AnonymousUser, track: Track) -> QuerySet[Team]:
    """Teams of a track for which a person may submit: organizers all, others those that they are in."""
    if not isinstance(user, User):
        return Team.objects.none()
    teams = track.teams.all()
    return teams if user.is_organizer else teams.filter(members=user)


def teams_with(user: User) -> QuerySet[Team]:
    """Teams of any track that a person is in, each with its track."""
    return user.teams.select_related("track")
