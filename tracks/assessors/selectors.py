"""Who judges for which track."""

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from accounts.models import User
from tracks.models import Track


def is_assessor(user: User | AnonymousUser, track: Track) -> bool:
    """Whether the person judges for the track."""
    return isinstance(user, User) and user.is_active and track.assessors.filter(user=user).exists()


def judges_anywhere(user: User | AnonymousUser) -> bool:
    """Whether the person judges for any track."""
    return isinstance(user, User) and user.is_active and user.assessor_of.exists()


def tracks_judged_by(user: User) -> QuerySet[Track]:
    """Tracks for which a person judges, by name."""
    return Track.objects.filter(assessors__user=user)
