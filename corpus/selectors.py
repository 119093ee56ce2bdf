"""What others may read of tracks, topics and collections, and who sees what."""

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from corpus.models import Collection, Track, User


def tracks_for(user: User | AnonymousUser) -> QuerySet[Track]:
    """Tracks that a person may know of: organizers all of them, others those that are not drafts."""
    tracks = Track.objects.select_related("protocol", "collection")
    if isinstance(user, User) and user.is_organizer:
        return tracks
    return tracks.exclude(status=Track.Status.DRAFT)


def collections_for(user: User | AnonymousUser) -> QuerySet[Collection]:
    """Collections that a person may read.

    A collection of topics' own threads is for organizers and for the assessors of its track; a collection
    that is searched is for everybody who has logged in.
    """
    if not isinstance(user, User):
        return Collection.objects.none()
    if user.is_organizer:
        return Collection.objects.all()
    open_to_all = Q(topic_tracks__isnull=True)
    as_assessor = Q(topic_tracks__assessors__user=user)
    return Collection.objects.filter(open_to_all | as_assessor).distinct()


def is_assessor(user: User | AnonymousUser, track: Track) -> bool:
    """Whether the person judges for the track."""
    return isinstance(user, User) and user.is_active and track.assessors.filter(user=user).exists()
