"""What others may read of tracks, topics and collections, and who sees what."""

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from accounts.models import User
from tracks.models import Track


def tracks_for(user: User | AnonymousUser) -> QuerySet[Track]:
    """Tracks that a person may know of: organizers all of them, others those that are not drafts."""
    tracks = Track.objects.select_related("protocol", "collection")
    if isinstance(user, User) and user.is_organizer:
        return tracks
    return tracks.exclude(status=Track.Status.DRAFT)
