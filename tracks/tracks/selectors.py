"""Tracks, who may see them, and the overview page."""

from dataclasses import dataclass

from django.db.models import QuerySet

from accounts.access import AnyUser
from accounts.models import User
from assay.protocols.schema import Protocol
from tracks.models import Track
from tracks.protocols.selectors import protocol_page


@dataclass(frozen=True)
class TrackPage:
    """`facts` describe the protocol, in pairs of a heading and a description."""

    track: Track
    protocol: Protocol
    facts: list[tuple[str, str]]
    n_topics: int


def tracks_for(user: AnyUser) -> QuerySet[Track]:
    """The tracks that a user may see: organizers see all, others all but drafts."""
    tracks = Track.objects.select_related("protocol", "collection")
    if isinstance(user, User) and user.is_organizer:
        return tracks
    return tracks.exclude(status=Track.Status.DRAFT)


def track_named(slug: str) -> Track | None:
    """The track with a slug, for commands: their user may see everything."""
    return Track.objects.select_related("protocol", "collection").filter(slug=slug).first()


def track_page(track: Track) -> TrackPage:
    """The overview of a track. One query."""
    page = protocol_page(track.protocol)
    return TrackPage(track, page.protocol, page.facts, track.topics.count())
