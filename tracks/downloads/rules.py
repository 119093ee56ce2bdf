"""Who gets a part of the downloads of a track, and from when on."""

from django.db.models import Q
from django.db.models.functions import Now

from accounts.access import AnyUser, is_organizer
from accounts.models import User
from tracks.models import Download, Track


def is_member(user: AnyUser, track: Track) -> bool:
    """Whether the user is in one of the track's teams. One query."""
    return isinstance(user, User) and user.is_active and user.teams.filter(track=track).exists()


def released_to(user: AnyUser, track: Track) -> Q:
    """The downloads of a track that a user who sees the track gets, by the clock of the database. One query."""
    if is_organizer(user):
        return Q(track=track)
    released = Q(track=track, released_at__lte=Now())
    return released if is_member(user, track) else released & Q(audience=Download.Audience.EVERYONE)
